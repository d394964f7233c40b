"""Lines, shards and their manifest, counted again by independent code."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.base.files import read_json, read_table, sha256_of, write_json, write_table
from textmill.scoring.spelling import no_bill
from textmill.shards.lines import lines_of, pieces_of
from textmill.shards.pieces import BYTES_A_PIECE
from textmill.shards.reader import FORMAT, NUMBERS, read_shards, read_split
from textmill.shards.work import write_splits
from textmill.shards.writer import Codec
from textmill.tokenizers.words import WordConfig, train_words

DOCUMENTS = [
    ["the cat sat", "", "on the mat"],
    ["a dog"],
    ["the cat \u00e9t\u00e9", "cat cat cat zebra"],
]


def documents_table(documents):
    texts = ["".join(line + "\n" for line in lines) for lines in documents]
    return pa.table(
        {
            "doc_id": [f"d{i}" for i in range(len(texts))],
            "text": pa.array(texts, pa.large_string()),
            "n_bytes": [len(text.encode()) for text in texts],
        }
    )


def sharded(folder, documents, tokenizer, bill, split="train", piece=BYTES_A_PIECE):
    source = folder / f"{split}-documents"
    write_table(source, documents_table(documents))
    about = {"format": FORMAT, "fingerprint": tokenizer.vocabulary.fingerprint}
    entries = write_splits(
        {split: source}, lambda _: Codec(tokenizer, bill), folder, folder, bytes_a_piece=piece
    )
    write_json(folder / "manifest.json", {**about, "splits": entries})
    return entries[split]


def flat_bill(texts):
    return np.array([float(len(text)) for text in texts.to_pylist()])


document_lists = st.lists(
    st.lists(st.sampled_from(["", "a", "a b", "c a b"]), min_size=1), min_size=1
)


@settings(deadline=None)
@given(document_lists, st.integers(1, 20))
def test_lines_come_back_in_pieces_of_any_size(documents, bytes_a_piece):
    table = documents_table(documents)
    whole = lines_of(table)
    assert whole.text.to_pylist() == [line for lines in documents for line in lines]
    assert whole.doc.tolist() == [i for i, lines in enumerate(documents) for _ in lines]
    pieces = list(pieces_of(lambda: table, bytes_a_piece))
    assert [line for piece in pieces for line in piece.text.to_pylist()] == whole.text.to_pylist()
    assert np.concatenate([piece.doc for piece in pieces]).tolist() == whole.doc.tolist()


def test_a_split_holds_what_the_text_holds(tmp_path):
    lines = [line for document in DOCUMENTS for line in document]
    column = pa.array(lines, pa.large_string())
    tokenizer, _ = train_words(column, WordConfig("word", minimum_frequency=2))
    entry = sharded(tmp_path, DOCUMENTS, tokenizer, flat_bill)
    read = read_split(tmp_path, "train")
    for i, line in enumerate(lines):
        row = read.tokens[read.offsets[i] : read.offsets[i + 1]]
        words = line.split()
        unknown = [w for w in words if sum(text.split().count(w) for text in lines) < 2]
        assert row[-1] == 2
        assert 1 not in row
        assert len(row) == len(words) + 1
        assert read.n_words[i] == len(words)
        assert read.n_unknown[i] == len(unknown)
        assert read.nats_spelling[i] == sum(len(w) for w in unknown)
        assert read.n_bytes[i] == len(line.encode()) + 1
        assert read.n_characters[i] == len(line) + 1
    assert read.doc.tolist() == [0, 0, 0, 1, 2, 2]
    assert read.doc_offsets.tolist() == [0, 9, 12, 21]
    assert entry["bytes"] == sum(len(line.encode()) + 1 for line in lines)
    assert (entry["documents"], entry["lines"], entry["lossy_lines"]) == (3, 6, 0)
    assert read.tokens.dtype == np.uint16


def test_many_shards_read_as_one(tmp_path):
    column = pa.array(["the cat sat on a mat dog"], pa.large_string())
    tokenizer, _ = train_words(column, WordConfig("word"))
    (tmp_path / "one").mkdir()
    (tmp_path / "many").mkdir()
    sharded(tmp_path / "one", DOCUMENTS, tokenizer, flat_bill)
    entry = sharded(tmp_path / "many", DOCUMENTS, tokenizer, flat_bill, piece=8)
    assert len(entry["shards"]) > 1
    one, many = (read_split(tmp_path / name, "train") for name in ("one", "many"))
    for name in ("tokens", "offsets", "doc", "n_bytes", "n_unknown", "nats_spelling"):
        assert np.array_equal(getattr(one, name), getattr(many, name))


def test_a_damaged_shard_is_refused_by_name(tmp_path):
    tokenizer, _ = train_words(pa.array(["the cat"], pa.large_string()), WordConfig("word"))
    sharded(tmp_path, DOCUMENTS, tokenizer, flat_bill)
    path = tmp_path / "train-00000.arrow"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(UserError, match=r"train-00000\.arrow is not the shard"):
        read_split(tmp_path, "train")
    path.unlink()
    with pytest.raises(UserError, match=r"there is no .*train-00000\.arrow"):
        read_split(tmp_path, "train")


def small_shards(folder):
    """A folder of one word split, and its tokenizer."""
    tokenizer, _ = train_words(pa.array(["the cat"], pa.large_string()), WordConfig("word"))
    sharded(folder, DOCUMENTS, tokenizer, flat_bill)
    return tokenizer


def test_the_shards_of_another_tokenizer_are_refused(tmp_path):
    fingerprint = small_shards(tmp_path).vocabulary.fingerprint
    other, _ = train_words(pa.array(["a dog"], pa.large_string()), WordConfig("word"))
    assert len(read_split(tmp_path, "train", fingerprint).doc) == 6
    with pytest.raises(UserError, match="ids of another tokenizer"):
        read_split(tmp_path, "train", other.vocabulary.fingerprint)
    with pytest.raises(UserError, match='no split trian; did you mean "train"'):
        read_split(tmp_path, "trian")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(["n_words"]), "no column n_words"),
        (lambda t: t.set_column(1, "tokens", t["tokens"].cast(pa.list_(pa.int64()))), "list<"),
        (lambda t: t.set_column(0, "doc", t["doc"].cast(pa.int64())), "column doc is int64"),
        (lambda t: t.slice(1), "5 rows"),
        (lambda t: documents_table(DOCUMENTS), "no column tokens"),
    ],
)
def test_a_table_that_is_no_shard_is_refused_by_name(tmp_path, change, message):
    """Also one whose hash the manifest knows: another version may have written both."""
    small_shards(tmp_path)
    path = tmp_path / "train-00000.arrow"
    foreign = tmp_path / "foreign"
    write_table(foreign, change(read_table(path)))
    foreign.rename(path)
    manifest = read_json(tmp_path / "manifest.json")
    manifest["splits"]["train"]["shards"][0]["sha256"] = sha256_of(path)
    write_json(tmp_path / "manifest.json", manifest)
    with pytest.raises(UserError, match=rf"train-00000\.arrow is no shard .*{message}"):
        read_split(tmp_path, "train")


def mapped_ranges(path):
    """Addresses at which this process has mapped a file."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    bounds = [line.split()[0].split("-") for line in lines if line.endswith(str(path))]
    return [(int(start, 16), int(stop, 16)) for start, stop in bounds]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/maps")
def test_the_columns_are_the_files_own_memory(tmp_path):
    small_shards(tmp_path)
    (read,) = read_shards(tmp_path, "train")
    one = read_split(tmp_path, "train")
    ranges = mapped_ranges(tmp_path / "train-00000.arrow")
    for lines in (read, one):
        for name in ("tokens", "doc", "n_bytes", "n_unknown", "nats_spelling"):
            column = getattr(lines, name)
            first = column.ctypes.data
            assert any(a <= first < first + column.nbytes <= b for a, b in ranges), name
            assert not column.flags.writeable


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_reading_a_large_shard_takes_no_memory(tmp_path):
    (tmp_path / "small").mkdir()
    small_shards(tmp_path / "small")
    tokens = pa.array(np.arange(40_000_000, dtype=np.uint16))
    lists = pa.ListArray.from_arrays(pa.array([0, len(tokens)], pa.int32()), tokens)
    numbers = {name: pa.array([0]).cast(type_) for name, type_ in NUMBERS.items()}
    path = tmp_path / "train-00000.arrow"
    write_table(path, pa.table({"tokens": lists, **numbers}))
    shard = {"file": path.name, "rows": 1, "sha256": sha256_of(path)}
    splits = {"train": {"shards": [shard]}}
    write_json(tmp_path / "manifest.json", {"format": FORMAT, "fingerprint": "", "splits": splits})
    script = (
        "import re, sys; from pathlib import Path; from textmill.shards.reader import read_split\n"
        "def resident(): return int(re.search(r'VmRSS:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])\n"
        "read_split(Path(sys.argv[2]), 'train')  # brings in what NumPy and Arrow load late\n"
        "before = resident(); lines = read_split(Path(sys.argv[1]), 'train'); after = resident()\n"
        "print(after - before, len(lines.tokens), lines.tokens.sum(), resident() - before)"
    )
    command = [sys.executable, "-c", script, str(tmp_path), str(tmp_path / "small")]
    done = subprocess.run(command, text=True, capture_output=True, check=True)
    rise, length, total, touched = map(int, done.stdout.split())
    assert (length, total) == (40_000_000, int(np.arange(40_000_000, dtype=np.uint16).sum()))
    # 80 MB of tokens: reading them brings them in, opening the shard does not.
    assert rise < 20_000 < 70_000 < touched


def test_huggingface_datasets_opens_a_shard(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="HuggingFace datasets is not installed")
    small_shards(tmp_path)
    files = [str(tmp_path / "train-00000.arrow")]
    cache = str(tmp_path / "cache")
    opened = datasets.load_dataset("arrow", data_files=files, split="train", cache_dir=cache)
    read = read_split(tmp_path, "train")
    assert [t for row in opened["tokens"] for t in row] == read.tokens.tolist()
    assert list(opened["n_bytes"]) == read.n_bytes.tolist()


def test_polars_opens_a_shard(tmp_path):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    small_shards(tmp_path)
    opened = polars.read_ipc(tmp_path / "train-00000.arrow")
    read = read_split(tmp_path, "train")
    assert opened["tokens"].explode().to_list() == read.tokens.tolist()
    assert opened["nats_spelling"].to_list() == read.nats_spelling.tolist()


def test_a_tokenizer_without_unknown_units_has_no_bill():
    assert no_bill(pa.array([], pa.string())).tolist() == []
    with pytest.raises(ValueError, match="no unknown units"):
        no_bill(pa.array(["x"], pa.string()))
