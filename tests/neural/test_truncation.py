"""Lengths of truncated BPTT; random truncation has the gradient of no truncation, in the mean."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from textmill.neural.config import NetworkConfig
from textmill.neural.network import Network
from textmill.neural.state import detached, pieces
from textmill.neural.truncation import chunk_bounds, crossings

Configure = Callable[..., NetworkConfig]


def _bounds(rows: int, bptt: int, truncation: Any, continuation: float = 0.0) -> list[int]:
    rng = np.random.default_rng(0)
    return chunk_bounds(rows, bptt, truncation, continuation, rng).tolist()


def test_fixed_chunks_are_of_one_length_but_the_last() -> None:
    assert _bounds(12, 4, "fixed") == [0, 4, 8, 12]
    assert _bounds(13, 4, "fixed") == [0, 4, 8, 12, 13]
    assert _bounds(3, 4, "fixed") == [0, 3]


def test_variable_lengths_lie_around_bptt_below_their_cap() -> None:
    lengths = np.diff(_bounds(700_000, 70, "variable"))
    assert lengths[:-1].min() >= 5
    assert lengths.max() == 80
    assert lengths.sum() == 700_000
    assert np.median(lengths) == pytest.approx(69.5, abs=1)
    assert (lengths < 50).mean() == pytest.approx(0.05, abs=0.01)
    assert lengths[lengths < 50].mean() == pytest.approx(35, abs=1)
    assert set(np.diff(_bounds(50, 2, "variable"))) <= set(range(1, 13))


def test_random_chunks_go_on_with_the_given_probability() -> None:
    bounds = np.array(_bounds(400_000, 4, "random", 0.75))
    lengths = np.diff(bounds)
    assert not (lengths[:-1] % 4).any()
    assert lengths.mean() == pytest.approx(4 / (1 - 0.75), rel=0.02)
    assert (lengths == 4).mean() == pytest.approx(0.25, abs=0.01)
    assert crossings(8, 20, 4, "random") == (4, 8)
    assert crossings(8, 12, 4, "random") == ()
    assert crossings(8, 20, 4, "fixed") == ()


@pytest.mark.parametrize(
    "options",
    [
        {"architecture": "lstm", "layers": 2},
        {"architecture": "gru"},
        {"architecture": "rnn"},
        {"architecture": "attention_lstm", "window": 3},
        {"architecture": "feed_forward", "window": 4},
    ],
    ids=lambda options: options["architecture"],
)
def test_the_expected_gradient_is_that_of_the_whole_sequence(
    make_config: Configure, options: dict[str, Any]
) -> None:
    """Over all eight ways to cut at three places, each weighted by its probability."""
    torch.manual_seed(0)
    network = Network(20, make_config(**options)).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(3)
    ids_TB, targets_TB = torch.randint(2, 20, (2, 8, 2))
    bptt, places, p = 2, (2, 4, 6), 0.3
    whole = _gradient(network, ids_TB, targets_TB, [0, 8], bptt, 1.0)
    expected = torch.zeros_like(whole)
    for goes_on in itertools.product([False, True], repeat=3):
        cuts = [place for place, on in zip(places, goes_on, strict=True) if not on]
        probability = p ** sum(goes_on) * (1 - p) ** (3 - sum(goes_on))
        found = _gradient(network, ids_TB, targets_TB, [0, *cuts, 8], bptt, 1 / p)
        expected += probability * found
    assert torch.allclose(expected, whole, rtol=0, atol=1e-12)
    cut = _gradient(network, ids_TB, targets_TB, [0, 2, 4, 6, 8], bptt, 1 / p)
    assert not torch.allclose(cut, whole, rtol=0, atol=1e-3)


def _gradient(
    network: Network, ids_TB: Tensor, targets_TB: Tensor, bounds: list[int], bptt: int,
    weight: float,
) -> Tensor:  # fmt: skip
    """Of the nats of all chunks between the bounds, the state carried and detached."""
    network.zero_grad()
    state = network.zero_state(2)
    for first, stop in itertools.pairwise(bounds):
        starts_TB = torch.zeros(stop - first, 2, dtype=torch.bool)
        rows = crossings(first, stop, bptt, "random")
        parts = list(pieces(starts_TB, rows, weight))
        reading = network(ids_TB[first:stop], state, parts)
        output_NH = reading.output.flatten(0, 1)
        network.nats(output_NH, targets_TB[first:stop].flatten()).sum().backward()
        state = detached(reading.state)
    return torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
