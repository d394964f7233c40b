"""Recurrent layers from scratch: what the library's fused kernels compute, written out.

They explain (docs/networks.md) and check: with the same weights, outputs and gradients equal those
of `nn.LSTM`, `nn.GRU` and `nn.RNN` to 1e-6 (tested). Names and shapes of the weights are the
library's, so either loads what the other saved. They start from Xavier's weights and zero biases
(Glorot and Bengio 2010). The loop over time costs three times the library's LSTM on a CPU.

The inputs' part of every gate is one product over all time steps, before the loop; the states'
part of all gates is one product a step.

Suffixes: T time, B batch, I inputs, H hidden, G gates times hidden.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from textmill.neural.state import State


class _Recurrence(nn.Module):
    """Weights of `gates` stacked gates and the loop over time; a cell defines `step`."""

    gates: int

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.weight_ih_l0 = nn.Parameter(_xavier(self.gates, hidden, inputs))
        self.weight_hh_l0 = nn.Parameter(_xavier(self.gates, hidden, hidden))
        self.bias_ih_l0 = nn.Parameter(torch.zeros(self.gates * hidden))
        self.bias_hh_l0 = nn.Parameter(torch.zeros(self.gates * hidden))

    def forward(self, x_TBI: Tensor, state: State) -> tuple[Tensor, State]:
        """Hidden states (T, B, H) and the state after; each tensor of `state` is (1, B, H)."""
        from_inputs_TBG = functional.linear(x_TBI, self.weight_ih_l0, self.bias_ih_l0)
        now = tuple(part.squeeze(0) for part in state)
        hidden = []
        for from_inputs_BG in from_inputs_TBG:
            from_state_BG = functional.linear(now[0], self.weight_hh_l0, self.bias_hh_l0)
            now = self.step(from_inputs_BG, from_state_BG, now)
            hidden.append(now[0])
        return torch.stack(hidden), tuple(part.unsqueeze(0) for part in now)

    def step(self, from_inputs_BG: Tensor, from_state_BG: Tensor, state: State) -> State:
        """One time step: the new state, h first."""
        raise NotImplementedError


class LstmCell(_Recurrence):
    """c = f * c + i * g, h = o * tanh(c); gates in the order i, f, g, o.

    Hochreiter and Schmidhuber 1997, with Gers et al.'s forget gate f; g is the candidate.
    """

    gates = 4

    def step(self, from_inputs_BG: Tensor, from_state_BG: Tensor, state: State) -> State:
        """One time step of h and c."""
        i, f, g, o = (from_inputs_BG + from_state_BG).chunk(4, dim=-1)
        c_BH = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c_BH), c_BH


class GruCell(_Recurrence):
    """h = (1 - z) * n + z * h with n = tanh(W x + b + r * (U h + d)); gates r, z, n.

    Cho et al. 2014 in the form that cuDNN computes: the reset gate r acts after the product.
    """

    gates = 3

    def step(self, from_inputs_BG: Tensor, from_state_BG: Tensor, state: State) -> State:
        """One time step of h."""
        r_in, z_in, n_in = from_inputs_BG.chunk(3, dim=-1)
        r_state, z_state, n_state = from_state_BG.chunk(3, dim=-1)
        z_BH = torch.sigmoid(z_in + z_state)
        n_BH = torch.tanh(n_in + torch.sigmoid(r_in + r_state) * n_state)
        return ((1 - z_BH) * n_BH + z_BH * state[0],)


class RnnCell(_Recurrence):
    """h = tanh(W x + b + U h + d), or ReLU in place of tanh (Elman 1990; Le et al. 2015)."""

    gates = 1

    def __init__(self, inputs: int, hidden: int, *, nonlinearity: str) -> None:
        super().__init__(inputs, hidden)
        self.activation = {"tanh": torch.tanh, "relu": torch.relu}[nonlinearity]

    def step(self, from_inputs_BG: Tensor, from_state_BG: Tensor, state: State) -> State:  # noqa: ARG002
        """One time step of h."""
        return (self.activation(from_inputs_BG + from_state_BG),)


def _xavier(gates: int, hidden: int, inputs: int) -> Tensor:
    """(gates * hidden, inputs), each gate's matrix with variance 2 / (inputs + hidden)."""
    return torch.cat([nn.init.xavier_uniform_(torch.empty(hidden, inputs)) for _ in range(gates)])
