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

LARGEST = 20_000
"""Ids from which on a dense matrix would take more than 3 GB."""


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
    size = len(transitions_VV)
    equations = np.vstack([transitions_VV.T - np.eye(size), np.ones(size)])
    answer, _, rank, _ = np.linalg.lstsq(equations, np.append(np.zeros(size), 1.0), rcond=None)
    if rank < size:
        raise UserError(
            "the chain falls into parts that never meet, so it has no one stationary distribution",
            next_step="choose a smoothed method, which lets every word follow every other",
        )
    pi: np.ndarray = np.maximum(answer, 0.0)
    return pi / pi.sum()


def place_of(id: int) -> int:
    """The place of an id among the states: ids behind `<s>` move up by one."""
    return id - (id > BEGIN)


def _check(model: NgramModel) -> NgramModel:
    if model.order != 2 or not model.gives_probabilities:
        raise UserError(
            f"{model.config.describe()} is no bigram of probabilities",
            next_step="choose order: 2",
        )
    if model.size > LARGEST:
        raise UserError(
            f"a matrix over {model.size:,} ids would not fit into memory",
            next_step=f"choose a vocabulary of at most {LARGEST:,}",
        )
    return model


def _without_begin(p: np.ndarray) -> np.ndarray:
    return np.delete(p, BEGIN, axis=1)
