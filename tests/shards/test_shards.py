"""Lines, shards and their manifest, counted again by independent code."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.base.files import write_json, write_table
from textmill.scoring.spelling import no_bill
from textmill.shards.lines import lines_of, pieces_of
from textmill.shards.pieces import BYTES_A_PIECE
from textmill.shards.reader import FORMAT, read_split
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
    pieces = list(pieces_of(table, bytes_a_piece))
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


def test_a_tokenizer_without_unknown_units_has_no_bill():
    assert no_bill(pa.array([], pa.string())).tolist() == []
    with pytest.raises(ValueError, match="no unknown units"):
        no_bill(pa.array(["x"], pa.string()))
