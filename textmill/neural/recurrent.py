"""One recurrent layer: a library kernel or a cell from scratch, behind the interface of states.

The library's kernels (oneDNN on CPU, cuDNN on CUDA) are three times as fast as any loop over
cells. One module a layer, so that locked dropout stands between layers and the library's own
dropout, which draws a mask a time step, stays off.

Weight drop (Merity et al. 2017) sets entries of the recurrent matrix to zero for a whole chunk.
The dropped matrix goes into the kernel by `functional_call`: the raw weight stays a parameter, the
names of the weights never change, and evaluation sees it whole, in any order of training and
evaluation. (On CUDA cuDNN then copies a layer's weights into one piece at every call.)

Suffixes: T time, B batch, H hidden.
"""

from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call

from textmill.neural.cells import GruCell, LstmCell, RnnCell
from textmill.neural.config import NetworkConfig
from textmill.neural.dropout import drop
from textmill.neural.state import Layer, State, StatefulLayer

WEIGHT = "weight_hh_l0"


class Recurrent(StatefulLayer):
    """An RNN, GRU or LSTM layer; `state` is (h,) or (h, c), each (1, B, H)."""

    def __init__(self, inputs: int, config: NetworkConfig) -> None:
        super().__init__()
        self.width = config.hidden
        self.weight_drop = config.weight_drop or 0.0
        self.cell = _make_cell(inputs, config)
        self.states = 2 if isinstance(self.cell, nn.LSTM | LstmCell) else 1

    def zero_state(self, n: int) -> State:
        """State before the first token of n documents."""
        like = next(self.cell.parameters())
        return tuple(like.new_zeros(1, n, self.width) for _ in range(self.states))

    def forward(self, x_TBH: Tensor, state: State) -> tuple[Tensor, State]:
        """Hidden states (T, B, H) and the state after."""
        return _read(self.cell, x_TBH, state)

    def for_chunk(self, generator: torch.Generator | None) -> Layer:
        """The layer with one draw of weight drop for a whole chunk; itself in evaluation."""
        if not self.training or self.weight_drop == 0:
            return self
        dropped = drop(self.cell.get_parameter(WEIGHT), self.weight_drop, generator)
        return partial(_read, self.cell, dropped=dropped)


def _read(
    cell: nn.Module, x_TBH: Tensor, state: State, dropped: Tensor | None = None
) -> tuple[Tensor, State]:
    """The cell's outputs; single states go in and come out bare in the library."""
    bare = len(state) == 1 and not isinstance(cell, GruCell | RnnCell)
    given = (x_TBH, state[0] if bare else state)
    if dropped is None:
        output_TBH, after = cell(*given)
    else:
        output_TBH, after = functional_call(cell, {WEIGHT: dropped}, given)
    return output_TBH, (after,) if bare else after


def _make_cell(inputs: int, config: NetworkConfig) -> nn.Module:
    kind = "lstm" if config.architecture == "attention_lstm" else config.architecture
    sizes = (inputs, config.hidden)
    if config.implementation == "reference":
        if kind == "rnn":
            return RnnCell(*sizes, nonlinearity=str(config.nonlinearity))
        return {"lstm": LstmCell, "gru": GruCell}[kind](*sizes)
    if kind == "rnn":
        return nn.RNN(*sizes, nonlinearity=str(config.nonlinearity))
    return {"lstm": nn.LSTM, "gru": nn.GRU}[kind](*sizes)
