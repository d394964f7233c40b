"""Back-propagation through time by hand is what autograd computes, to the tenth digit."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from textmill.neural import by_hand

T, D, H, Q = 9, 4, 6, 5


@pytest.fixture(params=[0.3, 1.0, 2.5], ids=["shrinking", "middling", "growing"])
def drawn(request):
    """Inputs, targets, a state before and the weights W_hx, W_hh, W_qh."""
    rng = np.random.default_rng(4)
    weights = [rng.normal(size=shape) * request.param for shape in ((H, D), (H, H), (Q, H))]
    before = np.tanh(rng.normal(size=H))
    return rng.normal(size=(T, D)), rng.integers(0, Q, T), before, *weights


def test_states_gradients_and_weight_sums_equal_autograd(drawn):
    x, targets, before, *weights = drawn
    tensors = [torch.tensor(w, requires_grad=True) for w in weights]
    h, states = torch.tensor(before), []
    for x_t in torch.tensor(x):
        h = torch.tanh(tensors[0] @ x_t + tensors[1] @ h)
        h.retain_grad()
        states.append(h)
    logits = torch.stack(states) @ tensors[2].T
    functional.cross_entropy(logits, torch.tensor(targets), reduction="sum").backward()

    h_TH = by_hand.hidden_states(x, before, weights[0], weights[1])
    assert h_TH == pytest.approx(torch.stack(states).detach().numpy(), abs=1e-12)
    o_TQ = by_hand.outputs(h_TH, weights[2])
    of_outputs = by_hand.cross_entropy_gradients(o_TQ, targets)
    of_hidden = by_hand.hidden_gradients(of_outputs, h_TH, weights[1], weights[2])
    for t, state in enumerate(states):
        assert of_hidden[t] == pytest.approx(state.grad.numpy(), abs=1e-10)
    found = by_hand.weight_gradients(x, before, h_TH, of_hidden, of_outputs)
    for tensor, gradient in zip(tensors, (found.W_hx, found.W_hh, found.W_qh), strict=True):
        assert gradient == pytest.approx(tensor.grad.numpy(), abs=1e-10)


def test_the_recursion_is_the_torch_library_network_too(drawn):
    """A loss at the last step alone, against nn.RNN: what remains of it at every step before."""
    x, targets, before, W_hx, W_hh, W_qh = drawn
    layer = torch.nn.RNN(D, H, bias=False).double()
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.tensor(W_hx))
        layer.weight_hh_l0.copy_(torch.tensor(W_hh))
    start = torch.tensor(before[None], requires_grad=True)
    output, _ = layer(torch.tensor(x), start)
    (output[-1] @ torch.tensor(W_qh.T))[targets[-1]].backward()

    h_TH = by_hand.hidden_states(x, before, W_hx, W_hh)
    of_outputs = np.zeros((T, Q))
    of_outputs[-1, targets[-1]] = 1
    of_hidden = by_hand.hidden_gradients(of_outputs, h_TH, W_hh, W_qh)
    # One step further back than the first is the state before it all.
    of_start = W_hh.T @ by_hand.through_tanh(of_hidden[0], h_TH[0])
    assert of_start == pytest.approx(start.grad.numpy()[0], abs=1e-10)
