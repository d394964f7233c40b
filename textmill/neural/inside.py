"""A network from inside, with gradients: for what goes on learning from it or looks into it.

Everything here works on a network in evaluation mode, so nothing is dropped, and one token or many
at a time. A recurrent layer is whatever has the library's weights `weight_ih_l0`, `weight_hh_l0`,
`bias_ih_l0` and `bias_hh_l0`; how many gates are stacked in them says what it is.

Suffixes: T time, B streams, N positions, I inputs, H hidden, V vocabulary.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from textmill.neural.network import Network
from textmill.neural.recurrent import Recurrent
from textmill.neural.state import Piece, State

GATES: Mapping[int, tuple[str, ...]] = {
    1: ("state",),
    3: ("reset", "update", "candidate"),
    4: ("input", "forget", "candidate", "output"),
}
"""Names of the matrices stacked in an RNN's, a GRU's and an LSTM's weights, in order."""
KEEPING = ("forget", "update")
"""Gates that say how much of the old state stays, of an LSTM and of a GRU."""


def evaluating(network: Network) -> Network:
    """The network in evaluation mode, ready to be differentiated.

    cuDNN differentiates its recurrent kernels only in training mode. They have no dropout of their
    own, so their mode changes no number.
    """
    network.eval()
    for module in network.modules():
        if isinstance(module, nn.RNNBase):
            module.train()
    return network


def read(network: Network, ids_TB: Tensor, state: State) -> tuple[Tensor, State]:
    """(T, B, H) outputs of the last layer, and the state after; no document begins in between."""
    reading = network(ids_TB, state, [Piece(slice(None), None)])
    return reading.output, reading.state


def carried(network: Network, state: State) -> dict[str, list[Tensor]]:
    """A state's tensors (1, B, H) by what they are, a layer each: `h`, and an LSTM's cells `c`.

    Windows of past vectors are left out; a network without recurrence carries nothing.
    """
    found: dict[str, list[Tensor]] = {}
    for layer, n_states in zip(network.layers, network.states, strict=True):
        own, state = state[:n_states], state[n_states:]
        if isinstance(layer, Recurrent):
            for name, tensor in zip("hc", own, strict=False):
                found.setdefault(name, []).append(tensor)
    return found


def recurrent_layers(network: Network) -> list[nn.Module]:
    """The cells of the recurrent layers, from the first to the last."""
    return [layer.cell for layer in network.layers if isinstance(layer, Recurrent)]


def recurrent_matrices(layer: nn.Module) -> dict[str, Tensor]:
    """Gate -> (H, H), what each gate makes of the hidden state before."""
    stacked = layer.get_parameter("weight_hh_l0").detach()
    gates = GATES[stacked.shape[0] // stacked.shape[1]]
    return dict(zip(gates, stacked.chunk(len(gates)), strict=True))


def keep_gates(layer: nn.Module, x_TBI: Tensor, before_TBH: Tensor) -> Tensor | None:
    """(T, B, H) how much of its old state the layer keeps: a GRU's update gate, an LSTM's forget
    gate; None for a layer without. x: what it reads. before: its hidden state before each step.
    """
    names = list(recurrent_matrices(layer))
    place = next((names.index(gate) for gate in KEEPING if gate in names), None)
    if place is None:
        return None
    W_ih, W_hh, b_ih, b_hh = (
        layer.get_parameter(f"{name}_l0").chunk(len(names))[place]
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    from_inputs = functional.linear(x_TBI, W_ih, b_ih)
    return torch.sigmoid(from_inputs + functional.linear(before_TBH, W_hh, b_hh))
