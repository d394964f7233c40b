"""Good-Turing with Katz backoff where its own discounts work, against the formulas written out."""

import logging
from collections import Counter, defaultdict

import numpy as np
import pytest

from textmill.ngram.smoothing.good_turing import katz_ratios
from textmill.ngram.tables import unpack, words_of
from textmill.tokenizers.vocabulary import UNKNOWN

K = 5
OFTEN = ["x y"] * 9


@pytest.fixture(scope="module")
def lines():
    """Fifteen thousand words by Zipf's law, so that counts of counts fall as Katz supposes.

    After `x` only `y` comes, more often than K times.
    """
    ranks = np.random.default_rng(1).zipf(1.3, 20_000)
    words = [f"w{rank}" for rank in ranks[ranks < 1e6][:15_000]]
    return [*OFTEN, *(" ".join(words[at : at + 12]) for at in range(0, len(words), 12))]


@pytest.fixture(scope="module")
def counts(lines):
    """Of each order 1 to 3, by tuples of words; `<s>` alone is no event."""
    found = [Counter() for _ in range(4)]
    for line in lines:
        sentence = ("<s>", *line.split(), "</s>")
        for n in (1, 2, 3):
            found[n].update(sentence[at : at + n] for at in range(len(sentence) - n + 1))
    del found[1][("<s>",)]
    return found


def ratios_of(counts):
    """d_r = (r*/r - A) / (1 - A), r* = (r + 1) n_{r+1} / n_r, A = (K + 1) n_{K+1} / n_1."""
    n = Counter(counts.values())
    a = (K + 1) * n[K + 1] / n[1]
    return [((r + 1) * n[r + 1] / n[r] / r - a) / (1 - a) for r in range(1, K + 1)]


def by_the_book(counts):
    """{n-gram: p} and {context: weight} of all orders; `<unk>` is the one event without a count."""
    p, weights = {}, {}
    total = counts[1].total()
    ratios = ratios_of(counts[1])
    for word, count in counts[1].items():
        p[word] = count * (ratios[count - 1] if count <= K else 1) / total
    p[("<unk>",)] = 1 - sum(p.values())
    for n in (2, 3):
        ratios = ratios_of(counts[n])
        after = defaultdict(dict)
        for ngram, count in counts[n].items():
            after[ngram[:-1]][ngram[-1]] = count
        for history, followers in after.items():
            total = sum(followers.values())
            if all(count > K for count in followers.values()):
                total += 1
            for word, count in followers.items():
                kept = count * (ratios[count - 1] if count <= K else 1)
                p[(*history, word)] = kept / total
            left = 1 - sum(p[(*history, word)] for word in followers)
            left_below = 1 - sum(p[(*history[1:], word)] for word in followers)
            weights[history] = left / left_below
    return p, weights


def test_every_probability_and_weight_by_the_formulas(train, lines, counts, caplog):
    model = train(lines, method="good_turing", order=3)
    assert caplog.text == ""  # no order falls back
    for n in (1, 2, 3):
        ratios = ratios_of(counts[n])
        assert all(0 < ratio < 1 for ratio in ratios)
        assert model.discounts[n - 1] == pytest.approx(ratios, rel=1e-12)
    p, weights = by_the_book(counts)
    tables = list(unpack(model.orders))
    names = np.array(["<unk>", "<s>", "</s>", *model.vocabulary.tokens.to_pylist()])
    for n, table in enumerate(tables, start=1):
        ngrams = list(
            map(tuple, names[words_of(tables, n, np.arange(len(table.words)))].T.tolist())
        )
        assert {*ngrams} == {*(one for one in p if len(one) == n)} | (
            {("<s>",)} if n == 1 else set()
        )
        expected = [p.get(ngram, 0.0) for ngram in ngrams]
        np.testing.assert_allclose(table.probabilities, expected, rtol=1e-9)
        expected = [weights.get(ngram, 1.0) for ngram in ngrams]
        np.testing.assert_allclose(table.backoffs, expected, rtol=1e-7)


def test_a_history_whose_counts_are_all_large_gives_one_more(train, lines, probability):
    """As in SRILM its total is raised by one: of ten parts nine are y's."""
    model = train(lines, method="good_turing", order=2)
    assert probability(model, "y", "x") == pytest.approx(9 / 10, rel=1e-12)
    lower = {
        word: np.exp(model.distribution(model.null_context(1))[0])[model.vocabulary[word]]
        for word in ("y", "w1")
    }
    expected = 1 / 10 * lower["w1"] / (1 - lower["y"])
    assert probability(model, "w1", "x") == pytest.approx(expected, rel=1e-9)


def test_unigrams_whose_counts_are_all_large_give_one_more(train, probability):
    """20 a, 20 b and 20 line ends: one of 61 parts is for what was not seen, two ids here."""
    vocabulary = train(["a b never"], method="uniform").vocabulary
    model = train(["a b"] * 20, vocabulary, method="good_turing", order=1)
    assert probability(model, "a") == pytest.approx(20 / 61, rel=1e-12)
    assert probability(model, "never") == pytest.approx(1 / 61 / 2, rel=1e-12)
    p = np.exp(model.distribution(model.start(1))[0])
    assert p[UNKNOWN] == pytest.approx(1 / 61 / 2, rel=1e-12)


def test_katz_ratios_closed_form():
    counts = np.repeat([1, 2, 3], [10, 3, 1])
    # A = 3 * 1 / 10; d1 = (0.6 - 0.3) / 0.7, d2 = (3 * 1 / 3 / 2 - 0.3) / 0.7.
    np.testing.assert_allclose(katz_ratios(1, counts, 2), [0.3 / 0.7, 0.2 / 0.7], rtol=1e-14)


def test_katz_falls_back_for_one_order_and_says_so(caplog):
    counts = np.repeat([1, 2, 3, 9], [8, 4, 2, 1])
    with caplog.at_level(logging.WARNING, logger="textmill.ngram"):
        ratios = katz_ratios(3, counts, 2)
    assert "order 3: Good-Turing's ratio of count 1 is 1" in caplog.text
    # D = 8 / (8 + 2 * 4) = 1/2.
    np.testing.assert_allclose(ratios, (np.arange(1, 10) - 0.5) / np.arange(1, 10), rtol=1e-14)
