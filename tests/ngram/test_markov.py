"""The bigram as a Markov chain: by hand, against the model's scores, and in the long run."""

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.ngram.markov import (
    initial_distribution,
    line_probability,
    place_of,
    stationary_distribution,
    transition_matrix,
    two_step_matrix,
)
from textmill.tokenizers.vocabulary import END

LINES = ["a b a b a b c", "d", "a c"]


@pytest.fixture(scope="module")
def bigram(train):
    return train(LINES, method="additive", order=2, k=0.5)


def test_by_hand(train):
    model = train(["a b a", "b a"], method="maximum_likelihood", order=2)
    # States: <unk>, </s>, a, b. After a: </s> twice, b once; after b: a twice.
    unknown, end, a, b = 0, 1, 2, 3
    P = transition_matrix(model)
    np.testing.assert_allclose(P[a], [0, 2 / 3, 0, 1 / 3], rtol=1e-14)
    np.testing.assert_allclose(P[b], [0, 0, 1, 0], rtol=1e-14)
    np.testing.assert_allclose(P[end], initial_distribution(model), rtol=1e-14)
    np.testing.assert_allclose(P[unknown], 1 / 4, rtol=1e-14)
    # Two steps from a: over </s> to a or b by half, over b to a.
    np.testing.assert_allclose(two_step_matrix(P)[a], [0, 0, 2 / 6 + 1 / 3, 2 / 6], rtol=1e-14)
    assert line_probability(np.array([b, a]), P[end], P) == pytest.approx(1 / 2 * 2 / 3, rel=1e-14)


def test_rows_and_two_steps_sum_to_one(bigram):
    P = transition_matrix(bigram)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    middle = sum(np.outer(P[:, m], P[m]) for m in range(len(P)))
    np.testing.assert_allclose(two_step_matrix(P), middle, rtol=1e-12)


def test_a_line_costs_what_the_model_says(bigram):
    ids = np.array([[3, 4, 3, 5, END]])
    nats, _ = bigram.score(ids, bigram.start(1))
    words = np.array([place_of(word) for word in ids[0, :-1]])
    p = line_probability(words, initial_distribution(bigram), transition_matrix(bigram))
    assert p == pytest.approx(np.exp(-nats.sum()), rel=1e-12)


def test_the_long_run(bigram):
    P = transition_matrix(bigram)
    pi = stationary_distribution(P)
    np.testing.assert_allclose(pi @ P, pi, rtol=1e-10)
    walked = np.linalg.matrix_power(P, 200)
    np.testing.assert_allclose(walked, np.tile(pi, (len(P), 1)), rtol=1e-9)


def chain(size, seed):
    """A dense chain of random numbers."""
    P = np.random.default_rng(seed).random((size, size))
    return P / P.sum(axis=1, keepdims=True)


def apart(*parts):
    """Chains side by side that never meet."""
    size = sum(map(len, parts))
    whole, at = np.zeros((size, size)), 0
    for part in parts:
        whole[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    return whole


@pytest.mark.parametrize("P", [np.eye(3), apart(chain(4, 0), chain(3, 1))], ids=["fixed", "parts"])
def test_two_parts_that_never_meet_have_no_one_long_run(P):
    with pytest.raises(UserError, match="falls into parts"):
        stationary_distribution(P)


def test_one_long_run_from_wherever_it_begins():
    """States that are left for ever have no part in it, and a chain may go round in a circle."""
    circle = np.roll(np.eye(4), 1, axis=1)
    np.testing.assert_allclose(stationary_distribution(circle), 1 / 4, rtol=1e-12)
    P = apart(chain(3, 2), chain(4, 3))
    P[:3] *= 0.5
    P[:3, 3] += 0.5  # from the first part to the second, and not back
    expected = np.append(np.zeros(3), stationary_distribution(chain(4, 3)))
    for order in (np.arange(7), np.arange(7)[::-1], np.random.default_rng(5).permutation(7)):
        found = stationary_distribution(P[np.ix_(order, order)])
        np.testing.assert_allclose(found, expected[order], atol=1e-12)
    P[3:] *= 0.5
    P[3:, 6] += 0.5
    values, vectors = np.linalg.eig(P.T)
    own = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    np.testing.assert_allclose(stationary_distribution(P), own / own.sum(), atol=1e-12)


def test_a_vocabulary_that_is_too_large_is_refused(train):
    model = train([" ".join(map(str, range(8_000)))], method="additive", order=2)
    with pytest.raises(UserError, match="matrices over 8,003 ids take too much memory and time"):
        initial_distribution(model)


def test_other_models_are_refused(train):
    with pytest.raises(UserError, match=r"add-0\.5, order 3 is no bigram"):
        transition_matrix(train(LINES, method="additive", order=3, k=0.5))
    with pytest.raises(UserError, match="stupid backoff, order 2 is no bigram"):
        transition_matrix(train(LINES, method="stupid_backoff", order=2))
