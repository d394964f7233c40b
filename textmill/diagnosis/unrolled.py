"""A recurrent network unrolled over excerpts, a token at a time, every state kept.

From it come the gradient of a loss with respect to states further and further back, and how much
the gates keep. The state carried from one step to the next is taken as it stands between two steps:
the hidden states of all layers (h), and an LSTM's cells (c) apart, whose path through time the
output gates do not touch. Gradients are those of the whole network, through every path that leads
from there to the loss.

Suffixes: T time, B excerpts, L layers, H hidden, K steps back.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from textmill.diagnosis.records import Gate
from textmill.neural.inside import carried, evaluating, keep_gates, read, recurrent_layers
from textmill.neural.network import Network
from textmill.neural.state import State
from textmill.tokenizers.vocabulary import BEGIN

TARGETS = 8
"""Losses at so many last steps of each excerpt are followed back."""
WARM_UP = 8
"""Steps whose gates do not count: the state is still that of nothing read."""


@dataclass(frozen=True, slots=True)
class Unrolled:
    """states: after each step. losses: (B,) nats of each step's target, with their graph."""

    inputs_TB: Tensor
    states: list[State]
    losses: list[Tensor]


def unroll(network: Network, ids_TB: np.ndarray) -> Unrolled:
    """Read the excerpts as if each began a document."""
    evaluating(network)
    targets_TB = torch.from_numpy(ids_TB).to(network.device)
    begin_1B = torch.full_like(targets_TB[:1], BEGIN)
    inputs_TB = torch.cat([begin_1B, targets_TB[:-1]])
    state = network.zero_state(ids_TB.shape[1])
    states, losses = [], []
    for input_B, target_B in zip(inputs_TB, targets_TB, strict=True):
        output_1BH, state = read(network, input_B[None], state)
        states.append(state)
        losses.append(network.nats(output_1BH[0], target_B))
    return Unrolled(inputs_TB, states, losses)


def hidden_gradients(network: Network, unrolled: Unrolled) -> dict[str, Tensor]:
    """`h`, and `c` of an LSTM -> (targets, K, B, LH) dL_t / dstate_{t-k}, for k = 1 to K.

    The last steps are the targets; each is followed as far as the first of them can be.
    """
    last = range(len(unrolled.losses) - TARGETS, len(unrolled.losses))
    back = last[0]
    found: dict[str, list[Tensor]] = {}
    for t in last:
        before = [carried(network, state) for state in unrolled.states[t - back : t]][::-1]
        for name in before[0]:
            nodes = [tensor for step in before for tensor in step[name]]
            # Excerpts do not meet, so the gradient of the sum holds that of each.
            gradients = torch.autograd.grad(
                unrolled.losses[t].sum(), nodes, retain_graph=True, materialize_grads=True
            )
            a_step = len(before[0][name])
            steps = [gradients[i : i + a_step] for i in range(0, len(gradients), a_step)]
            found.setdefault(name, []).append(torch.stack([_flat(step) for step in steps]))
    return {name: torch.stack(parts) for name, parts in found.items()}


def median_norms(gradients: Tensor) -> tuple[float, ...]:
    """(K,) over targets and excerpts, from (targets, K, B, LH)."""
    norms_K = gradients.double().norm(dim=-1).transpose(0, 1).flatten(1).quantile(0.5, dim=1)
    return tuple(norms_K.tolist())


def gates(network: Network, unrolled: Unrolled) -> tuple[Gate, ...]:
    """How much each unit of each layer keeps of its old state; none for an RNN."""
    found = []
    layers = recurrent_layers(network)
    if not layers:
        return ()
    with torch.no_grad():
        hidden_TLBH = torch.stack(
            [torch.cat(carried(network, state)["h"]) for state in unrolled.states]
        )
        x_TBI = network.embedding(unrolled.inputs_TB)[1:]
        for number, layer in enumerate(layers):
            kept_TBH = keep_gates(layer, x_TBI, hidden_TLBH[:-1, number])
            if kept_TBH is not None:
                units = kept_TBH[min(WARM_UP, len(kept_TBH) - 1) :].double().mean(dim=(0, 1))
                found.append(Gate(number + 1, tuple(units.tolist())))
            x_TBI = hidden_TLBH[1:, number]
    return tuple(found)


def _flat(tensors: tuple[Tensor, ...]) -> Tensor:
    """(B, LH) of tensors (layers, B, H), the layers one after the other."""
    return torch.cat([tensor.transpose(0, 1).flatten(1) for tensor in tensors], dim=1)
