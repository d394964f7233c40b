"""Which of two models is better beyond chance: a paired permutation test for every two models.

If two models were equally good at texts of this kind, which of them needs more bits on a piece
of the test text would be a coin's toss. So the labels of both are swapped on each piece with a
coin, 10,000 times, and p is how often the difference then is at least as large, in either
direction, as the one that was measured, that one counted among the draws (Davison and Hinkley
1997, section 4.3): p is never zero, and never smaller than the draws can tell. Both models pay
for the same bytes, so a swap is a sign before the difference of a piece, and the difference in
bits per byte is a sum of signed pieces over a constant.

Pieces are documents where there are at least 50, else disjoint blocks of consecutive lines. The
overlapping blocks of the bootstrap would share lines, and a line has one label. Blocks are as
long as the bootstrap's (see `significance`), some one line longer where lines are left over.

Eleven models make 55 pairs, and one in twenty of 55 tests finds something where there is nothing.
Holm's adjustment (1979) holds the chance of even one such error among all pairs at the level of
one test, whatever the pairs have to do with each other.

Simulated with two equally good models, p is below 0.05 in 4.6 % of 2,000 texts of 60 documents
of log-normal length; in 7.4 % where the difference has mean zero but is skewed like an
exponential, since a coin makes it symmetric. On one text of 1,500 lines whose neighbours correlate
by 0.5 it is 5.1 % over blocks, and would be 23 % over single lines (`benchmarks/intervals.py`).

Shapes: L lines, P pieces, M models, R draws, K pairs. Cost: R x P x M additions, one piece after
the other: a fixed order, which no thread count changes, and no more than R x M numbers at once.
55 pairs over 52 blocks take 0.02 s.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from textmill.base.errors import UserError
from textmill.scoring.significance import Floats, Integers, first_lines

DRAWS_A_PAIR = 100
"""Draws at least for each pair: Holm multiplies by the pairs, and p is 1 / (R + 1) at the least."""

MOST_MODELS = 30
"""Columns that are tested; of more, the first: pairs, and draws for them, grow as its square."""

ROUNDING = 1e-12
"""Share of the sums below which two of them are equal; they were added up with less error."""


@dataclass(frozen=True, slots=True)
class Permutation:
    """How the tests are made; the same plan on the same text gives the same p-values."""

    draws: int = 10_000
    seed: int = 1
    least_pieces: int = 50


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models, by column: is one better beyond chance?"""

    first: int
    second: int
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Every two models, and over what they were tested."""

    pieces: int
    draws: int
    pairs: tuple[Comparison, ...]


def every_pair(
    doc_L: Integers, nats_LM: Floats, plan: Permutation | None = None
) -> Comparisons | None:
    """Test every two of the first `MOST_MODELS` columns; None where the text has too few lines.

    `doc_L` is the document of each line and does not fall. Pairs come in the order (0, 1), (0, 2),
    ..., (1, 2), ...; which of the two comes first does not matter to p.
    """
    plan = plan or Permutation()
    if not np.isfinite(nats_LM).all():
        raise UserError("a permutation test needs finite scores", where="permutation")
    starts = disjoint(doc_L, plan.least_pieces)
    if starts is None:
        return None
    nats_PM = np.add.reduceat(nats_LM[:, :MOST_MODELS], starts, axis=0)
    pairs = list(combinations(range(nats_PM.shape[1]), 2))
    draws = max(plan.draws, DRAWS_A_PAIR * len(pairs))
    signed_RM = _signed_sums(nats_PM, draws, plan.seed)
    p_K = [_p_value(nats_PM[:, pair], signed_RM[:, pair]) for pair in pairs]
    adjusted_K = holm(np.array(p_K)).tolist()
    found = [Comparison(*pair, *both) for pair, *both in zip(pairs, p_K, adjusted_K, strict=True)]
    return Comparisons(pieces=len(starts), draws=draws, pairs=tuple(found))


def disjoint(doc_L: Integers, least_pieces: int) -> NDArray[np.int64] | None:
    """The first line of each piece: of each document, or of blocks that share no line."""
    starts = first_lines(doc_L)
    if len(starts) >= least_pieces:
        return starts
    lines = len(doc_L)
    if lines < least_pieces:
        return None
    blocks = lines // (lines // least_pieces)
    return np.arange(blocks) * lines // blocks


def holm(p_K: Floats) -> Floats:
    """Adjusted p-values: the k-th smallest of K times K - k + 1, never falling, at most 1."""
    order = np.argsort(p_K, kind="stable")
    steps = (len(p_K) - np.arange(len(p_K))) * p_K[order]
    adjusted_K = np.empty_like(p_K)
    adjusted_K[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted_K


def _signed_sums(nats_PM: Floats, draws: int, seed: int) -> Floats:
    """Sums over the pieces, each with a random sign; the same signs for every model."""
    generator = np.random.default_rng(seed)
    signed_RM = np.zeros((draws, nats_PM.shape[1]))
    for nats_M in nats_PM:
        heads_R = generator.integers(0, 2, size=draws, dtype=np.int8).astype(bool)
        signed_RM += np.where(heads_R[:, None], nats_M, -nats_M)
    return signed_RM


def _p_value(nats_P2: Floats, signed_R2: Floats) -> float:
    """How often the signed difference is as far from zero as the measured one, itself counted."""
    first, second = nats_P2.sum(axis=0)
    measured = abs(second - first) - ROUNDING * (abs(first) + abs(second))
    count = np.count_nonzero(np.abs(signed_R2[:, 1] - signed_R2[:, 0]) >= measured)
    return (1 + int(count)) / (1 + len(signed_R2))
