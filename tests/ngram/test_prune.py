"""Entropy pruning against the relative entropy of whole distributions, and its limits."""

from pathlib import Path

import numpy as np
import pytest

from textmill.ngram.config import NgramConfig
from textmill.ngram.model import NgramModel
from textmill.ngram.prune import prune, pruned, renormalised, worths
from textmill.ngram.storage import load, save
from textmill.ngram.tables import OrderTable, pack, unpack, words_of
from textmill.tokenizers.vocabulary import BEGIN, END

LINES = (Path(__file__).parent / "golden/eight_sentences.txt").read_text().splitlines()


def model_of(tables, vocabulary):
    config = NgramConfig("word", "imported", len(tables))
    return NgramModel(vocabulary, config, list(pack(tables, "double")), ngrams=())


@pytest.mark.parametrize("method", ["witten_bell", "good_turing", "kneser_ney"])
def test_worth_is_the_relative_entropy_of_the_distributions(train, method):
    model = train(LINES, method=method, order=3)
    tables = list(unpack(model.orders))
    table = tables[2]
    worth = worths(tables, model.vocabulary)[2]
    bigrams = np.arange(len(tables[1].words))
    histories = words_of(tables, 2, bigrams)
    unigrams = tables[0].probabilities.copy()
    unigrams[BEGIN] = unigrams[END]
    p_history = unigrams[histories[0]] * tables[1].probabilities
    for row in range(0, len(table.words), 7):
        keep = np.arange(len(table.words)) != row
        starts = np.append(0, np.cumsum(keep))[table.starts]
        cut = OrderTable(starts, table.words[keep], table.probabilities[keep], table.backoffs[keep])
        without = model_of(
            list(renormalised([*tables[:2], cut], model.vocabulary)), model.vocabulary
        )
        context = int(table.contexts()[row])
        state = histories[:, context][None, :].astype(np.int64)
        before, after = model.distribution(state)[0], without.distribution(state)[0]
        possible = before > -np.inf
        before, after = before[possible], after[possible]
        divergence = (np.exp(before) * (before - after)).sum()
        assert worth[row] == pytest.approx(p_history[context] * divergence, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("method", ["witten_bell", "good_turing"])
def test_a_threshold_is_the_share_by_which_perplexity_would_rise(train, method):
    """An n-gram goes at exp(D) - 1 and stays just below; D from the whole distributions."""
    model = train(LINES, method=method, order=2)
    tables = list(unpack(model.orders))
    table = tables[1]
    p_history = tables[0].probabilities.copy()
    p_history[BEGIN] = p_history[END]
    for row in range(0, len(table.words), 9):
        context = int(table.contexts()[row])
        keep = np.arange(len(table.words)) != row
        starts = np.append(0, np.cumsum(keep))[table.starts]
        cut = OrderTable(starts, table.words[keep], table.probabilities[keep], table.backoffs[keep])
        without = model_of(list(renormalised([tables[0], cut], model.vocabulary)), model.vocabulary)
        state = np.array([[context]])
        before, after = model.distribution(state)[0], without.distribution(state)[0]
        before, after = np.delete(before, BEGIN), np.delete(after, BEGIN)
        nats = (np.exp(before) * (before - after)).sum()  # more after this history
        rise = np.exp(p_history[context] * nats) - 1
        assert rise > 1e-7
        ngram = (context, int(table.words[row]))
        for threshold, stays in ((rise * (1 - 1e-6), True), (rise * (1 + 1e-6), False)):
            left = list(prune(tables, model.vocabulary, threshold=threshold))
            kept = words_of(left, 2, np.arange(len(left[1].words))) if len(left) > 1 else [[], []]
            assert (ngram in set(zip(*kept, strict=True))) == stays


def test_a_threshold_of_nothing_leaves_everything(train):
    model = train(LINES, method="kneser_ney", order=3)
    tables = list(unpack(model.orders))
    pruned = list(prune(tables, model.vocabulary, threshold=0.0))
    for ours, theirs in zip(tables, pruned, strict=True):
        np.testing.assert_array_equal(ours.words, theirs.words)
        np.testing.assert_allclose(ours.backoffs, theirs.backoffs, rtol=1e-9)


def test_larger_thresholds_leave_less_and_a_size_is_kept(train):
    whole = train(LINES, method="witten_bell", order=3)
    rows = [
        sum(
            order.words.rows
            for order in train(LINES, method="witten_bell", order=3, prune_threshold=t).orders
        )
        for t in (1e-6, 1e-3, 1e-2, 10.0)
    ]
    assert rows == sorted(rows, reverse=True)
    assert rows[-1] == whole.size
    for size in (whole.size + 17, whole.size + 60):
        pruned = train(LINES, method="witten_bell", order=3, prune_to=size)
        left = sum(order.words.rows for order in pruned.orders)
        assert size - 20 < left <= size
    # The n-grams that stay keep their probability.
    tables, kept = list(unpack(whole.orders)), list(unpack(pruned.orders))
    words = words_of(tables, 2, np.arange(len(tables[1].words)))
    left = words_of(kept, 2, np.arange(len(kept[1].words)))
    by_words = dict(zip(map(tuple, words.T.tolist()), tables[1].probabilities, strict=True))
    expected = [by_words[tuple(ngram)] for ngram in left.T.tolist()]
    np.testing.assert_array_equal(kept[1].probabilities, expected)


def test_a_model_says_the_order_that_it_has(train, tmp_path):
    """Of which pruning may leave less than was asked for, and short lines too."""
    whole = train(LINES, method="witten_bell", order=3)
    asked = train(LINES, method="witten_bell", order=3, prune_threshold=10.0)
    save(asked, tmp_path / "asked")
    for model in (pruned(whole, threshold=10.0), asked, load(tmp_path / "asked", whole.vocabulary)):
        assert (model.order, model.config.order) == (1, 3)
        assert model.describe() == "Witten-Bell, order 1"
    assert whole.describe() == "Witten-Bell, order 3"
    assert train(["a b"], method="additive", order=99).describe() == "add-1, order 4"
    assert train(["a b"], method="uniform").describe() == "uniform"
