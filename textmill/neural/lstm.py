"""The network: embedding, LSTM layers, output tied to the embedding.

`nn.LSTM` a layer, because its fused kernel (oneDNN on CPU, cuDNN on CUDA) is three times as fast
as any loop over cells; one module a layer, so that locked dropout stands between layers and the
library's own dropout, which draws a mask a time step, stays off. The output shares the
embedding's matrix (Press and Wolf 2017): at 4,000 x 384 that saves 1.5 M of 5.4 M parameters and
generalises better. `<s>` is never predicted: its logit is -inf.

A document begins at state zero, wherever it stands in a chunk. The rows of a chunk at which any
column begins a document cut it into pieces, each run by the fused kernel; the columns that begin
one have their state zeroed before the piece. With documents of thousands of tokens this costs
nothing measurable; with a document a line it costs up to a piece a row.

Suffixes: T time, B batch (columns), E embedding, H hidden, L layers, V vocabulary.
"""

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from textmill.neural.config import NetworkConfig
from textmill.neural.dropout import drop_rows, locked_mask
from textmill.tokenizers.vocabulary import BEGIN

State = tuple[Tensor, Tensor]
"""h and c, each (L, B, H)."""

EMBEDDING_SPREAD = 0.05


class LstmNetwork(nn.Module):
    """Next-token logits from ids; the dropout of `config` acts in training mode only."""

    def __init__(self, vocabulary_size: int, config: NetworkConfig) -> None:
        super().__init__()
        self.hidden = config.hidden
        self.dropout = config.dropout
        self.embedding_dropout = config.embedding_dropout
        self.embedding = nn.Embedding(vocabulary_size, config.embedding)
        nn.init.normal_(self.embedding.weight, std=EMBEDDING_SPREAD)
        widths = [config.embedding] + [config.hidden] * (config.layers - 1)
        self.layers = nn.ModuleList(nn.LSTM(width, config.hidden) for width in widths)
        self.projection = (
            nn.Linear(config.hidden, config.embedding, bias=False)
            if config.hidden != config.embedding
            else None
        )
        self.bias = nn.Parameter(torch.zeros(vocabulary_size))
        self.never_predicted: Tensor
        self.register_buffer("never_predicted", _only_begin(vocabulary_size), persistent=False)

    def zero_state(self, n: int) -> State:
        """State before the first token of n documents."""
        zeros = self.bias.new_zeros(len(self.layers), n, self.hidden)
        return zeros, zeros.clone()

    def forward(
        self,
        ids_TB: Tensor,
        state: State,
        starts_TB: Tensor,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, State]:
        """Outputs of the last layer (T, B, H) and the state after.

        starts_TB: bool, on the CPU, true where a document begins. generator: of dropout masks.
        """
        x_TBH = self._drop(self._embed(ids_TB, generator), generator)
        pieces = list(_pieces(starts_TB))
        after = []
        for layer, h_BH, c_BH in zip(self.layers, *state, strict=True):
            x_TBH, layer_state = _run(layer, x_TBH, (h_BH[None], c_BH[None]), pieces)
            x_TBH = self._drop(x_TBH, generator)
            after.append(layer_state)
        h_LBH, c_LBH = (torch.cat(parts) for parts in zip(*after, strict=True))
        return x_TBH, (h_LBH, c_LBH)

    def logits(self, output_NH: Tensor) -> Tensor:
        """(..., V) logits from outputs of the last layer; -inf for `<s>`."""
        if self.projection is not None:
            output_NH = self.projection(output_NH)
        bias_V = self.bias + self.never_predicted
        return functional.linear(output_NH, self.embedding.weight, bias_V)

    def _embed(self, ids_TB: Tensor, generator: torch.Generator | None) -> Tensor:
        weight_VE = self.embedding.weight
        if self.training and self.embedding_dropout > 0:
            weight_VE = drop_rows(weight_VE, self.embedding_dropout, generator)
        return functional.embedding(ids_TB, weight_VE)

    def _drop(self, x_TBH: Tensor, generator: torch.Generator | None) -> Tensor:
        if not self.training or self.dropout == 0:
            return x_TBH
        return x_TBH * locked_mask(x_TBH, self.dropout, generator)


def _only_begin(vocabulary_size: int) -> Tensor:
    mask_V = torch.zeros(vocabulary_size)
    mask_V[BEGIN] = -torch.inf
    return mask_V


def _pieces(starts_TB: Tensor) -> Iterator[tuple[slice, Tensor | None]]:
    """Runs of rows, each with which columns begin a document at its first row (None: none do)."""
    rows = [int(row) for row in torch.nonzero(starts_TB.any(dim=1)).flatten()]
    bounds = sorted({0, *rows, len(starts_TB)})
    for first, stop in itertools.pairwise(bounds):
        yield slice(first, stop), starts_TB[first] if first in rows else None


def _run(
    layer: nn.Module, x_TBH: Tensor, state: State, pieces: list[tuple[slice, Tensor | None]]
) -> tuple[Tensor, State]:
    outputs = []
    for rows, begins_B in pieces:
        if begins_B is not None:
            keep = (~begins_B).to(x_TBH.device)[None, :, None]
            state = (state[0] * keep, state[1] * keep)
        output, state = layer(x_TBH[rows], state)
        outputs.append(output)
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs), state


def count_parameters(network: nn.Module) -> int:
    """Trainable numbers, the tied matrix once."""
    return sum(parameter.numel() for parameter in network.parameters())
