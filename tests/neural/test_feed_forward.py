"""The fixed window: its formula, its reach and its published size."""

from collections.abc import Callable

import pytest
import torch

from textmill.neural.config import NetworkConfig
from textmill.neural.feed_forward import FeedForward
from textmill.neural.network import Network, count_parameters

Configure = Callable[..., NetworkConfig]


def test_the_layer_is_its_formula() -> None:
    torch.manual_seed(0)
    layer = FeedForward(3, 4, window=3).double()
    x_TBI = torch.randn(5, 2, 3, dtype=torch.float64)
    output_TBH, (after,) = layer(x_TBI, layer.zero_state(2))
    matrices = layer.linear.weight.view(4, 3, 3)  # (H, I, W), the newest input last
    for t in range(5):
        for b in range(2):
            total = layer.linear.bias.clone()
            for back in range(min(3, t + 1)):
                total += matrices[:, :, 2 - back] @ x_TBI[t - back, b]
            assert torch.allclose(output_TBH[t, b], torch.tanh(total), rtol=0, atol=1e-12)
    assert torch.equal(after, x_TBI[-2:])


@pytest.mark.parametrize(("window", "last"), [(1, 2), (3, 4)])
def test_an_input_reaches_as_far_as_the_window(window: int, last: int) -> None:
    layer = FeedForward(3, 4, window).double()
    x_TBI = torch.randn(7, 1, 3, dtype=torch.float64)
    changed = x_TBI.clone()
    changed[2] += 1
    one, two = (layer(x, layer.zero_state(1))[0] for x in (x_TBI, changed))
    assert [t for t in range(7) if not torch.equal(one[t], two[t])] == list(range(2, last + 1))


def test_the_size_is_bengios_formula(make_config: Configure) -> None:
    """|V| (1 + h) + h (1 + w m) + |V| m for a window of w tokens, without direct connections."""
    size, window, m, h = 16_383, 4, 30, 100
    config = make_config(
        architecture="feed_forward", window=window, embedding=m, hidden=h, layers=1, tied=False
    )
    expected = size * (1 + h) + h * (1 + window * m) + size * m
    assert count_parameters(Network(size, config)) == expected
