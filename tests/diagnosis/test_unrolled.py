"""Gradients over time against finite differences, gates against the cell's own derivative."""

import numpy as np
import pytest
import torch

from textmill.diagnosis.records import factor_a_token
from textmill.diagnosis.unrolled import (
    TARGETS,
    WARM_UP,
    gates,
    hidden_gradients,
    median_norms,
    unroll,
)
from textmill.neural import by_hand
from textmill.neural.inside import carried, keep_gates, read, recurrent_layers
from textmill.tokenizers.vocabulary import BEGIN

LENGTH = 20
BACK = LENGTH - TARGETS


@pytest.fixture
def ids():
    return np.random.default_rng(0).integers(2, 12, (LENGTH, 3))


@pytest.fixture
def unrolled(network, ids):
    return unroll(network, ids)


def loss_from(network, unrolled, ids, state, after, t):
    """The loss at step t of a stream that goes on from `state`, held after step `after`."""
    with torch.no_grad():
        for step in range(after + 1, t + 1):
            output, state = read(network, unrolled.inputs_TB[step][None], state)
    return network.nats(output[0], torch.from_numpy(ids[t]))


def test_losses_are_those_of_reading_the_excerpt_at_once(network, unrolled, ids):
    inputs = torch.from_numpy(np.vstack([np.full((1, 3), BEGIN), ids[:-1]]))
    output, _ = read(network, inputs, network.zero_state(3))
    wanted = network.nats(output.flatten(0, 1), torch.from_numpy(ids).flatten()).view(LENGTH, 3)
    assert torch.allclose(torch.stack(unrolled.losses), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("target", "k"), [(0, 1), (3, 2), (TARGETS - 1, 5)])
@pytest.mark.parametrize("name", ["h", "c"])
def test_gradients_are_finite_differences(network, unrolled, ids, name, target, k):
    found = hidden_gradients(network, unrolled)[name]
    assert found.shape == (TARGETS, BACK, 3, 2 * 6)
    t, small = BACK + target, 1e-5
    state = tuple(part.detach() for part in unrolled.states[t - k])
    for layer, unit in ((0, 2), (1, 5)):
        losses = []
        for sign in (1, -1):
            moved = [part.clone() for part in state]
            carried(network, tuple(moved))[name][layer][..., unit] += sign * small
            losses.append(loss_from(network, unrolled, ids, tuple(moved), t - k, t))
        slope = (losses[0] - losses[1]) / (2 * small)
        assert torch.allclose(found[target, k - 1, :, layer * 6 + unit], slope, rtol=0, atol=1e-8)


def test_norms_are_medians_over_targets_and_excerpts():
    gradients = torch.zeros(2, 2, 2, 2)
    gradients[..., 0, :] = torch.tensor([3.0, 4.0])
    gradients[1, 1, 1] = torch.tensor([0.0, 1.0])
    # Back 1: 5, 0, 5, 0. Back 2: 5, 0, 5, 1.
    assert median_norms(gradients) == pytest.approx((2.5, 3.0))


def test_gates_are_what_the_cell_keeps_of_itself(network, unrolled):
    """dc_t / dc_{t-1} of a layer, its inputs and hidden state held, is its forget gate."""
    kept = []
    for step in range(1 + WARM_UP, LENGTH):
        state = tuple(part.detach().requires_grad_() for part in unrolled.states[step - 1])
        _, after = read(network, unrolled.inputs_TB[step][None], state)
        before, now = (carried(network, one)["c"] for one in (state, after))
        for old, new in zip(before, now, strict=True):
            kept += torch.autograd.grad(new.sum(), old, retain_graph=True)
    wanted = torch.stack(kept).unflatten(0, (-1, 2)).mean(dim=(0, 2, 3))
    found = gates(network, unrolled)
    assert [gate.layer for gate in found] == [1, 2]
    for layer, gate in enumerate(found):
        assert gate.units == pytest.approx(wanted[layer].tolist(), abs=1e-12)
        assert gate.mean == pytest.approx(wanted[layer].mean().item())


def test_nothing_is_dropped_and_no_weight_changes(network, ids):
    network.train()
    before = [weight.clone() for weight in network.parameters()]
    one, two = (torch.stack(unroll(network, ids).losses) for _ in range(2))
    assert torch.equal(one, two)
    assert all(map(torch.equal, before, network.parameters()))


def test_the_states_of_a_step_are_named(network):
    state = network.zero_state(3)
    assert {name: len(parts) for name, parts in carried(network, state).items()} == {"h": 2, "c": 2}


@pytest.mark.parametrize(
    "options",
    [
        {"architecture": "gru"},
        {"architecture": "gru", "implementation": "reference"},
        {"architecture": "rnn", "nonlinearity": "relu"},
        {"architecture": "attention_lstm", "layers": 1},
        {"head": "adaptive", "cutoffs": (4, 8)},
        {"head": "adaptive", "cutoffs": (4, 8), "tied": True},
    ],
    ids=str,
)
def test_other_architectures_too(make_network, ids, options):
    network = make_network(**options)
    unrolled = unroll(network, ids)
    found = hidden_gradients(network, unrolled)
    assert found.keys() == ({"h"} if options.get("architecture") in ("gru", "rnn") else {"h", "c"})
    t, k, small = BACK + 2, 3, 1e-5
    state = tuple(part.detach() for part in unrolled.states[t - k])
    losses = []
    for sign in (1, -1):
        moved = tuple(part.clone() for part in state)
        carried(network, moved)["h"][0][..., 4] += sign * small
        losses.append(loss_from(network, unrolled, ids, moved, t - k, t))
    slope = (losses[0] - losses[1]) / (2 * small)
    tolerance = 1e-8 if options.get("head") != "adaptive" else 1e-7
    assert torch.allclose(found["h"][2, k - 1, :, 4], slope, rtol=0, atol=tolerance)


def test_a_network_without_recurrence_has_nothing_to_show(make_network, ids):
    network = make_network(architecture="feed_forward", window=3)
    unrolled = unroll(network, ids)
    assert hidden_gradients(network, unrolled) == {}
    assert gates(network, unrolled) == ()


def test_the_gradients_of_a_simple_rnn_are_those_by_hand(make_network, ids):
    network = make_network(architecture="rnn", layers=1, embedding=6)
    (layer,) = recurrent_layers(network)
    with torch.no_grad():
        layer.bias_ih_l0.zero_()
        layer.bias_hh_l0.zero_()
    unrolled = unroll(network, ids)
    found = hidden_gradients(network, unrolled)["h"]
    W_hx, W_hh = (getattr(layer, f"weight_{name}_l0").detach().numpy() for name in ("ih", "hh"))
    W_qh = network.embedding.weight.detach().numpy()
    of_bias = np.where(np.arange(len(W_qh)) == BEGIN, -np.inf, network.head.bias.detach().numpy())
    for b in range(3):
        x = network.embedding(unrolled.inputs_TB[:, b]).detach().numpy()
        h = by_hand.hidden_states(x, np.zeros(6), W_hx, W_hh)
        of_outputs = by_hand.cross_entropy_gradients(by_hand.outputs(h, W_qh) + of_bias, ids[:, b])
        t = BACK + 3
        of_outputs[np.arange(LENGTH) != t] = 0
        wanted = by_hand.hidden_gradients(of_outputs, h, W_hh, W_qh)
        for k in range(1, BACK + 1):
            assert found[3, k - 1, b].numpy() == pytest.approx(wanted[t - k], abs=1e-10)


@pytest.mark.parametrize("implementation", ["library", "reference"])
def test_a_gru_keeps_what_its_update_gate_says(make_network, implementation):
    """With a candidate of nothing, the new state is the gate times the old one."""
    (cell,) = recurrent_layers(
        make_network(architecture="gru", layers=1, implementation=implementation)
    )
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, f"{name}_l0")[12:] = 0
        x, before = torch.randn(1, 3, 5).double(), torch.randn(1, 3, 6).double()
        given = before if implementation == "library" else (before,)
        after, _ = cell(x, given)
        assert torch.allclose(keep_gates(cell, x, before) * before, after, rtol=0, atol=1e-12)


@pytest.mark.parametrize("radius", [0.8, 1.0, 1.25])
def test_gradients_vanish_and_explode_at_the_rate_of_the_radius(make_network, ids, radius):
    """Where a ReLU network is linear, each step back multiplies by the recurrent matrix alone."""
    network = make_network(architecture="rnn", nonlinearity="relu", layers=1, embedding=6)
    (layer,) = recurrent_layers(network)
    with torch.no_grad():
        layer.weight_ih_l0.zero_()
        layer.bias_ih_l0.fill_(1)
        layer.bias_hh_l0.zero_()
        layer.weight_hh_l0.copy_(radius * torch.eye(6).double()[[1, 2, 0, 4, 5, 3]])
    norms = median_norms(hidden_gradients(network, unroll(network, ids))["h"])
    assert factor_a_token(norms) == pytest.approx(radius, rel=1e-9)
    assert norms[-1] / norms[0] == pytest.approx(radius ** (BACK - 1), rel=1e-9)
