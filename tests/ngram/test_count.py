from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.ngram.count import count_ngrams, sentence_stream
from textmill.tokenizers.vocabulary import BEGIN, END

A, B, C = 3, 4, 5
SIZE = 6


def columns(lines):
    tokens = np.array([token for line in lines for token in [*line, END]], dtype=np.uint16)
    return tokens, np.cumsum([0] + [len(line) + 1 for line in lines])


def spelled_out(counts, row, n):
    """The ids of the n-gram in a row of order n, walking down the contexts."""
    ids = []
    for table in reversed(counts[1:n]):
        ids.append(int(table.keys[row] % SIZE))
        row = int(table.keys[row] // SIZE)
    return (row, *reversed(ids))


def counted_by_hand(lines, n):
    counter = Counter()
    for line in lines:
        sentence = (BEGIN, *line, END)
        counter.update(sentence[i : i + n] for i in range(len(sentence) - n + 1))
    return counter


def test_the_stream_holds_every_line_between_its_bounds():
    tokens, offsets = columns([[A, B], [], [C]])
    stream = sentence_stream(tokens, offsets, SIZE)
    assert stream.tolist() == [BEGIN, A, B, END, BEGIN, END, BEGIN, C, END]


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.lists(st.integers(A, C), max_size=7), max_size=8),
    order=st.integers(1, 9),
)
def test_counts_equal_a_counter_over_tuples(lines, order):
    counts = count_ngrams(sentence_stream(*columns(lines), SIZE), SIZE, order)
    for n, table in enumerate(counts, start=1):
        by_hand = counted_by_hand(lines, n)
        rows = np.flatnonzero(table.counts)
        found = {spelled_out(counts, row, n): int(table.counts[row]) for row in rows}
        assert found == by_hand
        assert table.seen() == len(set(by_hand) - {(BEGIN,)})
        assert np.all(np.diff(table.keys) > 0)
        for row in rows:
            ngram = spelled_out(counts, row, n)
            assert table.starts[row] == (ngram[0] == BEGIN)
            if n > 1:
                assert spelled_out(counts, int(table.suffixes[row]), n - 1) == ngram[1:]


@pytest.mark.parametrize(
    ("tokens", "offsets", "named"),
    [
        ([A, B], [0, 2], "must end in </s>"),
        ([A, END, B, END], [0, 4], "hold it nowhere else"),
        ([A, END], [0, 2, 2], "must end in </s>"),
        ([A, BEGIN, END], [0, 3], "hold <s>"),
        ([A, SIZE, END], [0, 3], "hold id 6, but the vocabulary ends at 5"),
    ],
)
def test_tokens_that_are_no_lines_of_this_vocabulary_are_refused(tokens, offsets, named):
    with pytest.raises(UserError, match=named):
        sentence_stream(np.array(tokens), np.array(offsets), SIZE)
