"""Attention: published weights and contexts, masks, and what a window sees."""

import pytest
import torch

from textmill.neural.attention import Attention, attend

SCORES = torch.tensor([0.1, 0.3, 0.2, 0.4, 0.2], dtype=torch.float64)
VALUES = torch.tensor([[0.5, 0.7, 0.4, 0.8, 0.6]], dtype=torch.float64)


def test_the_weights_and_the_context_of_the_textbooks_example() -> None:
    weights, context = attend(SCORES, VALUES)
    expected = [0.172962, 0.211257, 0.191153, 0.233475, 0.191153]
    assert weights.tolist() == pytest.approx(expected, abs=1e-6)
    assert context.item() == pytest.approx(0.612294, abs=1e-6)


def test_a_slot_that_does_not_exist_weighs_nothing_before_the_softmax() -> None:
    exists = torch.tensor([True, True, True, True, False])
    weights, context = attend(SCORES, VALUES, exists)
    expected = [0.213838, 0.261183, 0.236328, 0.288651, 0.0]
    assert weights.tolist() == pytest.approx(expected, abs=1e-6)
    assert context.item() == pytest.approx(0.615199, abs=1e-6)
    weights, context = attend(SCORES, VALUES, torch.zeros(5, dtype=torch.bool))
    assert not weights.any()
    assert context.item() == 0


def test_the_layer_is_its_formula() -> None:
    """Position by position, with loops and dot products."""
    torch.manual_seed(0)
    hidden, window, length = 4, 3, 6
    layer = Attention(hidden, window).double()
    x_TBH = torch.randn(length, 1, hidden, dtype=torch.float64)
    output_TBH, _ = layer(x_TBH, layer.zero_state(1))
    w_key, u_query, bias = layer.key.weight, layer.query.weight, layer.query.bias
    v = layer.score.weight[0]
    for t in range(length):
        query = x_TBH[t, 0]
        context = torch.zeros(hidden, dtype=torch.float64)
        seen = [x_TBH[j, 0] for j in range(max(0, t - window), t)]
        if seen:
            scores = [v @ torch.tanh(w_key @ h + u_query @ query + bias) for h in seen]
            weights = torch.stack(scores).exp() / torch.stack(scores).exp().sum()
            context = sum(weight * h for weight, h in zip(weights, seen, strict=True))
        both = torch.cat([query, context])
        expected = torch.tanh(layer.combine.weight @ both + layer.combine.bias)
        assert torch.allclose(output_TBH[t, 0], expected, rtol=0, atol=1e-12)


def test_what_lies_outside_the_window_is_not_seen() -> None:
    torch.manual_seed(0)
    layer = Attention(4, 2).double()
    x_TBH = torch.randn(6, 1, 4, dtype=torch.float64)
    changed = x_TBH.clone()
    changed[1] += 1
    one, two = (layer(x, layer.zero_state(1))[0] for x in (x_TBH, changed))
    differs = [not torch.equal(one[t], two[t]) for t in range(6)]
    assert differs == [False, True, True, True, False, False]
