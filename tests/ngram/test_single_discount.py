"""Absolute discounting and plain Kneser-Ney, D = n1 / (n1 + 2 n2) included, computed plainly."""

import logging
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN, from_tokens

EVENTS = (UNKNOWN, END, 3, 4, 5, 6)
METHODS = {
    "absolute_discounting": {"method": "absolute_discounting"},
    "kneser_ney": {"method": "kneser_ney", "modified": False},
}


def raw_counts(lines, order):
    """{n-gram: occurrences} of each order; `<s>` alone is no event."""
    counts = [Counter() for _ in range(order + 1)]
    for line in lines:
        sentence = (BEGIN, *line, END)
        for n in range(1, order + 1):
            counts[n].update(sentence[at : at + n] for at in range(len(sentence) - n + 1))
    del counts[1][(BEGIN,)]
    return counts


def adjusted_counts(raw):
    """Different words to the left; raw at the highest order and for what begins a line."""
    found = [Counter()]
    for n in range(1, len(raw)):
        counts = Counter(raw[n])
        if n + 1 < len(raw):
            left = Counter(longer[1:] for longer in raw[n + 1])
            for ngram in counts:
                if ngram[0] != BEGIN:
                    counts[ngram] = left[ngram]
        found.append(counts)
    return found


def discount(counts):
    n = Counter(counts.values())
    return n[1] / (n[1] + 2 * n[2]) if n[1] and n[2] else 0.5


def p(word, history, counts):
    """max(c - D, 0) / sum + D * (how many different words followed) / sum * p(word | shorter)."""
    below = p(word, history[1:], counts) if history else 1 / len(EVENTS)
    own = counts[len(history) + 1]
    after = {ngram[-1]: count for ngram, count in own.items() if ngram[:-1] == history}
    if not after:
        return below
    amount = discount(own)
    freed = amount * len(after) * below
    return (max(after.get(word, 0) - amount, 0) + freed) / sum(after.values())


def estimated(lines, order, method):
    tokens = np.array([token for line in lines for token in [*line, END]], np.uint16)
    offsets = np.cumsum([0] + [len(line) + 1 for line in lines])
    vocabulary = from_tokens(["a", "b", "c", "d"], scheme="test")[0]
    config = NgramConfig("test", order=order, **METHODS[method])
    return tokens, estimate(tokens, offsets, vocabulary, config)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25, deadline=None)
@given(
    lines=st.lists(st.lists(st.integers(3, 6), max_size=7), min_size=1, max_size=9),
    order=st.integers(1, 3),
)
def test_from_text_to_probabilities(method, lines, order):
    tokens, model = estimated(lines, order, method)
    counts = raw_counts(lines, model.order)
    if method == "kneser_ney":
        counts = adjusted_counts(counts)
    stream = [*tokens.tolist(), *np.random.default_rng(len(tokens)).choice(EVENTS, 20).tolist()]
    nats, _ = model.score(np.array([stream]), model.start(1))
    history = (BEGIN,)
    for word, scored in zip(stream, np.exp(-nats[0]), strict=True):
        context = history[-(model.order - 1) :] if model.order > 1 else ()
        assert scored == pytest.approx(p(word, context, counts), rel=1e-10)
        history = (BEGIN,) if word == END else (*history, word)


def test_discounts_by_hand():
    """Of "a b", "a b", "a c", "d" the unigrams occur 3, 2, 1, 1 and, ends of lines, 4 times.

    Different words before them: a 1 (`<s>`), b 1, c 1, d 1, `</s>` 3 (b, c, d).
    """
    lines = [[3, 4], [3, 4], [3, 5], [6]]
    raw = estimated(lines, 2, "absolute_discounting")[1].discounts
    # n1 = 2 (c, d), n2 = 1 (b); bigrams: a c, c </s>, <s> d, d </s> once, a b, b </s> twice.
    assert raw == ((pytest.approx(2 / 4),), (pytest.approx(4 / 8),))
    adjusted = estimated([*lines, [3, 6]], 2, "kneser_ney")[1].discounts
    # d now stands after a, too: n1 = 3 (a, b, c), n2 = 1 (d); bigrams: c, a c, a d, <s> d once.
    assert [row[0] for row in adjusted] == [pytest.approx(3 / 5), pytest.approx(4 / 10)]
    assert all(row == (row[0],) * 3 for row in adjusted)


@pytest.mark.parametrize("method", METHODS)
def test_the_fallback_names_order_and_count(method, caplog):
    """Every line twice: of eight bigrams six occur twice, `<s> a` and `b </s>` four times."""
    with caplog.at_level(logging.WARNING, logger="textmill.ngram"):
        model = estimated([[3, 4], [5, 4], [3, 5, 6]] * 2, 2, method)[1]
    assert model.discounts[1][0] == 0.5
    assert (
        "order 2: no n-gram has a count of 1 (n-grams of count 1 to 4: 0, 6, 0, 2)" in caplog.text
    )
    assert "this order alone takes 0.5" in caplog.text
    assert ("order 1: " in caplog.text) == (method == "absolute_discounting")


@pytest.mark.parametrize("method", METHODS)
def test_without_a_count_of_2_the_order_falls_back(method, caplog):
    with caplog.at_level(logging.WARNING, logger="textmill.ngram"):
        model = estimated([[3, 4, 5, 6]], 1, method)[1]
    assert model.discounts[0][0] == 0.5
    assert (
        "order 1: no n-gram has a count of 2 (n-grams of count 1 to 4: 5, 0, 0, 0)" in caplog.text
    )
