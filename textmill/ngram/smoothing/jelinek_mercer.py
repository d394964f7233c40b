"""Linear interpolation of the orders (Jelinek and Mercer 1980), one weight an order.

    p(w|h) = lambda_n c(hw) / c(h)  +  (1 - lambda_n) p(w|h')

lambda_n are fitted by expectation maximisation on text that the counts do not hold (validation):
the likelihood is concave in the weights of each order given the others, and every round raises
it. After a history that training never showed the order below stands alone. p(w|h') of the lowest
order is what the model shares among the unigrams; tokens that it calls impossible have no say.
"""

from collections.abc import Iterator

import numpy as np

from textmill.ngram.count import OrderCounts
from textmill.ngram.scratch import Scratch
from textmill.ngram.smoothing.interpolation import (
    Shares,
    Unigrams,
    cutoff,
    events,
    interpolated,
    receivers,
    sums_after,
)
from textmill.ngram.smoothing.kneser_ney import all_suffixes
from textmill.ngram.smoothing.witten_bell import raw_counts
from textmill.ngram.tables import OrderTable

TOLERANCE = 1e-7
MOST_ROUNDS = 200
LEAST, MOST = 1e-6, 1 - 1e-6
"""A weight of 1 would give probability zero to what training has not shown, one of 0 nothing."""


def jelinek_mercer(
    counts: list[OrderCounts],
    weights: np.ndarray,
    unigrams: Unigrams,
    cutoffs: tuple[int, ...] = (),
    scratch: Scratch | None = None,
) -> Iterator[OrderTable]:
    """Tables of orders 1 to N; weights: lambda_1 to lambda_N."""

    def shares(n: int) -> Shares:
        return Shares(raw_counts(counts[n - 1]), kept=float(weights[n - 1]))

    return interpolated(counts, all_suffixes(counts, scratch), shares, unigrams, cutoffs, scratch)


def fit_weights(
    counts: list[OrderCounts],
    unigrams: Unigrams,
    rows_NT: np.ndarray,
    contexts_NT: np.ndarray,
    cutoffs: tuple[int, ...] = (),
) -> np.ndarray:
    """lambda_1 to lambda_N by EM from 1/2.

    rows_NT: of each order the row of the n-gram that ends at each held-out token, -1 where there
    is none; contexts_NT: the row of its context in the order below, -1 likewise. What count
    cut-offs leave out of an order's share goes to the order below, as in the model.
    """
    occurrences = raw_counts(counts[0])
    is_event = events(counts[0].counts, unigrams.event_space)
    receives = receivers(is_event, occurrences, unigrams)
    possible = (receives | (occurrences > 0))[rows_NT[0]]
    rows_NT, contexts_NT = rows_NT[:, possible], contexts_NT[:, possible]
    floors_T = (receives / receives.sum())[rows_NT[0]]
    frequencies = _relative_frequencies(counts, rows_NT, contexts_NT, cutoffs)
    weights = np.full(len(counts), 0.5)
    for _ in range(MOST_ROUNDS):
        updated = _update(weights, *frequencies, floors_T)
        done = np.abs(updated - weights).max() < TOLERANCE
        weights = updated
        if done:
            break
    return weights


def _relative_frequencies(
    counts: list[OrderCounts],
    rows_NT: np.ndarray,
    contexts_NT: np.ndarray,
    cutoffs: tuple[int, ...],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """c(hw) / c(h) of each order, float64, zero for a hw that is cut off; what of c(h) is cut off,
    as a share; and whether anything was seen after h.
    """
    estimates_NT, cut_NT = np.zeros(rows_NT.shape), np.zeros(rows_NT.shape)
    known_NT = np.zeros(rows_NT.shape, dtype=bool)
    for n, (table, rows, contexts) in enumerate(zip(counts, rows_NT, contexts_NT, strict=True)):
        occurrences = raw_counts(table).astype(np.float64)
        totals = sums_after(table.starts, occurrences)
        known_NT[n] = (contexts >= 0) & (totals[np.maximum(contexts, 0)] > 0)
        is_cut = table.counts <= cutoff(cutoffs, n + 1)
        hit = known_NT[n] & (rows >= 0)
        estimates_NT[n, hit] = (occurrences * ~is_cut)[rows[hit]] / totals[contexts[hit]]
        known = contexts[known_NT[n]]
        cut_NT[n, known_NT[n]] = (
            sums_after(table.starts, occurrences * is_cut)[known] / totals[known]
        )
    return estimates_NT, cut_NT, known_NT


def _update(
    weights: np.ndarray,
    estimates_NT: np.ndarray,
    cut_NT: np.ndarray,
    known_NT: np.ndarray,
    floors_T: np.ndarray,
) -> np.ndarray:
    """One round of EM: how often each order was responsible, of the times that it was reached.

    An order is responsible for what it leaves to the one below in place of what is cut off, too.
    floors_T: what the model gives each token where no order has seen it.
    """
    weights_NT = np.where(known_NT, weights[:, None], 0.0)
    p_NT = np.empty(estimates_NT.shape)  # of each order, all below it included
    own_NT = np.empty(estimates_NT.shape)
    below = floors_T
    for n in range(len(weights)):
        own_NT[n] = estimates_NT[n] + cut_NT[n] * below
        below = weights_NT[n] * own_NT[n] + (1 - weights_NT[n]) * below
        p_NT[n] = below
    updated = weights.copy()
    reached = np.ones(estimates_NT.shape[1])
    for n in reversed(range(len(weights))):
        with np.errstate(invalid="ignore", divide="ignore"):
            mine, here = (
                np.where(p_NT[n] > 0, weights_NT[n] * part / p_NT[n], 0.0)
                for part in (own_NT[n], estimates_NT[n])
            )
        asked = float((reached * known_NT[n]).sum())
        if asked > 0:
            updated[n] = np.clip(float((reached * mine).sum()) / asked, LEAST, MOST)
        reached = reached * (1 - here)
    return updated
