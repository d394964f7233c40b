"""What a network remembers between two chunks: one interface, whatever the architecture.

A state is a tuple of tensors, all with the batch at axis 1: h (1, B, H) of an RNN or GRU layer,
h and c of an LSTM layer, a window of past vectors (W, B, H); the states of several layers stand one
after the other. Whoever carries, cuts, saves or shares a state needs to know no more.

A document begins at state zero, wherever it stands in a chunk. The rows of a chunk at which any
column begins a document cut it into pieces, each run by a fused kernel; the columns that begin
one have their state zeroed before the piece. With documents of thousands of tokens this costs
nothing measurable; with a document a line it costs up to a piece a row.

Suffixes: T time, B batch (columns), H width of a layer.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

State = tuple[Tensor, ...]
"""Tensors with the batch at axis 1."""

Layer = Callable[[Tensor, State], tuple[Tensor, State]]
"""(T, B, in) and the state before -> (T, B, out) and the state after."""


class StatefulLayer(nn.Module):
    """A layer that is called as a `Layer` is."""

    def zero_state(self, n: int) -> State:
        """State before the first token of n documents."""
        raise NotImplementedError

    def for_chunk(self, generator: torch.Generator | None) -> Layer:  # noqa: ARG002
        """What runs over all pieces of a chunk: itself, or itself with weights dropped once."""
        return self


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a chunk that a layer runs over at once.

    begins: bool (B,), which columns begin a document at the first row; None: no column does.
    gradient_scale: of the gradient that goes back over the first row into the state before it.
    """

    rows: slice
    begins: Tensor | None
    gradient_scale: float = 1.0


def pieces(
    starts_TB: Tensor, crossings: Iterable[int] = (), gradient_scale: float = 1.0
) -> Iterator[Piece]:
    """The rows of a chunk, cut where a document starts and at `crossings`.

    starts_TB: bool, true where a document begins. crossings: rows at whose beginning the gradient
    into the state is multiplied by `gradient_scale`.
    """
    rows = [int(row) for row in torch.nonzero(starts_TB.any(dim=1)).flatten()]
    scaled = set(crossings)
    bounds = sorted({0, *rows, *scaled, len(starts_TB)})
    for first, stop in itertools.pairwise(bounds):
        begins_B = starts_TB[first] if first in rows else None
        yield Piece(slice(first, stop), begins_B, gradient_scale if first in scaled else 1.0)


def run(layer: Layer, x_TBH: Tensor, state: State, parts: list[Piece]) -> tuple[Tensor, State]:
    """A layer over all pieces of a chunk: its outputs (T, B, H) and the state after."""
    outputs = []
    for piece in parts:
        if piece.begins is not None:
            state = _afresh(state, piece.begins)
        if piece.gradient_scale != 1.0:
            state = tuple(scale_gradient(part, piece.gradient_scale) for part in state)
        output, state = layer(x_TBH[piece.rows], state)
        outputs.append(output)
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs), state


def detached(state: State) -> State:
    """The same numbers, over which no gradient flows."""
    return tuple(part.detach() for part in state)


def first_streams(state: State, n: int) -> State:
    """The state of the first n streams."""
    return tuple(part[:, :n].contiguous() for part in state)


def moved_on(state: State) -> State:
    """The state of column b given to column b + 1, as at the end of an epoch."""
    return tuple(part.roll(1, dims=1) for part in state)


def scale_gradient(x: Tensor, factor: float) -> Tensor:
    """`x`, whose gradient is multiplied by `factor` on its way back."""
    scaled: Tensor = _ScaleGradient.apply(x, factor)  # type: ignore[no-untyped-call]
    return scaled


def _afresh(state: State, begins_B: Tensor) -> State:
    """Zeros for the columns that begin a document."""
    keep_B1 = (~begins_B)[None, :, None]
    return tuple(part * keep_B1.to(part.device) for part in state)


class _ScaleGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        return gradients[0] * ctx.factor, None
