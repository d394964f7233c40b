"""The exponents of a log-linear mixture that fit a text best, by Newton's method.

    nats(l) = sum over tokens of  ln Z(h) - sum over k of l_k ln p_k(w|h)

This is convex in l: the gradient is what the mixture expects of ln p_k less what the text shows,
the second derivatives are covariances of ln p_k under the mixture. They need every distribution of
every model, so each round reads the text once; five to ten rounds are enough.

Shapes: K models, B streams, V ids.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from textmill.scoring.likelihood import STREAMS, streams_of
from textmill.scoring.mixed_models import (
    advance,
    distributions,
    log_sum,
    raised,
    start,
    vocabulary_of_mixed,
)
from textmill.scoring.protocol import LanguageModel
from textmill.shards.reader import Lines

LEAST = 1e-6
"""A weight of 0 would let in what its model calls impossible, all at once."""
TOLERANCE = 1e-7
"""Nats a token that a weight could still gain for each unit that it moves."""
MOST_ROUNDS = 50
LEAST_STEP = 1e-6
SUFFICIENT = 1e-4
"""Of the decrease that the gradient promises, what a step must reach (Armijo)."""


@dataclass(slots=True)
class Moments:
    """Nats of a text under some weights, their gradient (K,) and second derivatives (K, K)."""

    nats: float
    gradient: np.ndarray
    hessian: np.ndarray
    tokens: int = 0


def fit_log_linear(models: Sequence[LanguageModel], lines: Lines) -> np.ndarray:
    """(K,) weights, each at least 1e-6, that give the text of `lines` the fewest nats.

    Tokens that a model calls impossible are left out: no weights change that.
    UserError where the models have not one vocabulary, or one gives no probabilities.
    """
    vocabulary_of_mixed(models)
    weights = np.full(len(models), 1 / len(models))
    here = _moments(models, lines, weights)
    for _ in range(MOST_ROUNDS):
        free = (weights > LEAST) | (here.gradient < 0)
        if np.abs(here.gradient[free]).max(initial=0.0) <= TOLERANCE * here.tokens:
            break
        found = _better(models, lines, weights, here, _direction(here, free))
        if found is None:
            break
        weights, here = found
    return weights


def _direction(here: Moments, free: np.ndarray) -> np.ndarray:
    """Newton's step of the free weights; the ridge is for models that are alike."""
    step = np.zeros(len(free))
    curvature = here.hessian[np.ix_(free, free)]
    ridge = 1e-9 * (np.trace(curvature) + here.tokens) * np.eye(len(curvature))
    step[free] = np.linalg.solve(curvature + ridge, -here.gradient[free])
    return step


def _better(
    models: Sequence[LanguageModel],
    lines: Lines,
    weights: np.ndarray,
    here: Moments,
    step: np.ndarray,
) -> tuple[np.ndarray, Moments] | None:
    """The first of the step, its half, its quarter ... that lowers the nats, or None."""
    share = 1.0
    while share > LEAST_STEP:
        moved = np.maximum(weights + share * step, LEAST)
        there = _moments(models, lines, moved)
        if there.nats <= here.nats + SUFFICIENT * float(here.gradient @ (moved - weights)):
            return moved, there
        share /= 2
    return None


def _moments(models: Sequence[LanguageModel], lines: Lines, weights: np.ndarray) -> Moments:
    size = len(models)
    sums = Moments(0.0, np.zeros(size), np.zeros((size, size)))
    for log_p_KBV, ids_B in _steps(models, lines):
        _add(sums, log_p_KBV, ids_B, weights)
    return sums


def _add(sums: Moments, log_p_KBV: np.ndarray, ids_B: np.ndarray, weights: np.ndarray) -> None:
    own_KB = log_p_KBV[:, np.arange(len(ids_B)), ids_B]
    possible_B = np.all(np.isfinite(own_KB), axis=0)
    log_p_KBV, own_KB = log_p_KBV[:, possible_B], own_KB[:, possible_B]
    raised_BV = raised(log_p_KBV, weights)
    log_sums_B = log_sum(raised_BV)
    p_BV = np.exp(raised_BV - log_sums_B[:, None])
    log_p_KBV = np.where(p_BV > 0, log_p_KBV, 0.0)
    expected_KB = (log_p_KBV * p_BV).sum(axis=-1)
    around_KBV = log_p_KBV - expected_KB[:, :, None]
    sums.nats += float(log_sums_B.sum() - (weights @ own_KB).sum())
    sums.gradient += (expected_KB - own_KB).sum(axis=-1)
    sums.hessian += np.einsum("kbv,lbv->kl", around_KBV * p_BV, around_KBV)
    sums.tokens += own_KB.shape[1]


def _steps(
    models: Sequence[LanguageModel], lines: Lines
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each model's distributions before each token (K, B, V), and the tokens (B,)."""
    for starts, lengths in streams_of(lines.doc_offsets, STREAMS):
        states = start(models, len(starts))
        for step in range(int(lengths.max(initial=0))):
            going_on = int((lengths > step).sum())
            ids_B = lines.tokens[starts[:going_on] + step]
            yield distributions(models, states)[:, :going_on], ids_B
            states = advance(models, ids_B, states)
