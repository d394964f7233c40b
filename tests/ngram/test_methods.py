"""The classic methods against their formulas, written out with dictionaries over tuples."""

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN

EVENTS = (UNKNOWN, END, 3, 4, 5, 6)
LINES = {
    "lines": st.lists(st.lists(st.integers(3, 5), max_size=6), min_size=1, max_size=9),
    "running": st.lists(st.lists(st.integers(END, 5), max_size=12), min_size=1, max_size=5),
}
"""Lines, or documents whose lines run on: there `</s>` is a token like others."""


class Counts:
    """Raw counts of n-grams and of what follows histories."""

    def __init__(self, lines, order):
        self.ngrams = Counter()
        self.after = defaultdict(dict)
        for line in lines:
            sentence = (BEGIN, *line, END)
            for n in range(1, order + 1):
                self.ngrams.update(sentence[i : i + n] for i in range(len(sentence) - n + 1))
        del self.ngrams[(BEGIN,)]
        for ngram, count in self.ngrams.items():
            self.after[ngram[:-1]][ngram[-1]] = count

    def of_order(self, n):
        return [count for ngram, count in self.ngrams.items() if len(ngram) == n]


def witten_bell(counts, word, history, model):
    below = witten_bell(counts, word, history[1:], model) if history else 1 / len(EVENTS)
    after = counts.after.get(history)
    if not after:
        return below
    return (after.get(word, 0) + len(after) * below) / (sum(after.values()) + len(after))


def absolute(counts, word, history, model):
    below = absolute(counts, word, history[1:], model) if history else 1 / len(EVENTS)
    after = counts.after.get(history)
    if not after:
        return below
    (amount,) = model.discounts[len(history)]
    freed = amount * len(after) * below
    return (max(after.get(word, 0) - amount, 0) + freed) / sum(after.values())


def jelinek_mercer(counts, word, history, model):
    below = jelinek_mercer(counts, word, history[1:], model) if history else 1 / len(EVENTS)
    after = counts.after.get(history)
    if not after:
        return below
    (weight,) = model.discounts[len(history)]
    return weight * after.get(word, 0) / sum(after.values()) + (1 - weight) * below


def stupid(counts, word, history, model):
    after = counts.after.get(history)
    if after and word in after:
        return after[word] / sum(after.values())
    if not history:
        return 0.0
    return (model.config.alpha if after else 1.0) * stupid(counts, word, history[1:], model)


def katz(counts, word, history, model):
    """Every sum over the whole event space, none by a short cut."""
    after = counts.after.get(history)
    if not after:
        return katz(counts, word, history[1:], model) if history else 1 / len(EVENTS)
    ratios = model.discounts[len(history)]
    kept = {w: c * (ratios[c - 1] if c <= len(ratios) else 1.0) for w, c in after.items()}
    total = sum(after.values())
    unseen = [event for event in EVENTS if event not in after]
    if not unseen:
        return kept[word] / sum(kept.values())
    total += sum(kept.values()) >= total
    if word in after:
        return kept[word] / total
    lower = {
        event: katz(counts, event, history[1:], model) if history else 1 / len(EVENTS)
        for event in unseen
    }
    return (1 - sum(kept.values()) / total) * lower[word] / sum(lower.values())


BOOK = {
    "witten_bell": witten_bell,
    "absolute_discounting": absolute,
    "jelinek_mercer": jelinek_mercer,
    "stupid_backoff": stupid,
    "good_turing": katz,
}


def columns(lines):
    tokens = np.array([token for line in lines for token in [*line, END]], dtype=np.uint16)
    return tokens, np.cumsum([0] + [len(line) + 1 for line in lines])


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("method", BOOK)
@settings(max_examples=40, deadline=None)
@given(data=st.data(), order=st.integers(1, 5))
def test_the_formulas_written_out(encode, method, kind, data, order):
    lines, resets = data.draw(LINES[kind]), kind == "lines"
    vocabulary = encode(["3 4 5 6"])[2]
    text = columns(lines)
    held_out = columns([[3, 4, 5, 6], [], [4, 4]])
    config = NgramConfig("word", method, order, sentence_boundaries=resets)
    model = estimate(*text, vocabulary, config, held_out=held_out)
    counts = Counts(lines, order)
    chosen = np.random.default_rng(len(text[0])).choice(EVENTS, 30)
    stream = np.concatenate([text[0], chosen])
    nats, _ = model.score(stream[None, :], model.start(1))
    history = (BEGIN,)
    for word, scored in zip(stream.tolist(), np.exp(-nats[0]), strict=True):
        expected = BOOK[method](counts, word, history[-(order - 1) :] if order > 1 else (), model)
        assert scored == pytest.approx(expected, rel=1e-9, abs=1e-15)
        history = (BEGIN,) if word == END and resets else (*history, word)[-order:]


def test_maximum_likelihood(train, probability):
    model = train(["a b a b a b c", "d"], method="maximum_likelihood", order=2)
    assert probability(model, "b", "a") == pytest.approx(1.0, rel=1e-14)
    assert probability(model, "a", "a b") == pytest.approx(2 / 3, rel=1e-14)
    assert probability(model, "d", "a b") == 0.0
    assert probability(model, "d") == pytest.approx(1 / 2, rel=1e-14)
    assert probability(model, "d", "never") == pytest.approx(1 / 6, rel=1e-14)
    unigram = train(["a b a b a b c", "d"], method="maximum_likelihood", order=1)
    assert probability(unigram, "a") == pytest.approx(3 / 10, rel=1e-14)


def test_cutoffs_leave_rare_ngrams_out_and_keep_the_sum(train, probability):
    lines = ["a b c", "a b d", "a b c", "d a"]
    whole = train(lines, method="witten_bell", order=3)
    cut = train(lines, method="witten_bell", order=3, cutoffs=(0, 1, 1))
    assert [order.words.rows for order in cut.orders] == [7, 4, 3]
    # After "a b": c twice, d once; d falls back on p(d | b), whose own bigram is gone too.
    below = probability(cut, "d", "b")
    assert probability(cut, "d", "a b") == pytest.approx((2 + 1) / 5 * below, rel=1e-12)
    assert probability(cut, "c", "a b") == pytest.approx(
        2 / 5 + (2 + 1) / 5 * probability(cut, "c", "b"), rel=1e-12
    )
    assert probability(whole, "d", "a b") > probability(cut, "d", "a b")
