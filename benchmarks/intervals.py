"""How often the leaderboard's 95 % intervals hold the truth, simulated.

Two models on texts whose true difference is known: documents of log-normal length with skewed
differences, and one text whose neighbouring lines go together. Beside the studentised interval
stands the percentile interval of the same draws; beside blocks of lines, single lines.

    python -m benchmarks.intervals [--quick] [--json FILE]
"""

import math
from itertools import pairwise

import numpy as np

from benchmarks.report import Row, main, timing
from textmill.scoring.significance import Bootstrap, behind, cut

PLAN = Bootstrap(replicates=1_000)
DOCUMENTS, LINES = 60, 1_500


def measure(quick: bool) -> list[Row]:
    trials = 100 if quick else 2_000
    ours, percentile = shares([documents(seed) for seed in range(trials)])
    blocks, lines = shares([neighbours(seed) for seed in range(trials // 4)])
    skewed = "60 skewed documents, covered"
    together = "1,500 lines, neighbours correlate by 0.5, covered"
    return [
        timing(f"{skewed}, studentised", 100 * ours, "%", at_least=92, quick=quick),
        timing(f"{skewed}, percentile", 100 * percentile, "%", quick=quick),
        Row("studentised covers no less than percentile", ours, "", percentile, ours >= percentile),
        timing(f"{together}, blocks", 100 * blocks, "%", at_least=92, quick=quick),
        timing(f"{together}, single lines", 100 * lines, "%", quick=quick),
        Row("blocks cover more than single lines", blocks, "", lines, blocks > lines),
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


def neighbours(seed: int, correlation: float = 0.5) -> tuple[bool, bool]:
    """Whether intervals over blocks and over single lines hold a true difference of zero."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(LINES)
    for before, now in pairwise(range(LINES)):
        noise[now] = correlation * noise[before] + math.sqrt(1 - correlation**2) * noise[now]
    sizes = np.full(LINES, 100.0)
    scores = np.stack([sizes, sizes + noise], axis=1)
    covered = []
    for doc_L in (np.zeros(LINES, dtype=np.int64), np.arange(LINES)):
        pieces = cut(doc_L, sizes, scores, PLAN)
        assert pieces is not None
        interval = behind(pieces, 0, PLAN)[1]
        covered.append(bool(interval.low <= 0 <= interval.high))
    return covered[0], covered[1]


if __name__ == "__main__":
    main(__doc__, measure)
