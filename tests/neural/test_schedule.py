"""Learning rates by schedule, in steps and tokens."""

import itertools
import math
from collections.abc import Callable

import pytest

from textmill.neural.config import NetworkConfig
from textmill.neural.schedule import learning_rate

Configure = Callable[..., NetworkConfig]


def test_cosine_rises_to_its_peak_and_falls_to_a_fiftieth(make_config: Configure) -> None:
    config = make_config(learning_rate=1.0, warmup=4, steps=104)
    rates = [learning_rate(step, config) for step in range(105)]
    assert rates[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert rates[54] == pytest.approx(0.51)
    assert rates[104] == pytest.approx(0.02)
    assert all(b <= a for a, b in itertools.pairwise(rates[4:]))
    assert learning_rate(300, config) == pytest.approx(0.02)


def test_in_tokens_the_same_rate_stands_at_the_same_share_of_the_budget(
    make_config: Configure,
) -> None:
    in_steps = make_config(warmup=10, steps=100)
    in_tokens = make_config(warmup=1500, steps=None, tokens=15_000, evaluate_every=100)
    for step in (0, 5, 10, 40, 99):
        expected = learning_rate(step, in_steps)
        # Within the warm-up a step's rate is that of its end, a token's that of its own.
        tolerance = 2e-4 if step < 10 else 1e-12
        assert learning_rate(150 * step, in_tokens) == pytest.approx(expected, abs=tolerance)


def test_constant_step_and_plateau(make_config: Configure) -> None:
    constant = make_config(learning_rate=2.0, warmup=2, schedule="constant")
    assert [learning_rate(step, constant) for step in (0, 1, 2, 11)] == [1.0, 2.0, 2.0, 2.0]
    step = make_config(learning_rate=2.0, warmup=0, schedule="step", decay_every=4, decay=0.1)
    rates = [learning_rate(done, step) for done in (0, 3, 4, 7, 8)]
    assert rates == pytest.approx([2.0, 2.0, 0.2, 0.2, 0.02])
    plateau = make_config(learning_rate=2.0, warmup=0, schedule="plateau")
    losses = [5.0, 4.0, 4.0, 4.5, 3.9, math.nan]
    rates = [learning_rate(9, plateau, losses[:looks]) for looks in range(7)]
    # A tie, a rise and NaN are no gain; a gain after them does not bring the rate back.
    assert rates == [2.0, 2.0, 2.0, 0.5, 0.125, 0.125, 0.03125]
