"""How sure a difference in bits per byte is: a paired bootstrap over pieces of the test text.

Lines of one speech go up and down together, so a line is no independent observation. What is
drawn again and again is the document where there are at least 50; a text of fewer documents is
cut into overlapping blocks of consecutive lines, as long as 50 of them still fit into the text,
so that a block holds as much of the dependence as it can. The last blocks wrap around to the
first lines (Politis and Romano 1992): every line is then drawn equally often, and the bootstrap
is centred on what was measured.

Both models are summed over the same drawn pieces, so whatever makes a piece hard for both
cancels. The statistic is a ratio of sums, nats over bytes, because that is how bits per byte is
defined; a mean of ratios would be another number.

The interval is the studentised one (bootstrap-t; Davison and Hinkley 1997, section 5.2.1):
each replicate is measured in its own standard errors, which corrects for skewness and for the
small number of pieces at once. Simulated on 60 documents of log-normal length whose differences
are exponential, 2,000 times, an interval meant to cover 95 % covers: percentile 91.1 %, BCa
91.0 %, studentised 93.3 % (91.9 % in another 2,000); on heavier tails 88.6, 89.5 and 92.1 %. On
one text of 1,500 lines whose neighbours correlate by 0.5, blocks cover 95 % and single lines would
cover 76 %; at a correlation of 0.9 they cover 90 % against 33 %.

The interval speaks of the test text: what if other documents of this kind had been the test?
It says nothing of the training seed.

Shapes: L lines, P pieces to draw from, M models, R replicates. Cost: R x (pieces drawn) x M
additions; 10,000 replicates of 50 blocks for 12 models take 0.2 s. The sums are plain
numpy additions in a fixed order, not a matrix product, so that no thread count changes a bit.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textmill.base.errors import UserError

Floats = NDArray[np.float64]
Integers = NDArray[np.integer]

NUMBERS_AT_ONCE = 4_000_000
"""Numbers gathered in one go: 32 MB of float64."""

FAR = 1e6
"""Standard errors that count as infinitely many."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How the intervals are made; the same plan on the same text gives the same numbers."""

    replicates: int = 10_000
    confidence: float = 0.95
    seed: int = 1
    least_pieces: int = 50


@dataclass(frozen=True, slots=True)
class Pieces:
    """What is drawn with replacement: documents, or blocks of consecutive lines."""

    unit: str
    """"document" or "block"."""
    drawn: int
    """Pieces in one replicate: as many as make up a text of the measured length."""
    lines: int | None
    """Lines in a block; None for documents."""
    nats_PM: Floats
    bytes_P: Floats


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference in bits per byte and the interval around it."""

    difference: float
    low: float
    high: float


def cut(
    doc_L: Integers, bytes_L: Integers, nats_LM: Floats, plan: Bootstrap | None = None
) -> Pieces | None:
    """Cut a scored text into the pieces to draw from; None where it has too few lines.

    `doc_L` is the document of each line and does not fall, `nats_LM` the nats of each line
    under each model.
    """
    plan = plan or Bootstrap()
    lines = len(doc_L)
    if not len(bytes_L) == len(nats_LM) == lines:
        raise ValueError(f"{lines} lines, {len(bytes_L)} byte counts, {len(nats_LM)} scores")
    starts = first_lines(doc_L)
    if len(starts) >= plan.least_pieces:
        return Pieces(
            unit="document",
            drawn=len(starts),
            lines=None,
            nats_PM=np.add.reduceat(nats_LM, starts, axis=0),
            bytes_P=np.add.reduceat(bytes_L.astype(np.float64), starts),
        )
    if lines < plan.least_pieces:
        return None
    length = lines // plan.least_pieces
    return Pieces(
        unit="block",
        drawn=math.ceil(lines / length),
        lines=length,
        nats_PM=_sums_of_runs(nats_LM, length),
        bytes_P=_sums_of_runs(bytes_L.astype(np.float64)[:, None], length)[:, 0],
    )


def first_lines(doc_L: Integers) -> NDArray[np.int64]:
    """The first line of each document."""
    return np.flatnonzero(np.diff(doc_L, prepend=doc_L[:1] - 1))


def _sums_of_runs(values_LM: Floats, length: int) -> Floats:
    """Sum of `length` consecutive rows from every row on, around the end to the start."""
    around = np.concatenate([np.zeros_like(values_LM[:1]), values_LM, values_LM[: length - 1]])
    up_to: Floats = np.cumsum(around, axis=0)
    return up_to[length:] - up_to[:-length]


def behind(pieces: Pieces, reference: int, plan: Bootstrap | None = None) -> list[Interval]:
    """How many more bits per byte each model needs than model `reference`, with intervals.

    Every model is compared on the same draws. A model that gives every piece the same nats as
    the reference is behind it by exactly zero, with an interval of no width. Swapping model and
    reference negates the difference and both ends.
    """
    plan = plan or Bootstrap()
    if not np.isfinite(pieces.nats_PM).all():
        raise UserError("an interval needs finite scores", where="significance")
    more_PM = (pieces.nats_PM - pieces.nats_PM[:, [reference]]) / math.log(2)
    measured_M = more_PM.sum(axis=0) / pieces.bytes_P.sum()
    error_M = _standard_errors(more_PM, pieces, measured_M)
    chunks = list(_replicates(more_PM, pieces, plan))
    replicates_RM = np.concatenate([ratios for ratios, _ in chunks])
    errors_RM = np.concatenate([errors for _, errors in chunks])
    return [
        _studentised(
            replicates_RM[:, model],
            errors_RM[:, model],
            float(measured_M[model]),
            float(error_M[model]),
            plan.confidence,
        )
        for model in range(more_PM.shape[1])
    ]


def _standard_errors(more_PM: Floats, pieces: Pieces, measured_M: Floats) -> Floats:
    """Delta-method standard error of the ratio of sums over as many pieces as are drawn."""
    pulls_PM = more_PM - measured_M * pieces.bytes_P[:, None]
    variance_M = np.mean(pulls_PM**2, axis=0) / pieces.drawn
    return np.asarray(np.sqrt(variance_M) / pieces.bytes_P.mean())


def _replicates(
    more_PM: Floats, pieces: Pieces, plan: Bootstrap
) -> Iterator[tuple[Floats, Floats]]:
    """Ratios of sums over drawn pieces and their standard errors, in chunks of replicates."""
    generator = np.random.default_rng(plan.seed)
    columns = np.concatenate([more_PM, pieces.bytes_P[:, None]], axis=1)
    at_once = max(1, NUMBERS_AT_ONCE // (pieces.drawn * columns.shape[1]))
    for start in range(0, plan.replicates, at_once):
        rows = min(at_once, plan.replicates - start)
        drawn = columns[generator.integers(len(columns), size=(rows, pieces.drawn))]
        sums = drawn.sum(axis=1)
        ratios = sums[:, :-1] / sums[:, -1:]
        pulls = drawn[:, :, :-1] - ratios[:, None, :] * drawn[:, :, -1:]
        yield ratios, np.sqrt((pulls**2).sum(axis=1)) / sums[:, -1:]


def _studentised(
    ratios_R: Floats, errors_R: Floats, measured: float, error: float, confidence: float
) -> Interval:
    """Bootstrap-t interval, never further out than the replicates themselves reach.

    The bound matters only where a few pieces hold the whole difference: replicates without
    them have no spread, and their distance in standard errors is infinite.
    """
    if error == 0.0:
        return Interval(measured, measured, measured)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances_R = np.nan_to_num((ratios_R - measured) / errors_R, nan=0.0)
    distances_R = np.clip(distances_R, -FAR, FAR)
    tail = (1 - confidence) / 2
    near, far = np.quantile(distances_R, [tail, 1 - tail])
    least, most = ratios_R.min(), ratios_R.max()
    low = max(measured - far * error, min(least, measured))
    high = min(measured - near * error, max(most, measured))
    return Interval(measured, float(low), float(high))
