"""Columns as flat arrays, words as integers, the hash table: against plain Python."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.tokenizers.counting import count_types
from textmill.tokenizers.lookup import TokenTable, _LongTable
from textmill.tokenizers.strings import (
    as_column,
    blocks_of,
    flat_bytes,
    from_flat,
    packed,
    unpacked,
)

any_text = st.text(max_size=12)
# Few letters, a NUL among them: many equal words, and words that differ in a final NUL alone.
word = st.text("ab\0\u00e9", min_size=1, max_size=12)


@given(st.lists(any_text, max_size=8), st.integers(0, 3))
def test_flat_and_back(texts, cut):
    column = as_column(texts)[cut:]
    data, offsets = flat_bytes(column)
    assert data.tobytes() == "".join(texts[cut:]).encode()
    assert from_flat(data, offsets).to_pylist() == texts[cut:]


@given(st.lists(any_text, max_size=8), st.integers(1, 20))
def test_blocks_hold_every_text_once(texts, size):
    blocks = list(blocks_of(as_column(texts), size))
    assert [text for block in blocks for text in block.to_pylist()] == texts
    longest = max((len(text.encode()) for text in texts), default=0)
    assert all(len(flat_bytes(block)[0]) < size + longest + 1 for block in blocks)


@given(st.lists(word, max_size=30))
def test_short_words_are_equal_where_their_integers_are(words):
    integers, is_long = packed(as_column(words))
    assert is_long.tolist() == [len(one.encode()) > 7 for one in words]
    short = [one for one, long in zip(words, is_long, strict=True) if not long]
    assert unpacked(integers[~is_long]).to_pylist() == short
    assert len(set(integers[~is_long].tolist())) == len(set(short))


@given(st.lists(st.lists(word, max_size=20), max_size=4))
def test_counts_are_those_of_a_counter(pieces):
    types, counts = count_types(as_column(piece) for piece in pieces)
    found = dict(zip(types.to_pylist(), counts.tolist(), strict=True))
    assert found == Counter(one for piece in pieces for one in piece)
    assert len(types) == len(found)


@given(st.lists(word, unique=True, max_size=60), st.lists(word, max_size=60))
def test_the_table_finds_what_a_dictionary_finds(known, asked):
    rows = {one: row for row, one in enumerate(known)}
    found = TokenTable(as_column(known)).rows_of(as_column(known + asked))
    assert found.tolist() == [rows.get(one, -1) for one in known + asked]


def test_a_large_table_with_many_collisions():
    """A hundred thousand words: some want the same slot, and all are found."""
    words = [f"{number:x}" for number in range(100_000)]
    table = TokenTable(as_column(words))
    order = np.random.default_rng(1).permutation(len(words))
    assert np.array_equal(table.rows_of(as_column([words[row] for row in order])), order)
    assert table.rows_of(as_column(["-1", "xyz", ""])).tolist() == [-1, -1, -1]


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(UserError) as caught:
        as_column(["fine", "caf\ud83d"])
    assert "U+D83D, is no character" in str(caught.value)
    assert "character 4 of 'caf\\ud83d'" in str(caught.value)


def test_a_sliced_column_of_short_strings_is_read_from_its_slice():
    column = pa.array(["ab", "c", "de"], pa.string())[1:]
    data, offsets = flat_bytes(column)
    assert (data.tobytes(), offsets.tolist()) == (b"cde", [0, 1, 3])


def test_long_words_whose_mixtures_are_equal_are_told_apart(monkeypatch):
    """As if the hash were the worst there is: every token is compared in the end."""
    monkeypatch.setattr(_LongTable, "_mixed", staticmethod(lambda head, tail: head * 0 + 1))
    known = ["abcdefgh", "abcdefghi", "abcdefg\0", "x" * 14, "x" * 15, "x" * 1000]
    found = TokenTable(as_column(known)).rows_of(as_column([*known[::-1], "abcdefgx", "x" * 16]))
    assert found.tolist() == [5, 4, 3, 2, 1, 0, -1, -1]
