"""How often the leaderboard's 95 % intervals hold the truth and its tests find what is not there.

Two models on texts whose true difference is known: documents of log-normal length with skewed
differences, and one text whose neighbouring lines go together. Beside the studentised interval
stands the percentile interval of the same draws; beside blocks of lines, single lines. The
permutation test meets two models that are equally good: alike, so that swapping them changes
nothing, and with a skewed difference of mean zero, which is not quite what it assumes.

    python -m benchmarks.intervals [--quick] [--json FILE]
"""

import math
import time
from itertools import pairwise

import numpy as np

from benchmarks.report import Row, main, timing
from textmill.scoring.permutation import Permutation, every_pair
from textmill.scoring.significance import Bootstrap, behind, cut

PLAN = Bootstrap(replicates=1_000)
FLIPS = Permutation(draws=1_000)
DOCUMENTS, LINES = 60, 1_500


def measure(quick: bool) -> list[Row]:
    trials = 100 if quick else 2_000
    ours, percentile = shares([documents(seed) for seed in range(trials)])
    blocks, lines = shares([neighbours(seed) for seed in range(trials // 4)])
    skewed = "60 skewed documents, covered"
    together = "1,500 lines, neighbours correlate by 0.5, covered"
    return [
        timing(f"{skewed}, studentised", 100 * ours, "%", at_least=91, quick=quick),
        timing(f"{skewed}, percentile", 100 * percentile, "%", quick=quick),
        Row("studentised covers no less than percentile", ours, "", percentile, ours >= percentile),
        timing(f"{together}, blocks", 100 * blocks, "%", at_least=92, quick=quick),
        timing(f"{together}, single lines", 100 * lines, "%", quick=quick),
        Row("blocks cover more than single lines", blocks, "", lines, blocks > lines),
        *tests(trials, quick),
    ]


def tests(trials: int, quick: bool) -> list[Row]:
    """How often p is below 0.05 for two equally good models, and what the test costs."""
    alike, skewed = shares([equal_documents(seed) for seed in range(trials)])
    blocks, lines = shares([equal_neighbours(seed) for seed in range(trials // 2)])
    together = "p < 0.05, equal models, 1,500 lines that correlate by 0.5"
    return [
        timing("p < 0.05, equal models, alike", 100 * alike, "%", at_most=6.5, quick=quick),
        timing("p < 0.05, equal models, difference skewed", 100 * skewed, "%", quick=quick),
        timing(f"{together}, blocks", 100 * blocks, "%", at_most=7.5, quick=quick),
        timing(f"{together}, single lines", 100 * lines, "%", quick=quick),
        Row("blocks are wrong less often than lines", blocks, "", lines, blocks < lines),
        timing("55 pairs of 11 models, 10,000 draws", cost(), "s", at_most=1, quick=quick),
    ]


def shares(found: list[tuple[bool, bool]]) -> tuple[float, float]:
    """How often each was true."""
    first, second = np.mean(found, axis=0).tolist()
    return first, second


def documents(seed: int) -> tuple[bool, bool]:
    """Whether the studentised and the percentile interval hold the true difference."""
    rng = np.random.default_rng(seed)
    sizes = rng.lognormal(6, 1, DOCUMENTS)
    more = sizes * rng.exponential(0.1, DOCUMENTS)
    scores = np.stack([sizes, sizes + more], axis=1)
    truth = 0.1 / math.log(2)
    pieces = cut(np.arange(DOCUMENTS), sizes, scores, PLAN)
    assert pieces is not None
    interval = behind(pieces, 0, PLAN)[1]
    drawn = rng.integers(0, DOCUMENTS, (PLAN.replicates, DOCUMENTS))
    ratios = more[drawn].sum(axis=1) / sizes[drawn].sum(axis=1) / math.log(2)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return bool(interval.low <= truth <= interval.high), bool(low <= truth <= high)


def correlated(seed: int, correlation: float = 0.5) -> np.ndarray:
    """Noise of mean zero, a number a line, neighbours going together."""
    noise = np.random.default_rng(seed).standard_normal(LINES)
    for before, now in pairwise(range(LINES)):
        noise[now] = correlation * noise[before] + math.sqrt(1 - correlation**2) * noise[now]
    return noise


def neighbours(seed: int) -> tuple[bool, bool]:
    """Whether intervals over blocks and over single lines hold a true difference of zero."""
    sizes = np.full(LINES, 100.0)
    scores = np.stack([sizes, sizes + correlated(seed)], axis=1)
    covered = []
    for doc_L in (np.zeros(LINES, dtype=np.int64), np.arange(LINES)):
        pieces = cut(doc_L, sizes, scores, PLAN)
        assert pieces is not None
        interval = behind(pieces, 0, PLAN)[1]
        covered.append(bool(interval.low <= 0 <= interval.high))
    return covered[0], covered[1]


def equal_documents(seed: int) -> tuple[bool, bool]:
    """Whether p is below 0.05 for equal models: alike, and with a skewed difference."""
    rng = np.random.default_rng(seed)
    sizes = rng.lognormal(6, 1, (DOCUMENTS, 1))
    alike = sizes * (1 + rng.exponential(0.1, (DOCUMENTS, 2)))
    lopsided = np.stack([np.full(DOCUMENTS, 0.1), rng.exponential(0.1, DOCUMENTS)], axis=1)
    found = [p_value(np.arange(DOCUMENTS), one) for one in (alike, sizes * (1 + lopsided))]
    return found[0] < 0.05, found[1] < 0.05


def equal_neighbours(seed: int) -> tuple[bool, bool]:
    """Whether p is below 0.05 for equal models: over blocks, and over single lines."""
    scores = 100 + np.stack([np.zeros(LINES), correlated(seed)], axis=1)
    blocks = p_value(np.zeros(LINES, dtype=np.int64), scores)
    return blocks < 0.05, p_value(np.arange(LINES), scores) < 0.05


def p_value(doc_L: np.ndarray, scores: np.ndarray) -> float:
    """Of the only pair."""
    found = every_pair(doc_L, scores, FLIPS)
    assert found is not None
    return found.pairs[0].p


def cost() -> float:
    """Seconds for a leaderboard like the default one."""
    scores = np.random.default_rng(0).gamma(2, 50, (834, 11))
    start = time.perf_counter()
    every_pair(np.zeros(834, dtype=np.int64), scores)
    return time.perf_counter() - start


if __name__ == "__main__":
    main(__doc__, measure)
