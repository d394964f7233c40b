"""The memory limit changes where arrays lie and how the text is cut, and no byte of the model."""

from pathlib import Path

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.ngram import estimate as estimation
from textmill.ngram.config import NgramConfig
from textmill.ngram.count import count_ngrams, sentence_stream
from textmill.ngram.estimate import estimate_to
from textmill.ngram.scratch import ROW_BYTES, Scratch, fits, piece_size
from textmill.ngram.storage import load
from textmill.tokenizers.vocabulary import END, from_tokens


def text_of(n_tokens, n_types):
    random = np.random.default_rng(7)
    ids = (random.zipf(1.3, n_tokens) % n_types + 3).astype(np.uint16)
    ids[::11] = END
    ids[-1] = END
    return ids, np.append(0, np.flatnonzero(ids == END) + 1)


def counts_of(text, n_types):
    return count_ngrams(sentence_stream(*text, n_types + 3), n_types + 3, 4)


METHODS = [
    {"method": "kneser_ney"},
    {"method": "kneser_ney", "modified": False},
    {"method": "absolute_discounting"},
    {"method": "witten_bell"},
    {"method": "jelinek_mercer"},
    {"method": "good_turing"},
    {"method": "additive"},
    {"method": "maximum_likelihood"},
    {"method": "stupid_backoff"},
    {"method": "kneser_ney", "cutoffs": (0, 0, 1)},
    {"method": "kneser_ney", "precision": "coded"},
]


@pytest.fixture
def arrays(monkeypatch):
    """(rows, type) of every array that is made in a file."""
    made = []
    zeros = Scratch.zeros

    def spy(self, rows, dtype):
        if self.is_on_disk:
            made.append((rows, np.dtype(dtype)))
        return zeros(self, rows, dtype)

    monkeypatch.setattr(Scratch, "zeros", spy)
    return made


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_files_are_used_where_the_limit_is_small_and_the_model_is_the_same(
    tmp_path, arrays, method
):
    vocabulary, _ = from_tokens([f"w{i}" for i in range(500)], scheme="test")
    text, held_out = text_of(30_000, 500), text_of(2_000, 500)
    hashes = []
    for name, limit in (("whole", 4e9), ("pieces", 1e6)):
        assert arrays == []
        config = NgramConfig("test", order=4, memory_limit=limit, **method)
        assert fits(len(text[0]) + len(text[1]), 4, limit) == (name == "whole")
        estimate_to(
            tmp_path / name,
            text,
            vocabulary,
            config,
            scratch=tmp_path / "scratch",
            held_out=held_out,
        )
        assert not (tmp_path / "scratch").exists()
        hashes.append([sha256_of(path) for path in sorted((tmp_path / name).iterdir())])
    assert hashes[0] == hashes[1]
    model = load(tmp_path / "whole", vocabulary)
    assert model.order == 4
    # Of every order the last words are in a file, and the probabilities, but where docs/ngrams.md
    # says that one order of them is in memory.
    for rows in (len(table.words) for table in counts_of(text, 500)[1:]):
        assert (rows, np.dtype(np.uint32)) in arrays
        in_memory = method["method"] in ("additive", "maximum_likelihood", "stupid_backoff")
        assert ((rows, np.dtype(np.float64)) in arrays) != in_memory


def test_a_text_without_an_ngram_twice_fits_where_its_rows_do():
    """What is reserved for the n-grams is no less than they take."""
    random = np.random.default_rng(8)
    tokens = random.integers(3, 60_000, 20_000).astype(np.uint16)
    tokens[-1] = END
    counts = counts_of((tokens, np.array([0, len(tokens)])), 60_000)
    rows = sum(len(table.words) for table in counts[1:])
    assert rows > 0.9 * 3 * len(tokens)
    assert not fits(len(tokens) + 1, 4, ROW_BYTES * rows)
    assert fits(len(tokens) + 1, 4, 1.5 * ROW_BYTES * rows)


def test_pieces_take_a_third_of_the_limit():
    assert piece_size(10**9, 5, 4e9, 2) == pytest.approx(4e9 / 3 / 2 / (40 + 60), rel=1e-6)
    assert piece_size(1000, 5, 4e9, 2) == 250


def test_scratch_arrays_keep_their_numbers_when_memory_is_given_back(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    (folder / "left by a killed run").write_text("x")
    with Scratch(folder) as scratch:
        array = scratch.keep(np.arange(100_000))
        scratch.release()
        np.testing.assert_array_equal(array, np.arange(100_000))
        assert [path.name for path in Path(folder).iterdir()] == ["0.array"]
    assert not folder.exists()


def test_a_full_disk_is_one_message_and_leaves_nothing_behind(tmp_path):
    folder = tmp_path / "scratch"
    full = pytest.raises(UserError, match=r"scratch: no room for 9,007,\d+,\d+,\d+,\d+ bytes")
    with full, Scratch(folder) as scratch:
        scratch.keep(np.arange(10))
        scratch.zeros(1 << 50, np.int64)
    assert not folder.exists()


def test_less_free_memory_than_the_limit_means_pieces_and_the_same_model(
    tmp_path, monkeypatch, caplog
):
    vocabulary, _ = from_tokens([f"w{i}" for i in range(500)], scheme="test")
    text = text_of(60_000, 500)
    config = NgramConfig("test", "kneser_ney", 3)
    hashes = []
    for name, bytes_free in (("much", 8e9), ("little", 3e6)):
        monkeypatch.setattr(estimation, "free", lambda there=bytes_free: there)
        estimate_to(tmp_path / name, text, vocabulary, config, scratch=tmp_path / "scratch")
        hashes.append([sha256_of(path) for path in sorted((tmp_path / name).iterdir())])
    assert hashes[0] == hashes[1]
    said = [one.getMessage() for one in caplog.records if "free here" in one.getMessage()]
    assert len(said) == 1
    assert "memory_limit is 4,000,000,000 bytes, and 2,400,000 are free here" in said[0]
