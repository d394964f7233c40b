"""Strange texts through vocabulary and shards: the right ids, or one clear message."""

import errno
import resource
import shutil
import subprocess
from collections import Counter

import pyarrow as pa
import pytest

from benchmarks import faults
from tests.inside import run_step
from textmill.base.errors import UserError, as_user_error
from textmill.base.files import write_json, write_table
from textmill.repository import layout
from textmill.scoring.codec import load_codec
from textmill.scoring.spelling import train_spelling
from textmill.shards.lines import lines_of
from textmill.shards.reader import FORMAT, read_split
from textmill.shards.work import write_splits
from textmill.tokenizers import store
from textmill.tokenizers.characters import CharConfig
from textmill.tokenizers.subwords import SubwordConfig
from textmill.tokenizers.words import WordConfig

LINES = {
    "no line": [],
    "white space only": [" ", "   ", ""],
    "one byte": ["a"],
    "a line of megabytes": ["ab cd " * 400_000 + "e"],
    "words of a megabyte": ["x" * 1_000_000 + " y", "x" * 1_000_000 + " z"],
    "100,000 blank lines": ["a b", *[""] * 100_000, "a c"],
    "all tokens the same": ["a " * 99_999 + "a"],
    "all tokens different": [f"{number}q" for number in range(100_000)],
}


def shards_of(folder, texts, config):
    """Documents through vocabulary and shards as the stages do it; what is read back."""
    source, vocabulary = folder / "documents.arrow", folder / "vocabulary"
    write_table(source, faults.documents_table(texts))
    tokenizer, unknown = store.train(lines_of(faults.documents_table(texts)).text, config)
    vocabulary.mkdir()
    store.save(tokenizer, config, vocabulary)
    if tokenizer.vocabulary.unknown != "none":
        spelling = train_spelling(unknown, tokenizer.vocabulary, tokenizer.kind)
        spelling.save(vocabulary / "spelling")
    entries = write_splits({"train": source}, load_codec, vocabulary, folder / "shards")
    about = {"format": FORMAT, "fingerprint": tokenizer.vocabulary.fingerprint}
    write_json(folder / "shards" / "manifest.json", {**about, "splits": entries})
    return tokenizer, entries["train"], read_split(folder / "shards", "train")


def plain_ids(units, minimum):
    """Ids by a dictionary: falling frequency, ties by text, from 3 on; 0 below the minimum."""
    counts = Counter(unit for line in units for unit in line)
    kept = sorted((-n, unit) for unit, n in counts.items() if n >= minimum)
    ids = {unit: 3 + number for number, (_, unit) in enumerate(kept)}
    return [[*(ids.get(unit, 0) for unit in line), 2] for line in units]


@pytest.mark.parametrize("minimum", [1, 2])
@pytest.mark.parametrize("kind", ["word", "char"])
@pytest.mark.parametrize("name", LINES)
def test_strange_texts_get_the_right_ids(tmp_path, name, kind, minimum):
    lines = LINES[name]
    config = WordConfig("word", minimum) if kind == "word" else CharConfig("char", minimum)
    _, entry, read = shards_of(tmp_path, ["".join(line + "\n" for line in lines)], config)
    units = [line.split() if kind == "word" else list(line) for line in lines]
    expected = plain_ids(units, minimum)
    assert read.tokens.tolist() == [token for line in expected for token in line]
    assert (read.offsets[1:] - read.offsets[:-1]).tolist() == [len(line) for line in expected]
    assert read.n_words.tolist() == [len(line.split()) for line in lines]
    assert entry["bytes"] == sum(len(line.encode()) + 1 for line in lines)
    assert entry["unknown"] == sum(line.count(0) for line in expected)
    # Words lose the spaces of lines that hold nothing else; characters lose nothing.
    lost = [line for line in lines if " ".join(line.split()) != line]
    assert entry["lossy_lines"] == (len(lost) if kind == "word" else 0)
    assert (read.nats_spelling > 0).tolist() == [0 in line for line in expected]


@pytest.mark.parametrize("name", LINES)
def test_subwords_give_strange_texts_back_or_say_what_they_lack(tmp_path, name):
    lines = LINES[name]
    text = "".join(line + "\n" for line in lines)
    config = SubwordConfig("subword", 300)
    if name != "all tokens different":
        with pytest.raises(UserError, match=r"cannot give 300 pieces|training text is empty"):
            shards_of(tmp_path, [text], config)
        assert not (tmp_path / "shards").exists()
        # Learnt from another text they take this one all the same.
        text = "".join(f"{number}q\n" for number in range(2000)) + text
    tokenizer, entry, read = shards_of(tmp_path, [text], config)
    rows = [read.tokens[a:b] for a, b in zip(read.offsets, read.offsets[1:], strict=False)]
    some = list(zip(rows, text.split("\n")[:-1], strict=True))
    for row, line in [*some[:50], *some[-50:]]:
        assert tokenizer.decode(row[:-1]) == line
    assert (entry["lossy_lines"], entry["lines"]) == (0, len(some))


@pytest.mark.parametrize(("texts", "row"), [(["a\n", "b\nc", "d\n"], 1), (["a"], 0)])
def test_a_text_without_a_final_line_end_is_refused_and_not_cut_short(tmp_path, texts, row):
    with pytest.raises(UserError, match=f"document {row} does not end with a line end"):
        shards_of(tmp_path, texts, CharConfig("char"))
    assert list((tmp_path / "shards").iterdir()) == []


def test_no_document_gives_an_empty_shard(tmp_path):
    _, entry, read = shards_of(tmp_path, [], WordConfig("word"))
    assert (entry["documents"], entry["lines"], len(entry["shards"])) == (0, 0, 1)
    assert (len(read.tokens), read.tokens.dtype, read.offsets.tolist()) == (0, "uint16", [0])


@pytest.fixture
def checkout(tmp_path):
    return faults.make_checkout(tmp_path, n_lines=1000)


def run_stage(checkout):
    return run_step(checkout, "shard", faults.TOKENIZER)


def test_a_full_disk_is_one_message_and_the_stage_goes_on_when_there_is_room(checkout, small_disk):
    (checkout / layout.SCRATCH).parent.mkdir(exist_ok=True)
    (checkout / layout.SCRATCH).symlink_to(small_disk)
    done = run_stage(checkout)
    assert done.returncode == 1
    assert "No space left on device" in done.said
    assert "Traceback" not in done.said
    assert not (checkout / layout.shards(faults.TOKENIZER)).exists()
    assert list(small_disk.rglob("*.part")) == []
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert run_stage(checkout).returncode == 0
    resumed = faults.take_hashes(checkout)
    shutil.rmtree(checkout / layout.shards(faults.TOKENIZER))
    assert run_stage(checkout).returncode == 0
    assert faults.take_hashes(checkout) == resumed


def test_a_read_only_output_is_one_message(checkout, small_disk):
    (checkout / "data" / "shards").symlink_to(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = run_stage(checkout)
    assert done.returncode == 1
    assert "Read-only file system" in done.said
    assert "Traceback" not in done.said
    assert list(small_disk.iterdir()) == []


def test_a_file_that_may_not_grow_leaves_nothing_half_written(tmp_path):
    """What Arrow's own writer is refused comes out as an error of the operating system."""
    table = pa.table({"x": pa.array(range(100_000))})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="large") as caught:
            write_table(tmp_path / "x.arrow", table)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert list(tmp_path.iterdir()) == []
    full = OSError(errno.ENOSPC, "No space left on device", "x.arrow")
    assert "make room" in as_user_error(full).next_step
