from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.ngram.count import count_ngrams, sentence_stream
from textmill.ngram.smoothing.kneser_ney import all_suffixes
from textmill.tokenizers.vocabulary import BEGIN, END

A, B, C = 3, 4, 5
SIZE = 6


def columns(lines):
    tokens = np.array([token for line in lines for token in [*line, END]], dtype=np.uint16)
    return tokens, np.cumsum([0] + [len(line) + 1 for line in lines])


def spelled_out(counts, n):
    """The ids of the n-grams of order n, in the order of their rows."""
    ngrams = [(int(word),) for word in counts[0].words]
    for table in counts[1:n]:
        bounds = zip(ngrams, table.starts[:-1], table.starts[1:], strict=True)
        ngrams = [(*g, int(w)) for g, low, high in bounds for w in table.words[low:high]]
    return ngrams


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


@settings(max_examples=80, deadline=None)
@given(
    lines=st.lists(st.lists(st.sampled_from([0, A, B, C]), max_size=7), max_size=8),
    order=st.integers(1, 9),
    piece=st.integers(1, 60),
    size=st.sampled_from([SIZE, 5_000]),  # 21 and 4 words to a key
)
def test_counts_equal_a_counter_over_tuples(lines, order, piece, size):
    stream = sentence_stream(*columns(lines), size)
    counts = count_ngrams(stream, size, order, piece=piece)
    suffixes = all_suffixes(counts)
    shorter = None
    for n, table in enumerate(counts, start=1):
        by_hand = counted_by_hand(lines, n)
        spelled = spelled_out(counts, n)
        found = {ngram: int(count) for ngram, count in zip(spelled, table.counts, strict=True)}
        assert {ngram: count for ngram, count in found.items() if count} == by_hand
        assert table.seen() == len(set(by_hand) - {(BEGIN,)})
        assert spelled == sorted(spelled)
        first, end = table.after_begin
        assert [ngram[0] == BEGIN for ngram in spelled] == [
            first <= row < end for row in range(len(spelled))
        ]
        if n > 1:
            assert [shorter[row] for row in suffixes[n - 2]] == [ngram[1:] for ngram in spelled]
        shorter = spelled


def test_large_groups_of_equal_beginnings():
    """Lines that share more words than fit into one key, in hundreds, are sorted on."""
    lines = [[A] * 40 + [A + line % 3, A + line // 3 % 3, B] for line in range(300)]
    stream = sentence_stream(*columns(lines), 100_000)
    whole = count_ngrams(stream, 100_000, 43)
    pieces = count_ngrams(stream, 100_000, 43, piece=1)
    for n, (table, other) in enumerate(zip(whole, pieces, strict=True), start=1):
        assert table.seen() == len(set(counted_by_hand(lines, n)) - {(BEGIN,)})
        for name in ("starts", "words", "counts"):
            np.testing.assert_array_equal(getattr(table, name), getattr(other, name))


def test_without_sentence_boundaries_a_line_end_is_a_word():
    documents = [[A, END, B, END], [C, END]]
    tokens = np.array([token for document in documents for token in document], np.uint16)
    stream = sentence_stream(tokens, np.array([0, 4, 6]), SIZE, crosses_lines=True)
    assert stream.tolist() == [BEGIN, A, END, B, END, BEGIN, C, END]
    counts = count_ngrams(stream, SIZE, 3)
    assert spelled_out(counts, 3) == [(BEGIN, A, END), (BEGIN, C, END), (END, B, END), (A, END, B)]


@pytest.mark.parametrize(
    ("tokens", "offsets", "named"),
    [
        ([A, B], [0, 2], "must end in </s>"),
        ([A, END, B, END], [0, 4], "hold it nowhere else"),
        ([A, END], [0, 2, 2], "must end in </s>"),
        ([END, A, END], [0, 0, 3], "must end in </s>"),
        ([A, BEGIN, END], [0, 3], "hold <s>"),
        ([A, SIZE, END], [0, 3], "hold id 6, but the vocabulary ends at 5"),
    ],
)
def test_tokens_that_are_no_lines_of_this_vocabulary_are_refused(tokens, offsets, named):
    with pytest.raises(UserError, match=named):
        sentence_stream(np.array(tokens), np.array(offsets), SIZE)
