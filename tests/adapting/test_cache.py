"""The neural cache: its formula by brute force, its window, and no look ahead."""

import dataclasses

import numpy as np
import pytest
import torch

from textmill.adapting.cache import Cache, cache_nats
from textmill.adapting.stream import Scored, read_stream
from textmill.scoring.mixture import mix

THETA = 0.7


def by_brute_force(keys, ids, static, window, theta):
    """-ln p_cache of every token, by the formula, an entry at a time."""
    found = []
    for t, token in enumerate(ids):
        entries = range(max(0, t - window), t)
        if not entries:
            found.append(static[t])
            continue
        weights = {i: np.exp(theta * keys[t] @ keys[i]) for i in entries}
        same = sum(weight for i, weight in weights.items() if ids[i] == token)
        found.append(-np.log(same / sum(weights.values())) if same else np.inf)
    return np.array(found)


@pytest.mark.parametrize("segment", [1, 4, 256])
@pytest.mark.parametrize("window", [1, 5, 1000])
def test_the_cache_is_its_formula_however_the_stream_is_cut(model, lines, segment, window):
    segments = list(read_stream(model.network, lines, segment=segment))
    keys = torch.cat([one.outputs for one in segments]).numpy()
    static = np.concatenate([one.nats for one in segments])
    wanted = by_brute_force(keys, lines.tokens, static, window, THETA)
    assert np.isinf(wanted).any()
    assert cache_nats(segments, window, THETA) == pytest.approx(wanted, abs=1e-9)


def test_theta_zero_counts_the_window(model, lines):
    """Without the states, the cache is the share of a token among the last ones."""
    found = cache_nats(read_stream(model.network, lines), 10, 0.0)
    t = 25
    share = np.mean(lines.tokens[t - 10 : t] == lines.tokens[t])
    assert 0 < share < 1
    assert found[t] == pytest.approx(-np.log(share), abs=1e-12)


def test_the_distribution_sums_to_one(model, lines):
    first, *_ = read_stream(model.network, lines, segment=12)
    rng = np.random.default_rng(0)
    key = torch.from_numpy(rng.normal(size=(1, first.outputs.shape[1])))
    total = 0.0
    for token in range(len(model.vocabulary)):
        cache = Cache(8, THETA)
        cache.nats(first)
        total += np.exp(-cache.nats(Scored(torch.tensor([token]), np.zeros(1), key))[0])
    assert total == pytest.approx(1, abs=1e-12)


def test_weight_zero_is_the_score_without_a_cache_bit_for_bit(model, lines):
    segments = list(read_stream(model.network, lines))
    static = np.concatenate([one.nats for one in segments])
    cached = cache_nats(segments, 100, THETA)
    assert np.array_equal(mix(cached, static, 0.0), static)
    assert not np.array_equal(mix(cached, static, 0.1), static)


def test_later_tokens_change_no_earlier_score(model, lines):
    at = 30
    tokens = lines.tokens.copy()
    tokens[at] = 3 if tokens[at] != 3 else 4
    changed = dataclasses.replace(lines, tokens=tokens)
    one, two = (cache_nats(read_stream(model.network, x), 9, THETA) for x in (lines, changed))
    assert np.array_equal(one[:at], two[:at])
    assert one[at] != two[at]
