"""A bigram model as a Markov chain, for people who learn: matrices of a small vocabulary.

The states are words. A line begins with the initial distribution, goes on by the transition
matrix and ends in `</s>`, after which the next line begins: so the chain never stops, and has a
stationary distribution. All matrices are dense, V x V.

Names: V ids without `<s>`, in the order of the vocabulary (id 0, then 2 and up).
"""

import numpy as np

from textmill.base.errors import UserError
from textmill.ngram.model import NgramModel
from textmill.tokenizers.vocabulary import BEGIN, END

LARGEST = 8_000
"""Ids of which the matrices still take half a GB each, and what is done with them half a minute."""


def initial_distribution(model: NgramModel) -> np.ndarray:
    """(V,) p(first word of a line) = p(w | <s>)."""
    return _without_begin(np.exp(model.distribution(_check(model).start(1))))[0]


def transition_matrix(model: NgramModel) -> np.ndarray:
    """(V, V) p(column | row); after `</s>` stands what begins a line."""
    ids = np.delete(np.arange(_check(model).size), BEGIN)
    return _without_begin(np.exp(model.distribution(ids[:, None])))


def two_step_matrix(transitions_VV: np.ndarray) -> np.ndarray:
    """(V, V) p(word after next | word): the sum over the word between, Chapman and Kolmogorov."""
    return transitions_VV @ transitions_VV


def line_probability(words: np.ndarray, initial_V: np.ndarray, transitions_VV: np.ndarray) -> float:
    """P of a line: the initial term times every transition, the one to `</s>` included.

    words: places in the order of the vocabulary without `<s>`, as `place_of` gives them.
    """
    path = [*words.tolist(), place_of(END)]
    steps = transitions_VV[path[:-1], path[1:]]
    return float(initial_V[path[0]] * steps.prod())


def stationary_distribution(transitions_VV: np.ndarray) -> np.ndarray:
    """(V,) pi with pi P = pi and sum 1: how often each word comes in the long run.

    UserError where there is more than one.
    """
    if not _has_a_common_goal(transitions_VV > 0):
        raise UserError(
            "the chain falls into parts that never meet, so it has no one stationary distribution",
            next_step="choose a smoothed method, which lets every word follow every other",
        )
    # One of the equations follows from the others, and that the sum is 1 takes its place.
    equations = transitions_VV.T - np.eye(len(transitions_VV))
    equations[-1] = 1.0
    answer = np.linalg.solve(equations, np.append(np.zeros(len(equations) - 1), 1.0))
    pi: np.ndarray = np.maximum(answer, 0.0)
    return pi / pi.sum()


def _has_a_common_goal(follows_VV: np.ndarray) -> bool:
    """Whether some state is reached from every state: then there is one long run.

    Each sweep begins at a state not seen yet and sees all from which it is reached. If there is
    such a state at all, the last sweep began at one: it saw that state, or nothing was left to it.
    """
    seen, goal = np.zeros(len(follows_VV), dtype=bool), 0
    while not seen.all():
        goal = int(np.argmin(seen))
        seen = _reaching(goal, follows_VV, seen)
    return bool(_reaching(goal, follows_VV, np.zeros(len(follows_VV), dtype=bool)).all())


def _reaching(goal: int, follows_VV: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Bool (V), those seen and all from which the goal is reached, past the seen at most."""
    new = np.arange(len(seen)) == goal
    seen = seen | new
    while new.any():
        new = follows_VV[:, new].any(axis=1) & ~seen
        seen = seen | new
    return seen


def place_of(id: int) -> int:
    """The place of an id among the states: ids behind `<s>` move up by one."""
    return id - (id > BEGIN)


def _check(model: NgramModel) -> NgramModel:
    if model.order != 2 or not model.gives_probabilities:
        raise UserError(
            f"{model.describe()} is no bigram of probabilities",
            next_step="choose order: 2",
        )
    if model.size > LARGEST:
        raise UserError(
            f"matrices over {model.size:,} ids take too much memory and time",
            next_step=f"choose a vocabulary of at most {LARGEST:,} ids",
        )
    return model


def _without_begin(p: np.ndarray) -> np.ndarray:
    return np.delete(p, BEGIN, axis=1)
