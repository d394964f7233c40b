"""Choosing on the first quarter of validation, and scoring with what was chosen."""

import numpy as np
import pytest

from textmill.adapting.adapt import (
    Adapting,
    CacheSettings,
    DynamicSettings,
    Settings,
    check_whole,
    first_part,
    tune,
)
from textmill.adapting.cache import cache_nats
from textmill.adapting.config import AdaptedConfig, CacheConfig, DynamicConfig, check_tokenizer
from textmill.adapting.stream import read_stream
from textmill.base.errors import UserError
from textmill.scoring.mixture import mix


@pytest.fixture
def long_lines(lines_of):
    rng = np.random.default_rng(3)
    return lines_of([[rng.integers(3, 9, 12) for _ in range(10)], [rng.integers(5, 14, 25)] * 6])


def test_the_first_quarter_is_whole_lines_that_hold_a_quarter(long_lines):
    quarter = first_part(long_lines, 4)
    # 10 lines of 13 tokens and 6 of 26: 286 tokens, of which 71.5 are a quarter.
    assert len(quarter.tokens) == 78
    assert (len(quarter.offsets), len(quarter.doc)) == (7, 6)
    assert np.array_equal(quarter.tokens, long_lines.tokens[:78])
    assert quarter.doc_offsets.tolist() == [0, 78]
    assert len(first_part(long_lines, 1).tokens) == len(long_lines.tokens)


def test_the_cache_that_is_best_on_the_quarter_is_taken(model, config, long_lines):
    entry = AdaptedConfig(
        model="m", tokenizer="tiny", cache=CacheConfig(windows=(2, 30), thetas=(0.0, 0.5))
    )
    chosen = tune(model, config, entry, long_lines, long_lines).settings.cache
    quarter = list(read_stream(model.network, first_part(long_lines, 4)))
    static = np.concatenate([one.nats for one in quarter])
    grid = {
        (window, theta): min(
            mix(cache_nats(quarter, window, theta), static, weight).sum()
            for weight in np.linspace(0.001, 0.999, 500)
        )
        for window in (2, 30)
        for theta in (0.0, 0.5)
    }
    assert (chosen.window, chosen.theta) == min(grid, key=grid.get)
    best = mix(cache_nats(quarter, chosen.window, chosen.theta), static, chosen.weight).sum()
    assert best <= min(grid.values()) + 1e-6


def test_the_rate_that_is_best_on_the_quarter_is_taken(model, config, lines_of):
    repeating = lines_of([[[5, 8, 3, 11]] * 120])
    rates = DynamicConfig(learning_rates=(0.0, 1.0), decays=(0.0,), segment=5)
    entry = AdaptedConfig(model="m", tokenizer="tiny", dynamic=rates)
    adapting = tune(model, config, entry, repeating, repeating)
    assert adapting.settings == Settings(None, DynamicSettings(1.0, 0.0, 100.0, 5))
    static = Adapting(model.network, [], Settings(None, None)).nats(repeating)
    assert adapting.nats(repeating).sum() < static.sum()


def test_both_methods_together_are_the_cache_over_the_changing_network(model, config, long_lines):
    entry = AdaptedConfig(
        model="m",
        tokenizer="tiny",
        cache=CacheConfig(windows=(20,), thetas=(0.4,)),
        dynamic=DynamicConfig(learning_rates=(0.5,), decays=(0.0,), segment=4),
    )
    adapting = tune(model, config, entry, long_lines, long_lines)
    segments = list(adapting.segments(long_lines))
    own = np.concatenate([one.nats for one in segments])
    assert not np.array_equal(
        own, Adapting(model.network, [], Settings(None, None)).nats(long_lines)
    )
    weight = adapting.settings.cache.weight
    assert 0 < weight < 1
    wanted = mix(cache_nats(segments, 20, 0.4), own, weight)
    assert np.array_equal(adapting.nats(long_lines), wanted)
    both = adapting.nats_without_and_with_cache(long_lines)
    assert np.array_equal(both[0], own)
    assert np.array_equal(both[1], wanted)


def test_what_was_chosen_is_said_in_words():
    settings = Settings(CacheSettings(2000, 0.3, 0.1234), DynamicSettings(0.002, 0.001, 100.0, 20))
    assert settings.describe() == (
        "dynamic evaluation (learning rate 0.002, decay 0.001) + "
        "neural cache (window 2,000, theta 0.3, weight 0.12)"
    )
    other = Settings(None, DynamicSettings(0.002, 0.001, 0.5, 20))
    assert other.describe().endswith("(learning rate 0.002, decay 0.001, epsilon 0.5)")
    assert Settings(None, settings.dynamic).as_json() == {
        "dynamic": {"learning_rate": 0.002, "decay": 0.001, "epsilon": 100.0, "segment": 20}
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdaptedConfig(model="m", tokenizer="t"), "adapts by nothing"),
        (lambda: CacheConfig(windows=()), "windows is empty"),
        (lambda: CacheConfig(windows=(0,)), "windows must lie between 1 and 1000000, not 0"),
        (lambda: CacheConfig(thetas=(float("nan"),)), "thetas must lie between 0"),
        (lambda: DynamicConfig(decays=(-0.1,)), "decays must lie between 0 and 1000000, not -0.1"),
        (lambda: DynamicConfig(segment=0), "segment must lie between 1"),
        (lambda: DynamicConfig(epsilon=0.0), "epsilon must lie between 1e-06"),
    ],
)
def test_senseless_values_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_another_tokenizer_than_the_network_s_is_refused():
    entry = AdaptedConfig(model="lstm", tokenizer="char", cache=CacheConfig())
    with pytest.raises(UserError, match=r"adapted\.c: lstm is over word tokens, not char"):
        check_tokenizer(entry, "word", "params.yaml: adapted.c")


def test_where_every_rate_diverges_the_message_says_what_to_lower(model, config, long_lines):
    rates = DynamicConfig(learning_rates=(1e6,), decays=(0.0,), segment=4)
    entry = AdaptedConfig(model="m", tokenizer="tiny", dynamic=rates)
    model.network.float()
    with pytest.raises(
        UserError, match=r"no setting that was tried gives .* a finite score"
    ) as said:
        tune(model, config, entry, long_lines, long_lines)
    assert "lower dynamic.learning_rates" in said.value.next_step


@pytest.mark.parametrize("nats", [[1.0, 4.7], [np.nan, 1.0], [np.inf, 1.0]])
def test_a_network_that_comes_apart_later_is_no_result(nats):
    """Its first quarter was fine, or the values would not have been chosen."""
    check_whole(np.array([1.0, 1.5]), 16)
    with pytest.raises(
        UserError, match=r"nats a token, and a guess among all 16 ids to 2\.773"
    ) as e:
        check_whole(np.array(nats), 16)
    assert "raise dynamic.epsilon" in e.value.next_step
