"""The network: embedding, the layers of its architecture, and a head over the vocabulary.

Outputs of the last layer go through a projection where the tied output is of another width.
Dropout (locked, one mask a chunk) stands before the first layer, between layers and after the last,
each with a rate of its own. Embedding
dropout masks what was looked up, which costs less than a masked matrix and is the same.

Suffixes: T time, B batch (columns), N positions, E embedding, H hidden, V vocabulary.
"""

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from textmill.neural.adaptive import EMBEDDING_SPREAD, AdaptiveEmbedding, AdaptiveHead
from textmill.neural.architectures import make_layers
from textmill.neural.config import NetworkConfig
from textmill.neural.dropout import locked_mask, row_mask
from textmill.neural.heads import HEADS, FullHead
from textmill.neural.state import Piece, State, StatefulLayer, run


class Reading(NamedTuple):
    """What a network makes of a chunk.

    output: of the last layer (T, B, H), after dropout. raw: the same before it. state: after.
    """

    output: Tensor
    raw: Tensor
    state: State


class Network(nn.Module):
    """A language model's network; the dropout of `config` acts in training mode only."""

    def __init__(self, vocabulary_size: int, config: NetworkConfig) -> None:
        super().__init__()
        self.dropout = config.dropout
        self.input_dropout = config.input_dropout
        self.output_dropout = config.output_dropout
        self.embedding_dropout = config.embedding_dropout
        self.vocabulary_size = vocabulary_size
        embedding = make_embedding(config, vocabulary_size)
        self.head = make_head(config, vocabulary_size, embedding)
        self.embedding = embedding
        layers = make_layers(config)
        self.layers = nn.ModuleList(layers)
        self.states = [len(layer.zero_state(0)) for layer in layers]
        self.projection = (
            nn.Linear(config.hidden, config.embedding, bias=False)
            if config.tied and config.hidden != config.embedding
            else None
        )

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def zero_state(self, n: int) -> State:
        """State before the first token of n documents."""
        return tuple(part for layer in self._stack() for part in layer.zero_state(n))

    def forward(
        self,
        ids_TB: Tensor,
        state: State,
        parts: list[Piece],
        generator: torch.Generator | None = None,
    ) -> Reading:
        """Read a chunk that `pieces` has cut. generator: of dropout masks."""
        embedded_TBE = self._embed(ids_TB, generator)
        output_TBH = raw_TBH = self._drop(embedded_TBE, self.input_dropout, generator)
        after: State = ()
        rates = [self.dropout] * (len(self.states) - 1) + [self.output_dropout]
        for layer, n_states, rate in zip(self._stack(), self.states, rates, strict=True):
            before, state = state[:n_states], state[n_states:]
            raw_TBH, layer_state = run(layer.for_chunk(generator), output_TBH, before, parts)
            output_TBH = self._drop(raw_TBH, rate, generator)
            after += layer_state
        return Reading(output_TBH, raw_TBH, after)

    def log_probs(self, output_NH: Tensor) -> Tensor:
        """(N, V) ln p of every id after outputs of the last layer; -inf for `<s>`."""
        return self.head.log_probs(self._project(output_NH))

    def nats(self, output_NH: Tensor, ids_N: Tensor) -> Tensor:
        """(N,) -ln p of ids after outputs of the last layer."""
        return self.head.nats(self._project(output_NH), ids_N)

    def total_nats(self, output_NH: Tensor, targets_N: Tensor) -> Tensor:
        """The sum of -ln p over the targets that are no padding, for training."""
        return self.head.total_nats(self._project(output_NH), targets_N)

    def _stack(self) -> list[StatefulLayer]:
        return cast(list[StatefulLayer], list(self.layers))

    def _project(self, output_NH: Tensor) -> Tensor:
        return output_NH if self.projection is None else self.projection(output_NH)

    def _embed(self, ids_TB: Tensor, generator: torch.Generator | None) -> Tensor:
        x_TBE: Tensor = self.embedding(ids_TB)
        if not self.training or self.embedding_dropout == 0:
            return x_TBE
        mask_V1 = row_mask(self.vocabulary_size, x_TBE, self.embedding_dropout, generator)
        return x_TBE * mask_V1[ids_TB]

    def _drop(self, x_TBH: Tensor, rate: float, generator: torch.Generator | None) -> Tensor:
        if not self.training or rate == 0:
            return x_TBH
        return x_TBH * locked_mask(x_TBH, rate, generator)


def make_embedding(config: NetworkConfig, size: int) -> nn.Embedding | AdaptiveEmbedding:
    """The input vectors of `size` ids, adaptive ones where the head is and is tied to them."""
    if config.head == "adaptive" and config.tied:
        return AdaptiveEmbedding(size, config.embedding, config.cutoffs_of(size))
    embedding = nn.Embedding(size, config.embedding)
    nn.init.normal_(embedding.weight, std=EMBEDDING_SPREAD)
    return embedding


def make_head(
    config: NetworkConfig, size: int, embedding: nn.Embedding | AdaptiveEmbedding
) -> FullHead | AdaptiveHead:
    """The head that `config` names, over a vocabulary of `size` ids."""
    width = config.embedding if config.tied else config.hidden
    tied = embedding if config.tied else None
    if config.head == "adaptive":
        return AdaptiveHead(
            width, size, config.cutoffs_of(size), cast(AdaptiveEmbedding | None, tied)
        )
    return HEADS[config.head](width, size, cast(nn.Embedding | None, tied))


def count_parameters(network: nn.Module) -> int:
    """Trainable numbers, tied ones once."""
    return sum(parameter.numel() for parameter in network.parameters())
