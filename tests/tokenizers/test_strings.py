"""Columns as flat arrays, units of them, the hash table: against plain Python."""

from collections import Counter
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.tokenizers.counting import count_types
from textmill.tokenizers.lookup import TokenTable, table_of
from textmill.tokenizers.strings import (
    Units,
    as_column,
    blocks_of,
    flat_bytes,
    from_flat,
    units_of,
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


@given(st.lists(any_text, max_size=8))
def test_units_are_a_column_again(texts):
    units = units_of(as_column(texts))
    assert units.column().to_pylist() == texts
    wanted = np.arange(len(texts)) % 3 == 1
    assert units.column(wanted).to_pylist() == texts[1::3]


@settings(deadline=None)
@given(st.lists(st.lists(word, max_size=20), max_size=4))
def test_counts_are_those_of_a_counter(pieces):
    text = [partial(as_column, piece) for piece in pieces]
    types, counts = count_types(text)
    found = dict(zip(types.to_pylist(), counts.tolist(), strict=True))
    assert found == Counter(one for piece in pieces for one in piece)
    assert len(types) == len(found)


@settings(deadline=None)
@given(st.lists(word, unique=True, max_size=60), st.lists(word, max_size=60))
def test_the_table_finds_what_a_dictionary_finds(known, asked):
    rows = {one: row for row, one in enumerate(known)}
    found = table_of(as_column(known)).rows_of(units_of(as_column(known + asked)))
    assert found.tolist() == [rows.get(one, -1) for one in known + asked]


@given(st.lists(st.tuples(word, st.integers(0, 1 << 40)), max_size=40))
def test_weights_are_added_up_in_the_order_in_which_texts_come(weighted):
    table, expected = TokenTable(), {}
    for one, weight in weighted:
        expected[one] = expected.get(one, 0) + weight
    units = units_of(as_column([one for one, _ in weighted]))
    table.add(units, np.array([weight for _, weight in weighted], np.int64))
    assert table.texts.to_pylist() == list(expected)
    assert table.counts.tolist() == list(expected.values())


def test_a_large_table_that_grows_again_and_again():
    """A hundred thousand words: some want the same slot, and all are found."""
    words = [f"{number:x}" for number in range(100_000)]
    table = table_of(as_column(words))
    order = np.random.default_rng(1).permutation(len(words))
    found = table.rows_of(units_of(as_column([words[row] for row in order])))
    assert np.array_equal(found, order)
    assert table.rows_of(units_of(as_column(["-1", "xyz", ""]))).tolist() == [-1, -1, -1]
    assert table.texts.to_pylist() == words


def test_a_token_twice_is_refused():
    with pytest.raises(ValueError, match="each token once"):
        table_of(as_column(["a", "b", "a"]))


def hash_after(size, first):
    """What the kernel's hash of a text is after its first eight bytes."""
    odd, mask = 0x9E3779B97F4A7C15, (1 << 64) - 1
    hashed = ((size * odd & mask) ^ int.from_bytes(first, "little")) * odd & mask
    return hashed ^ hashed >> 32


def test_texts_with_the_same_hash_are_told_apart():
    """Texts of sixteen bytes, the second eight chosen so that all have the same hash."""
    firsts = [f"text {number:3}".encode() for number in range(50)]
    texts = [one + hash_after(16, one).to_bytes(8, "little") for one in firsts]
    data = np.frombuffer(b"".join(texts), np.uint8)
    places = np.arange(0, len(data) + 1, 16)
    units = Units(data, places[:-1], places[1:])
    table = TokenTable()
    assert table.add(units).tolist() == list(range(50))
    assert len(set(table._slots[table._slots[:, 1] > 0, 0].tolist())) == 1
    assert table.rows_of(units).tolist() == list(range(50))
    assert table.counts.tolist() == [1] * 50


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(UserError) as caught:
        as_column(["fine", "caf\ud83d"])
    assert "U+D83D, is no character" in str(caught.value)
    assert "character 4 of 'caf\\ud83d'" in str(caught.value)


def test_a_sliced_column_of_short_strings_is_read_from_its_slice():
    column = pa.array(["ab", "c", "de"], pa.string())[1:]
    data, offsets = flat_bytes(column)
    assert (data.tobytes(), offsets.tolist()) == (b"cde", [0, 1, 3])
