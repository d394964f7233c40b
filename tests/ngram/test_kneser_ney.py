"""Kneser-Ney against lmplz's own output and against the formulas written out with dictionaries."""

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.tables import unpack
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN

GOLDEN = Path(__file__).parent / "golden"


def read_arpa(path):
    """{n-gram as a tuple of words: (log10 p, log10 backoff or None)}"""
    entries = {}
    for line in path.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) > 1:
            backoff = float(fields[2]) if len(fields) > 2 else None
            entries[tuple(fields[1].split())] = float(fields[0]), backoff
    return entries


def looked_up(model, words):
    """(log10 p, log10 backoff) of an n-gram that the model holds, by walking the tables."""
    ids = {model.vocabulary.id_to_token(i): i for i in range(len(model.vocabulary))}
    tables = list(unpack(model.orders))
    row = ids[words[0]]
    for table, word in zip(tables[1:], words[1:], strict=False):
        after = slice(table.starts[row], table.starts[row + 1])
        row = after.start + int(np.searchsorted(table.words[after], ids[word]))
        assert row < after.stop, words
        assert table.words[row] == ids[word], words
    table = tables[len(words) - 1]
    return np.log10(table.probabilities[row]), np.log10(table.backoffs[row])


# What lmplz -o 3 --discount_fallback prints for "a b c" and "a b d".
TWO_SENTENCES = [
    ("<unk>", -1.0791812, None),
    ("a", -0.7781512, -0.30103),
    ("b", -0.7781512, -0.30103),
    ("c", -0.7781512, -0.30103),
    ("d", -0.7781512, -0.30103),
    ("</s>", -0.60206, 0.0),
    ("a b", -0.23408322, -0.30103),
    ("<s> a", -0.23408322, -0.30103),
    ("b c", -0.47712123, -0.30103),
    ("c </s>", -0.20412, 0.0),
    ("<s> a b", -0.10145767, None),
    ("a b c", -0.38021123, None),
    ("b c </s>", -0.090176634, None),
]


@pytest.mark.parametrize(("words", "log10_p", "log10_backoff"), TWO_SENTENCES)
def test_two_sentences_as_lmplz(train, words, log10_p, log10_backoff):
    model = train(["a b c", "a b d"], method="kneser_ney", order=3, event_space="observed")
    assert model.ngrams == (5, 6, 5)
    p, backoff = looked_up(model, words.split())
    assert p == pytest.approx(log10_p, abs=1e-6)
    if log10_backoff is not None:
        assert backoff == pytest.approx(log10_backoff, abs=1e-6)


@pytest.fixture(scope="module")
def eight_sentences():
    return (GOLDEN / "eight_sentences.txt").read_text().splitlines()


def test_every_number_of_an_lmplz_file_with_its_slip(train, eight_sentences):
    model = train(
        eight_sentences,
        method="kneser_ney",
        order=3,
        event_space="observed",
        kenlm_compat=True,
    )
    entries = read_arpa(GOLDEN / "eight_sentences.arpa")
    assert len(entries) == 45 + 90 + 105
    for words, (log10_p, log10_backoff) in entries.items():
        if words == ("<s>",):
            continue  # lmplz writes log10 p = 0 for what is never predicted
        p, backoff = looked_up(model, words)
        assert p == pytest.approx(log10_p, abs=1e-6), words
        if log10_backoff is not None:
            assert backoff == pytest.approx(log10_backoff, abs=1e-6), words


def test_count_cutoffs_as_lmplz_prunes(train, eight_sentences):
    model = train(
        eight_sentences,
        method="kneser_ney",
        order=3,
        event_space="observed",
        kenlm_compat=True,
        cutoffs=(0, 1, 1),
    )
    entries = read_arpa(GOLDEN / "eight_sentences_pruned.arpa")
    assert [order.words.rows for order in model.orders][1:] == [
        sum(len(words) == n for words in entries) for n in (2, 3)
    ]
    for words, (log10_p, log10_backoff) in entries.items():
        if words == ("<s>",):
            continue
        p, backoff = looked_up(model, words)
        assert p == pytest.approx(log10_p, abs=1e-6), words
        if log10_backoff is not None:
            assert backoff == pytest.approx(log10_backoff, abs=1e-6), words


def test_the_slip_is_not_repeated_unasked(train, eight_sentences):
    def discounts(**compat):
        options = {"method": "kneser_ney", "order": 3, "event_space": "observed"}
        return np.array(train(eight_sentences, **options, **compat).discounts)

    # "a fox", the last bigram in lmplz's order, ends the text twice after one word, "by": "fox"
    # and "a fox" have raw count 2 and adjusted count 1, so n_1 is one short and n_2 one long.
    np.testing.assert_allclose(discounts()[0], [6 / 11, 1.50909091, 17 / 11], rtol=1e-8)
    np.testing.assert_allclose(discounts(kenlm_compat=True)[0], [23 / 45, 1.58181818, 1.63703704])
    assert np.all(discounts()[1] != discounts(kenlm_compat=True)[1])
    assert np.all(discounts()[2] == discounts(kenlm_compat=True)[2])


def by_the_book(lines, order, n_events, discounts):
    """p(word, history) from dictionaries, n-gram by n-gram; histories begin at `<s>`."""
    raw = [Counter() for _ in range(order + 1)]
    for line in lines:
        sentence = (BEGIN, *line, END)
        for n in range(1, order + 1):
            raw[n].update(sentence[i : i + n] for i in range(len(sentence) - n + 1))
    del raw[1][(BEGIN,)]

    def adjusted(ngram):
        if len(ngram) == order or ngram[0] == BEGIN:
            return raw[len(ngram)][ngram]
        return len({longer[0] for longer in raw[len(ngram) + 1] if longer[1:] == ngram})

    @cache
    def continuations(history):
        longer = (ngram for ngram in raw[len(history) + 1] if ngram[:-1] == history)
        return {ngram[-1]: adjusted(ngram) for ngram in longer}

    @cache
    def p(word, history):
        below = p(word, history[1:]) if history else 1 / n_events
        counts = continuations(history)
        if not counts:
            return below
        amounts = (0.0, *discounts[len(history)])
        total = sum(counts.values())
        freed = sum(amounts[min(a, 3)] for a in counts.values())
        own = counts.get(word, 0)
        return (own - amounts[min(own, 3)] + freed * below) / total

    return p


@pytest.mark.parametrize("resets", [True, False])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), order=st.integers(1, 9))
def test_the_formulas_written_out(encode, resets, data, order):
    """Lines, or documents that are not parted at `</s>`."""
    words = st.integers(3 if resets else END, 6)
    lines = data.draw(st.lists(st.lists(words, max_size=6), min_size=1, max_size=9))
    vocabulary = encode(["3 4 5 6"])[2]
    tokens = np.array([token for line in lines for token in [*line, END]], dtype=np.uint16)
    offsets = np.cumsum([0] + [len(line) + 1 for line in lines])
    config = NgramConfig("word", "kneser_ney", order, sentence_boundaries=resets)
    model = estimate(tokens, offsets, vocabulary, config)
    p = by_the_book(lines, order, len(vocabulary) - 1, model.discounts)
    stream = np.random.default_rng(len(tokens)).choice([UNKNOWN, END, 3, 4, 5, 6], 40)
    stream = np.concatenate([tokens, stream])
    nats, _ = model.score(stream[None, :], model.start(1))
    history = (BEGIN,)
    for word, scored in zip(stream.tolist(), np.exp(-nats[0]), strict=True):
        expected = p(word, history[-(order - 1) :] if order > 1 else ())
        assert scored == pytest.approx(expected, rel=1e-12)
        history = (BEGIN,) if word == END and resets else (*history, word)[-order:]


def test_mass_freed_from_unigrams(train, probability):
    lines = ["a b c", "a b d"]
    vocabulary = train([*lines, "extra words"], method="uniform").vocabulary
    both = {"method": "kneser_ney", "order": 3, "vocabulary": vocabulary}
    # Adjusted counts of a, b, c, d are 1 and of </s> 2; discounts 0.5 and 1; 3 of 6 are freed.
    spread = train(lines, **both)
    assert probability(spread, "extra", "never") == pytest.approx(0.5 / 8, rel=1e-12)
    assert probability(spread, "a", "never") == pytest.approx(0.5 / 6 + 0.5 / 8, rel=1e-12)
    observed = train(lines, event_space="observed", **both)
    assert probability(observed, "extra", "never") == 0.0
    assert probability(observed, "a", "never") == pytest.approx(0.5 / 6 + 0.5 / 6, rel=1e-12)
    # SRILM's way: to the three events without a count, <unk>, extra and words.
    kept = train(lines, interpolate_unigrams=False, **both)
    assert probability(kept, "extra", "never") == pytest.approx(0.5 / 3, rel=1e-12)
    assert probability(kept, "a", "never") == pytest.approx(0.5 / 6, rel=1e-12)


def test_without_lines_the_model_is_uniform(train):
    for order in (1, 3):
        vocabulary = train(["a b c"], method="uniform").vocabulary
        model = train([], vocabulary, method="kneser_ney", order=order)
        p = np.exp(model.distribution(model.start(1)))[0]
        np.testing.assert_allclose(np.delete(p, BEGIN), 1 / 5, rtol=1e-14)
        assert model.ngrams == (0,)


def test_an_order_beyond_the_longest_line_changes_nothing(train):
    lines = ["a b c", "b a", "a b a b", "c"]
    models = [train(lines, method="kneser_ney", order=order) for order in (6, 7, 10**20)]
    ids = np.array([[3, 4, 3, 4, 2, 3, 4, 5, 2, 4, 3, 3, 5, 5, 5, 2, 4, 0, 3, 4, 3, 4, 2]])
    nats = [model.score(ids, model.start(1))[0] for model in models]
    assert [model.order for model in models] == [6, 6, 6]
    np.testing.assert_array_equal(nats[0], nats[2])
    shorter = train(lines, method="kneser_ney", order=5)
    assert np.abs(shorter.score(ids, shorter.start(1))[0] - nats[0]).max() > 1e-3
