"""Gradients over time against finite differences, gates against the cell's own derivative."""

import numpy as np
import pytest
import torch

from textmill.diagnosis.unrolled import (
    TARGETS,
    WARM_UP,
    gates,
    hidden_gradients,
    median_norms,
    unroll,
)
from textmill.neural.inside import carried, nats, read
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
    return nats(network, output[0], torch.from_numpy(ids[t]))


def test_losses_are_those_of_reading_the_excerpt_at_once(network, unrolled, ids):
    inputs = torch.from_numpy(np.vstack([np.full((1, 3), BEGIN), ids[:-1]]))
    output, _ = read(network, inputs, network.zero_state(3))
    wanted = nats(network, output.flatten(0, 1), torch.from_numpy(ids).flatten()).view(LENGTH, 3)
    assert torch.allclose(torch.stack(unrolled.losses), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("target", "k"), [(0, 1), (3, 2), (TARGETS - 1, 5)])
@pytest.mark.parametrize("name", ["h", "c"])
def test_gradients_are_finite_differences(network, unrolled, ids, name, target, k):
    found = hidden_gradients(unrolled)[name]
    assert found.shape == (TARGETS, BACK, 3, 2 * 6)
    t, small = BACK + target, 1e-5
    state = tuple(part.detach() for part in unrolled.states[t - k])
    place = 0 if name == "h" else 1
    for layer, unit in ((0, 2), (1, 5)):
        losses = []
        for sign in (1, -1):
            moved = [part.clone() for part in state]
            moved[place][layer, :, unit] += sign * small
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
        h, c = (part.detach() for part in unrolled.states[step - 1])
        c.requires_grad_()
        _, after = read(network, unrolled.inputs_TB[step][None], (h, c))
        for layer in range(2):
            # Layer 1's cell reaches its own next value alone; layer 0's is read before layer 1's.
            own = torch.autograd.grad(after[1][layer].sum(), c, retain_graph=True)[0][layer]
            kept.append(own)
    wanted = torch.stack(kept).unflatten(0, (-1, 2)).mean(dim=(0, 2))
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
    assert {name: len(parts) for name, parts in carried(state).items()} == {"h": 1, "c": 1}
