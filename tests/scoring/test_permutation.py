"""Permutation tests of pairs: exact enumeration, a published adjustment, simulated error rates."""

import math
from itertools import product

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.scoring.permutation import Permutation, disjoint, every_pair, holm


def p_values(nats_LM: np.ndarray, plan: Permutation | None = None) -> dict[tuple[int, int], float]:
    """Every line a document."""
    found = every_pair(np.arange(len(nats_LM)), nats_LM, plan)
    assert found is not None
    return {(pair.first, pair.second): pair.p for pair in found.pairs}


def enumerated(more_P: np.ndarray) -> float:
    """The share of all sign flips whose sum is as far from zero as the sum itself."""
    flips = np.array(list(product((1, -1), repeat=len(more_P))))
    return float(np.mean(np.abs(flips @ more_P) >= abs(more_P.sum()) - 1e-9))


@pytest.mark.parametrize("seed", range(6))
def test_p_agrees_with_enumerating_every_flip(seed):
    generator = np.random.default_rng(seed)
    more_P = generator.normal(0.4, 1.0, size=10)
    nats_PM = 500.0 + np.stack([np.zeros(10), more_P], axis=1)
    plan = Permutation(draws=20_000, seed=seed, least_pieces=10)
    expected = enumerated(more_P)
    error = 4 * math.sqrt(expected * (1 - expected) / 20_000) + 1e-4
    assert p_values(nats_PM, plan)[0, 1] == pytest.approx(expected, abs=error)


def test_ties_among_the_flips_count():
    """Eight equal differences: only all-plus and all-minus are as far, 2 of 256."""
    nats_PM = 5432.1 + np.stack([np.zeros(8), np.full(8, 0.1)], axis=1)
    p = p_values(nats_PM, Permutation(draws=100_000, least_pieces=8))[0, 1]
    assert p == pytest.approx(2 / 256, abs=4 * math.sqrt(2 / 256 / 100_000))


def test_holm_is_the_textbook_example():
    """By hand: 4 * .005, 3 * .01, 2 * .03, then .04, raised to .06."""
    p_K = np.array([0.01, 0.04, 0.03, 0.005])
    assert holm(p_K) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.6, 0.5, 0.7])) == pytest.approx([1.0, 1.0, 1.0])
    assert holm(np.array([])).tolist() == []


def test_adjusted_values_keep_the_order_and_never_shrink():
    p_K = np.random.default_rng(3).uniform(size=200) ** 4
    adjusted_K = holm(p_K)
    order = np.argsort(p_K)
    assert (np.diff(adjusted_K[order]) >= 0).all()
    assert (adjusted_K >= p_K).all()
    assert adjusted_K.max() <= 1.0
    assert adjusted_K[order[0]] == pytest.approx(min(1.0, 200 * p_K.min()))


def test_every_pair_comes_in_order_and_is_adjusted_for_all():
    generator = np.random.default_rng(4)
    nats_LM = generator.normal([10.0, 10.1, 10.2, 30.0], 0.5, size=(60, 4))
    found = every_pair(np.arange(60), nats_LM)
    pairs = [(pair.first, pair.second) for pair in found.pairs]
    assert pairs == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    adjusted = holm(np.array([pair.p for pair in found.pairs]))
    assert [pair.p_adjusted for pair in found.pairs] == adjusted.tolist()
    assert found.pairs[2].p == 1 / 10_001
    assert found.pairs[2].p_adjusted == pytest.approx(6 / 10_001)
    assert (found.pieces, found.draws) == (60, 10_000)


def test_identical_models_have_p_one_beside_others_that_differ():
    nats_LM = np.random.default_rng(5).gamma(2.0, 50.0, size=(60, 1)) * [1.0, 1.2, 1.0]
    assert p_values(nats_LM)[0, 2] == 1.0
    assert p_values(nats_LM)[0, 1] < 0.001


def test_swapping_two_models_and_adding_another_leave_p_as_it_is():
    nats_LM = np.random.default_rng(6).normal(40.0, 2.0, size=(60, 3))
    p = p_values(nats_LM)
    swapped = p_values(nats_LM[:, [1, 0, 2]])
    assert 0.01 < p[0, 1] < 0.99
    assert swapped[0, 1] == p[0, 1]
    assert swapped[1, 2] == p[0, 2]
    assert p_values(nats_LM[:, [1, 2]])[0, 1] == p[1, 2]


def test_equal_seed_equal_p_and_another_seed_nearly():
    nats_LM = np.random.default_rng(7).normal(40.0, 2.0, size=(60, 2))
    first, again = p_values(nats_LM)[0, 1], p_values(nats_LM)[0, 1]
    other = p_values(nats_LM, Permutation(seed=2))[0, 1]
    assert first == again
    assert other != first
    assert other == pytest.approx(first, abs=0.02)


def test_under_the_null_five_in_a_hundred_are_below_five_percent():
    generator = np.random.default_rng(8)
    trials = 1_000
    below = 0
    for trial in range(trials):
        scale_P = generator.lognormal(0.0, 1.0, size=(60, 1))
        nats_PM = 100.0 + scale_P * generator.normal(size=(60, 2))
        below += p_values(nats_PM, Permutation(draws=400, seed=trial))[0, 1] < 0.05
    assert below / trials == pytest.approx(0.05, abs=3.5 * math.sqrt(0.05 * 0.95 / trials))


def test_holm_holds_the_chance_of_any_error_among_all_pairs():
    generator = np.random.default_rng(9)
    trials = 300
    plain = adjusted = 0
    for trial in range(trials):
        nats_PM = generator.normal(100.0, 1.0, size=(50, 5))
        found = every_pair(np.arange(50), nats_PM, Permutation(draws=2_000, seed=trial))
        plain += min(pair.p for pair in found.pairs) < 0.05
        adjusted += min(pair.p_adjusted for pair in found.pairs) < 0.05
    assert plain / trials > 0.2
    assert adjusted / trials <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


def test_a_small_difference_is_found_where_it_is_steady():
    generator = np.random.default_rng(10)
    hard_P = generator.gamma(1.0, 1_000.0, size=(60, 1))
    nats_PM = hard_P + np.stack([np.zeros(60), generator.normal(0.5, 1.0, size=60)], axis=1)
    assert p_values(nats_PM)[0, 1] < 0.01


@pytest.mark.parametrize(
    ("lines", "blocks", "lengths"),
    [(50, 50, {1}), (99, 99, {1}), (100, 50, {2}), (834, 52, {16, 17}), (10_007, 50, {200, 201})],
)
def test_blocks_share_no_line_and_hold_them_all(lines, blocks, lengths):
    starts = disjoint(np.zeros(lines, dtype=np.int64), 50)
    found = np.diff(starts, append=lines)
    assert len(starts) == blocks
    assert starts[0] == 0
    assert set(found.tolist()) == lengths
    assert found.sum() == lines


def test_fifty_documents_are_flipped_whole():
    doc_L = np.repeat(np.arange(50) * 3 + 7, [1, 4] * 25)
    assert disjoint(doc_L, 50).tolist() == [5 * i + j for i in range(25) for j in (0, 1)]
    assert len(disjoint(doc_L[:120], 50)) == 60


def test_fewer_lines_than_pieces_are_not_tested():
    assert every_pair(np.zeros(49, dtype=np.int64), np.ones((49, 2))) is None


def test_neighbouring_lines_that_go_together_are_flipped_together():
    """20 lines of a run share their difference: single lines would claim far too much."""
    generator = np.random.default_rng(12)
    runs = generator.normal(0.25, 1.0, size=50)
    nats_LM = 60.0 + np.stack([np.zeros(1_000), np.repeat(runs, 20)], axis=1)
    together = every_pair(np.zeros(1_000, dtype=np.int64), nats_LM).pairs[0].p
    apart = every_pair(np.arange(1_000), nats_LM).pairs[0].p
    normal = math.erfc(abs(runs.mean()) / math.sqrt(np.mean(runs**2) / 50) / math.sqrt(2))
    assert together == pytest.approx(normal, abs=0.02)
    assert apart < together / 5


def test_many_models_are_given_enough_draws_to_tell_any_apart():
    """30 models are 435 pairs: 10,000 draws could bring Holm's p no further than 0.0435."""
    nats_LM = 100.0 + np.arange(30.0) + np.zeros((50, 1))
    found = every_pair(np.arange(50), nats_LM)
    assert found.draws == 43_500
    assert max(pair.p_adjusted for pair in found.pairs) == pytest.approx(435 / 43_501)


def test_of_very_many_models_the_first_are_compared():
    found = every_pair(np.arange(50), 100.0 + np.arange(400.0) + np.zeros((50, 1)))
    assert {one for pair in found.pairs for one in (pair.first, pair.second)} == set(range(30))


def test_one_model_has_no_pair():
    assert every_pair(np.arange(50), np.ones((50, 1))).pairs == ()


def test_infinite_scores_are_refused():
    nats_LM = np.ones((60, 2))
    nats_LM[3, 1] = math.inf
    with pytest.raises(UserError, match="finite"):
        every_pair(np.arange(60), nats_LM)
