"""Paired bootstrap intervals: closed forms, exact invariances and simulated coverage."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.scoring.significance import Bootstrap, Interval, behind, cut

LN2 = math.log(2)


def line_scores(documents: int, lines: int, seed: int, models: int = 2) -> tuple[np.ndarray, ...]:
    """Documents of equally many lines; nats grow with the bytes, noise is shared in a document."""
    generator = np.random.default_rng(seed)
    doc_L = np.repeat(np.arange(documents), lines)
    bytes_L = generator.integers(20, 200, size=documents * lines)
    of_document = generator.gamma(2.0, 0.1, size=(documents, models))
    nats_LM = bytes_L[:, None] * (1.0 + of_document[doc_L])
    return doc_L, bytes_L, nats_LM


def intervals(doc_L, bytes_L, nats_LM, reference=0, plan=None) -> list[Interval]:
    pieces = cut(doc_L, bytes_L, nats_LM, plan)
    assert pieces is not None
    return behind(pieces, reference, plan)


def test_fifty_documents_are_the_pieces_and_forty_nine_are_cut_into_blocks():
    doc_L, bytes_L, nats_LM = line_scores(documents=50, lines=4, seed=1)
    pieces = cut(doc_L, bytes_L, nats_LM)
    assert (pieces.unit, pieces.drawn, pieces.lines) == ("document", 50, None)
    assert pieces.nats_PM[7] == pytest.approx(nats_LM[28:32].sum(axis=0))
    assert pieces.bytes_P[7] == bytes_L[28:32].sum()

    doc_L, bytes_L, nats_LM = line_scores(documents=49, lines=4, seed=1)
    pieces = cut(doc_L, bytes_L, nats_LM)
    assert (pieces.unit, pieces.drawn, pieces.lines) == ("block", math.ceil(196 / 3), 3)


def test_document_numbers_need_not_start_at_zero_or_be_without_gaps():
    doc_L, bytes_L, nats_LM = line_scores(documents=60, lines=3, seed=2)
    assert intervals(doc_L * 5 + 17, bytes_L, nats_LM) == intervals(doc_L, bytes_L, nats_LM)


def test_blocks_overlap_wrap_around_and_hold_every_line_equally_often():
    bytes_L = np.arange(1, 121)
    nats_LM = bytes_L[:, None] * 2.0
    pieces = cut(np.zeros(120, dtype=np.int32), bytes_L, nats_LM)
    assert pieces.lines == 2
    assert pieces.bytes_P[0] == 1 + 2
    assert pieces.bytes_P[1] == 2 + 3
    assert pieces.bytes_P[-1] == 120 + 1
    assert pieces.bytes_P.sum() == 2 * bytes_L.sum()
    assert pieces.nats_PM[:, 0] == pytest.approx(2 * pieces.bytes_P)


def test_fewer_lines_than_pieces_give_no_interval():
    assert cut(np.zeros(49, dtype=np.int32), np.ones(49, dtype=int), np.ones((49, 2))) is None


def test_difference_is_a_ratio_of_sums():
    doc_L, bytes_L, nats_LM = line_scores(documents=60, lines=5, seed=3)
    total_M = nats_LM.sum(axis=0)
    expected = (total_M[1] - total_M[0]) / (bytes_L.sum() * LN2)
    measured = intervals(doc_L, bytes_L, nats_LM)[1]
    assert measured.difference == pytest.approx(expected, rel=1e-12)
    assert measured.low < expected < measured.high


@pytest.mark.parametrize("documents", [60, 5])
def test_identical_models_differ_by_exactly_zero(documents):
    doc_L, bytes_L, nats_LM = line_scores(documents, lines=40, seed=4)
    twins_LM = np.repeat(nats_LM[:, :1], 3, axis=1)
    assert intervals(doc_L, bytes_L, twins_LM) == [Interval(0.0, 0.0, 0.0)] * 3


@pytest.mark.parametrize("documents", [60, 5])
def test_swapping_the_two_models_negates_the_interval(documents):
    scores = line_scores(documents, lines=30, seed=5)
    ahead = intervals(*scores, reference=0)[1]
    swapped = intervals(*scores, reference=1)[0]
    assert swapped.difference == -ahead.difference
    assert swapped.low == pytest.approx(-ahead.high, abs=1e-12)
    assert swapped.high == pytest.approx(-ahead.low, abs=1e-12)


def test_other_models_beside_change_nothing_of_a_pair():
    doc_L, bytes_L, nats_LM = line_scores(documents=60, lines=3, seed=6, models=4)
    together = intervals(doc_L, bytes_L, nats_LM)
    alone = intervals(doc_L, bytes_L, nats_LM[:, [0, 3]])
    assert together[3] == alone[1]


def test_equal_seed_equal_interval_and_another_seed_another():
    scores = line_scores(documents=60, lines=3, seed=7)
    assert intervals(*scores) == intervals(*scores)
    other = intervals(*scores, plan=Bootstrap(seed=2))
    assert other[1].difference == intervals(*scores)[1].difference
    assert other[1].low != intervals(*scores)[1].low


def test_chunks_of_replicates_do_not_change_the_interval(monkeypatch):
    scores = line_scores(documents=60, lines=3, seed=8)
    whole = intervals(*scores)
    monkeypatch.setattr("textmill.scoring.significance.NUMBERS_AT_ONCE", 60 * 3 * 7)
    assert intervals(*scores) == whole


def test_pairing_cancels_what_is_hard_for_both_models():
    doc_L, bytes_L, _ = line_scores(documents=60, lines=5, seed=9)
    generator = np.random.default_rng(9)
    hard_L = generator.gamma(1.0, 1.0, size=60)[doc_L]
    nats_LM = bytes_L[:, None] * (1.0 + hard_L[:, None] + [0.0, 0.01])
    measured = intervals(doc_L, bytes_L, nats_LM)[1]
    assert measured.difference == pytest.approx(0.01 / LN2)
    assert measured.high - measured.low < 1e-9


def test_on_many_even_documents_the_interval_is_the_normal_one():
    generator = np.random.default_rng(10)
    bytes_L = np.full(2_000, 100)
    more_L = generator.normal(5.0, 20.0, size=2_000)
    nats_LM = np.stack([np.full(2_000, 100.0), 100.0 + more_L], axis=1)
    measured = intervals(np.arange(2_000), bytes_L, nats_LM)[1]
    half = NormalDist().inv_cdf(0.975) * more_L.std() / math.sqrt(2_000) / 100 / LN2
    assert measured.high - measured.difference == pytest.approx(half, rel=0.06)
    assert measured.difference - measured.low == pytest.approx(half, rel=0.06)


def test_neighbouring_lines_that_go_together_widen_the_interval():
    generator = np.random.default_rng(11)
    of_run = np.repeat(generator.normal(size=100), 20)
    shuffled = generator.permutation(of_run)
    bytes_L = np.full(2_000, 50)
    one_document = np.zeros(2_000, dtype=np.int32)
    width = {}
    for name, more_L in (("runs", of_run), ("shuffled", shuffled)):
        nats_LM = np.stack([np.full(2_000, 60.0), 60.0 + more_L], axis=1)
        interval = intervals(one_document, bytes_L, nats_LM)[1]
        width[name] = interval.high - interval.low
    assert width["runs"] > 3 * width["shuffled"]


def skewed_documents(generator: np.random.Generator) -> tuple[np.ndarray, ...]:
    """60 documents, lengths log-normal, and now and then one that the second model cannot do."""
    bytes_L = generator.lognormal(6.0, 0.7, size=60).round().astype(np.int64) + 1
    rate_L = generator.exponential(0.05, size=60) ** 1.5
    nats_LM = bytes_L[:, None] * np.stack([np.ones(60), 1.0 + rate_L], axis=1)
    return np.arange(60), bytes_L, nats_LM


def test_interval_covers_the_truth_on_skewed_documents_better_than_the_percentiles():
    truth = 0.05**1.5 * math.gamma(2.5) / LN2
    generator = np.random.default_rng(12)
    trials = 500
    covered = above = percentile_covered = 0
    for trial in range(trials):
        plan = Bootstrap(replicates=800, seed=trial)
        doc_L, bytes_L, nats_LM = skewed_documents(generator)
        found = intervals(doc_L, bytes_L, nats_LM, plan=plan)[1]
        covered += found.low <= truth <= found.high
        above += truth > found.high
        more_L = (nats_LM[:, 1] - nats_LM[:, 0]) / LN2
        drawn = np.random.default_rng(trial).integers(60, size=(800, 60))
        ratios = more_L[drawn].sum(axis=1) / bytes_L[drawn].sum(axis=1)
        low, high = np.quantile(ratios, [0.025, 0.975])
        percentile_covered += low <= truth <= high
    assert 0.90 <= covered / trials <= 0.98
    assert covered >= percentile_covered + 0.02 * trials
    assert above / trials <= 0.08


@pytest.mark.parametrize(("correlation", "least"), [(0.0, 0.92), (0.5, 0.91)])
def test_blocks_cover_the_truth_where_neighbouring_lines_go_together(correlation, least):
    generator = np.random.default_rng(14)
    lines, trials = 1_000, 200
    shocks = generator.exponential(size=(trials, lines + 50)) - 1.0
    more = np.zeros_like(shocks)
    for line in range(1, lines + 50):
        more[:, line] = correlation * more[:, line - 1] + shocks[:, line]
    covered = 0
    for trial in range(trials):
        plan = Bootstrap(replicates=500, seed=trial)
        nats_LM = np.stack([np.full(lines, 60.0), 60.1 + more[trial, 50:]], axis=1)
        bytes_L = np.full(lines, 50)
        found = intervals(np.zeros(lines, dtype=np.int32), bytes_L, nats_LM, plan=plan)[1]
        covered += found.low <= 0.1 / 50 / LN2 <= found.high
    assert least <= covered / trials <= 0.99


def test_one_piece_that_outweighs_all_gives_an_interval_not_an_error():
    nats_LM = np.ones((5_000, 2))
    nats_LM[100, 1] = 1e6
    measured = intervals(np.zeros(5_000, dtype=np.int32), np.ones(5_000, dtype=int), nats_LM)[1]
    assert 0.0 <= measured.low <= measured.difference <= measured.high


def test_infinite_scores_are_refused():
    doc_L, bytes_L, nats_LM = line_scores(documents=60, lines=1, seed=13)
    nats_LM[3, 1] = math.inf
    with pytest.raises(UserError, match="finite"):
        intervals(doc_L, bytes_L, nats_LM)


def test_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match="60 lines, 59 byte counts"):
        cut(np.arange(60), np.ones(59, dtype=int), np.ones((60, 2)))
