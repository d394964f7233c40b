import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.base.files import seal_of
from textmill.ngram.checksum import checksum
from textmill.ngram.count import count_ngrams, sentence_stream
from textmill.ngram.prune import pruned
from textmill.ngram.storage import load, save
from textmill.tokenizers.vocabulary import END

LINES = ["the mill turns the wheel", "the wheel turns", "", "the old mill turns"]
STREAM = np.array([[3, 4, 5, 3, 6, END, 3, 7, 4, 0, END, END]])


@pytest.fixture
def saved(train, tmp_path):
    model = train(LINES, method="kneser_ney", order=3)
    save(model, tmp_path / "model")
    return model, tmp_path / "model"


@pytest.mark.parametrize(
    "options",
    [
        {"method": "uniform"},
        {"method": "additive", "order": 2, "k": 0.5},
        {"method": "kneser_ney", "order": 1},
        {"method": "kneser_ney", "order": 9, "event_space": "observed"},
    ],
)
def test_a_loaded_model_is_the_saved_one(train, tmp_path, options):
    model = train(LINES, **options)
    save(model, tmp_path)
    loaded = load(tmp_path, model.vocabulary)
    nats, state = model.score(STREAM, model.start(1))
    nats_loaded, state_loaded = loaded.score(STREAM, loaded.start(1))
    np.testing.assert_array_equal(nats_loaded, nats)
    np.testing.assert_array_equal(loaded.distribution(state_loaded), model.distribution(state))
    assert (loaded.config, loaded.ngrams, loaded.discounts) == (
        model.config,
        model.ngrams,
        model.discounts,
    )


MAPS = Path("/proc/self/maps")
CHILD = """
import json, pickle, sys
from pathlib import Path
import numpy as np
from textmill.ngram.storage import load
vocabulary, stream, folder = pickle.load(sys.stdin.buffer)
model = load(folder, vocabulary)
nats = model.score(stream, model.start(1))[0]
maps = Path("/proc/self/maps")
mapped = maps.exists() and str(folder / "order-3.arrow") in maps.read_text()
print(json.dumps({"nats": [one.hex() for one in nats[0].tolist()], "mapped": mapped}))
"""


@pytest.mark.skipif(not MAPS.exists(), reason="only Linux lists what is mapped")
def test_columns_are_mapped_not_read(saved):
    """Each column's address lies in a mapping of its file, none in memory of the process's own."""
    model, folder = saved
    loaded = load(folder, model.vocabulary)
    ranges = {}
    for row in MAPS.read_text().splitlines():
        if "order-" in row:
            ends = [int(one, 16) for one in row.split()[0].split("-")]
            ranges.setdefault(row.split()[-1], []).append(ends)
    for n, order in enumerate(loaded.orders, start=1):
        of_file = ranges[str(folder / f"order-{n}.arrow")]
        for column in (order.words, order.probabilities, order.backoffs, order.ends):
            if column is not None:
                address = column.data.ctypes.data
                assert any(low <= address < high for low, high in of_file)
                assert not column.data.flags.writeable


def test_another_process_maps_the_same_model(saved):
    model, folder = saved
    loaded = load(folder, model.vocabulary)
    given = pickle.dumps((model.vocabulary, STREAM, folder))
    done = subprocess.run([sys.executable, "-c", CHILD], input=given, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    said = json.loads(done.stdout)
    ours = loaded.score(STREAM, loaded.start(1))[0][0]
    assert said["nats"] == [one.hex() for one in ours.tolist()]
    assert said["mapped"] == MAPS.exists()


def test_the_same_model_gives_the_same_bytes(saved, train, tmp_path):
    _, folder = saved
    save(train(LINES, method="kneser_ney", order=3), tmp_path / "again")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["model.json", "order-1.arrow", "order-2.arrow", "order-3.arrow"]
    for name in names:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_the_summary_says_what_the_model_is(saved):
    model, folder = saved
    content = json.loads((folder / "model.json").read_text())
    assert content["ngrams"] == [6, 11, 12]
    assert content["vocabulary"] == {"fingerprint": model.vocabulary.fingerprint, "ids": 8}
    assert content["config"]["method"] == "kneser_ney"
    assert np.shape(content["discounts"]) == (3, 3)
    assert content["files"][1]["checksum"] == checksum(folder / "order-2.arrow")


def test_a_model_of_another_vocabulary_is_refused(saved, train):
    _, folder = saved
    other = train(["the mill turns the wheel of old"], method="uniform").vocabulary
    with pytest.raises(UserError, match="another vocabulary"):
        load(folder, other)


@pytest.mark.parametrize("name", ["model.json", "order-1.arrow", "order-3.arrow"])
@pytest.mark.parametrize("damage", ["cut", "flip", "remove"])
def test_a_damaged_file_is_refused_by_name(saved, name, damage):
    model, folder = saved
    path = folder / name
    content = bytearray(path.read_bytes())
    if damage == "remove":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 0x80
        path.write_bytes(content)
    with pytest.raises(UserError, match=name):
        load(folder, model.vocabulary)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": 99}, "not as it was written"),
        ({"ngrams": [6, 11]}, "not as it was written"),
        ({"config": {"method": "kneser_ney", "order": 3, "colour": 1}}, "not as it was written"),
        ({"files": []}, "not as it was written"),
    ],
)
def test_a_summary_that_was_changed_is_refused(saved, change, named):
    """Widths and lengths that are not the columns' own would be read past their ends."""
    model, folder = saved
    content = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(content | change))
    with pytest.raises(UserError, match=named):
        load(folder, model.vocabulary)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"config": {"method": "kneser_ney", "order": 3, "colour": 1}}, "colour"),
        ({"files": [{"name": "order-1.arrow"}]}, "checksum"),
        ({"format": 99}, "no n-gram model of this version"),
    ],
)
def test_a_summary_that_describes_no_model_is_refused(saved, change, named):
    """As another program might write it, with a checksum that fits."""
    model, folder = saved
    content = json.loads((folder / "model.json").read_text()) | change
    del content["checksum"]
    content["checksum"] = seal_of(content)
    (folder / "model.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=named):
        load(folder, model.vocabulary)


def seen_in(tokens, offsets, vocabulary):
    """How many n-grams of orders 1 to 3 a text has."""
    stream = sentence_stream(tokens, offsets, len(vocabulary))
    return tuple(table.seen() for table in count_ngrams(stream, len(vocabulary), 3))


@pytest.mark.parametrize(
    "options", [{"prune_to": 20}, {"prune_threshold": 0.01}, {"cutoffs": (0, 1)}, {}]
)
@pytest.mark.parametrize("method", ["kneser_ney", "witten_bell", "absolute_discounting"])
def test_a_model_says_how_many_ngrams_it_holds(train, encode, tmp_path, method, options):
    whole = train(LINES, method=method, order=3)
    model = train(LINES, method=method, order=3, **options)
    rows = [order.words.rows for order in model.orders]
    assert model.ngrams == (whole.ngrams[0], *rows[1:])
    assert (sum(model.ngrams) < sum(whole.ngrams)) == bool(options)
    assert whole.ngrams == seen_in(*encode(LINES, whole.vocabulary))
    save(model, tmp_path / "m")
    assert load(tmp_path / "m", model.vocabulary).ngrams == model.ngrams
    assert sum(pruned(whole, size=20).ngrams) <= 20


def test_two_changes_do_not_undo_each_other(tmp_path):
    """Whichever bits of whichever words: by products alone two of the highest would."""
    rng = np.random.default_rng(0)
    path = tmp_path / "words"
    words = rng.integers(0, 2**63, 64, dtype=np.uint64)
    words.tofile(path)
    whole = checksum(path)
    for bit in (0, 31, 32, 62, 63):
        for first, second in ((0, 4), (0, 32), (3, 63), (5, 6)):
            changed = words.copy()
            changed[[first, second]] ^= np.uint64(1 << bit)
            changed.tofile(path)
            assert checksum(path) != whole, (bit, first, second)
