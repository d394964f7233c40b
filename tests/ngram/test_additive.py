from collections import Counter

import numpy as np
import pytest

from textmill.tokenizers.vocabulary import END

LINES = ["a b a b a b c", "d"]
V = 6  # a b c d </s> <unk>


@pytest.fixture(scope="module")
def bigram(train):
    return train(LINES, method="additive", order=2, k=0.5)


@pytest.mark.parametrize(
    ("word", "history", "expected"),
    [
        ("b", "a", (3 + 0.5) / (3 + 0.5 * V)),
        ("a", "a b", (2 + 0.5) / (3 + 0.5 * V)),
        ("c", "a b", (1 + 0.5) / (3 + 0.5 * V)),
        ("d", "a b", 0.5 / (3 + 0.5 * V)),
        ("never", "a b", 0.5 / (3 + 0.5 * V)),
        ("a", "", (1 + 0.5) / (2 + 0.5 * V)),
        ("d", "a b c </s>", (1 + 0.5) / (2 + 0.5 * V)),
        ("</s>", "d", (1 + 0.5) / (1 + 0.5 * V)),
        ("a", "never", 1 / V),
    ],
)
def test_bigram_closed_forms(bigram, probability, word, history, expected):
    assert probability(bigram, word, history) == pytest.approx(expected, rel=1e-13)


def test_unigram_closed_form(train, probability):
    unigram = train(LINES, method="additive", order=1, k=2.0)
    # 10 predicted tokens: 3 a, 3 b, 1 c, 1 d, 2 </s>.
    assert probability(unigram, "a") == pytest.approx((3 + 2) / (10 + 2 * V), rel=1e-13)
    assert probability(unigram, "</s>") == pytest.approx((2 + 2) / (10 + 2 * V), rel=1e-13)
    assert probability(unigram, "never") == pytest.approx(2 / (10 + 2 * V), rel=1e-13)
    assert unigram.ngrams == (5,)


def test_k_near_zero_is_maximum_likelihood(train, probability):
    model = train(LINES, method="additive", order=2, k=1e-12)
    assert probability(model, "a", "a b") == pytest.approx(2 / 3, rel=1e-9)


def test_in_a_trigram_a_history_cut_by_the_line_start_is_whole(train, probability):
    model = train(LINES, method="additive", order=3, k=0.5)
    assert probability(model, "a", "") == pytest.approx(1.5 / (2 + 0.5 * V), rel=1e-13)
    assert probability(model, "b", "a") == pytest.approx(1.5 / (1 + 0.5 * V), rel=1e-13)
    assert probability(model, "b", "a b a") == pytest.approx(2.5 / (2 + 0.5 * V), rel=1e-13)
    # "c a" was never seen, so its continuations are uniform although "a" alone was.
    assert probability(model, "b", "a b c a") == pytest.approx(1 / V, rel=1e-13)


@pytest.mark.parametrize("method", ["additive", "maximum_likelihood"])
@pytest.mark.parametrize("sentence_boundaries", [True, False])
def test_orders_beyond_the_longest_line_by_the_formula(train, method, sentence_boundaries):
    """A history is whole back to `<s>`: the longest, and those longer than any line, were not seen."""
    options = {"method": method, "sentence_boundaries": sentence_boundaries}
    if method == "additive":
        options["k"] = 0.5
    lines = ["a b a b a b c", "d", "a b c", "a b a"]
    model = train(lines, order=10**20, **options)
    by_id = {word: model.vocabulary[word] for word in "abcd"}
    documents = [[by_id[word] for word in line.split()] + [END] for line in lines]
    if not sentence_boundaries:
        documents = [[one for line in documents for one in line]]
    seen, after = Counter(), Counter()
    for document in documents:
        for at, word in enumerate(document):
            seen[(*document[:at], word)] += 1
            after[tuple(document[:at])] += 1
    random = np.random.default_rng(4).choice([0, END, *by_id.values()], 30)
    stream = [one for document in documents for one in document] + random.tolist()
    nats, _ = model.score(np.array([stream]), model.start(1))
    history = ()
    k = options.get("k", 0)
    for word, p in zip(stream, np.exp(-nats[0]), strict=True):
        total = after[history] + k * V
        expected = (seen[(*history, word)] + k) / total if after[history] else 1 / V
        assert p == pytest.approx(expected, rel=1e-12)
        history = () if word == END and sentence_boundaries else (*history, word)


def test_uniform_perplexity_is_the_number_of_events(train, encode):
    model = train(LINES, method="uniform")
    tokens, _, vocabulary = encode(["b c d a b nothing", ""], model.vocabulary)
    nats, _ = model.score(tokens[None, :], model.start(1))
    assert len(vocabulary) - 1 == V
    assert np.exp(nats.mean()) == pytest.approx(V, rel=1e-14)
    assert model.ngrams == (0,)
