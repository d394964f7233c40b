"""Dynamic evaluation (Krause et al. 2017, "Dynamic evaluation of neural sequence models").

After each segment has been scored the network takes one step of gradient descent on it:

    w <- w - learning_rate * g / (rms + epsilon) + decay * pull * (w_trained - w)

rms is the root of the mean squared gradient of each weight over the training text: a weight that
training moves a lot may move a lot here. pull is rms over its mean (at most 1 / decay, so that no
weight is drawn beyond its trained value): a weight that moves a lot is also drawn back more.
epsilon, a share of the mean rms, bounds the step of weights that training hardly ever moves.

Costs, an LSTM of 2 x 450 over 33,278 words, adaptive and tied (6.8 M weights): a segment of 20
tokens takes about 50 ms of one core, half of them in the LSTM, a quarter in moving all weights.
"""

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from textmill.adapting.stream import Scored, read_stream
from textmill.neural.chunk import PADDING, Chunk
from textmill.neural.columns import Columns
from textmill.neural.inside import evaluating
from textmill.neural.network import Network
from textmill.neural.state import State, detached, pieces
from textmill.shards.reader import Lines

CHUNKS = 100
"""Chunks of the training text that the gradients' statistics are taken over."""
EPSILON = 1.0
"""As a share of the mean rms."""


def gradient_rms(network: Network, columns: Columns, *, batch: int) -> list[Tensor]:
    """Root mean squared gradient of each parameter over the first chunks of the training columns.

    The columns stand all over the text, so the first chunk already comes from everywhere.
    """
    weights = list(evaluating(network).parameters())
    squares = [torch.zeros_like(weight) for weight in weights]
    state = network.zero_state(batch)
    chunks = min(columns.chunks, CHUNKS)
    for step in range(chunks):
        chunk = columns.chunk(step)
        loss, state = _chunk_loss(network, chunk, state)
        for square, gradient in zip(squares, gradients_of(loss, weights), strict=True):
            if gradient is not None:
                square.addcmul_(gradient, gradient)
        state = detached(state)
    return [(square / chunks).sqrt() for square in squares]


def _chunk_loss(network: Network, chunk: Chunk, state: State) -> tuple[Tensor, State]:
    """Mean nats of a chunk's targets, and the state after."""
    parts = list(pieces(chunk.starts))
    reading = network(chunk.inputs.to(network.device), state, parts)
    targets_N = chunk.targets.to(network.device).flatten()
    is_real_N = targets_N != PADDING
    nats_N = network.nats(reading.output.flatten(0, 1)[is_real_N], targets_N[is_real_N])
    return nats_N.mean(), reading.state


def gradients_of(loss: Tensor, weights: list[nn.Parameter]) -> tuple[Tensor | None, ...]:
    """Of each weight; None where the loss does not depend on it, as on an unused cluster."""
    return torch.autograd.grad(loss, weights, allow_unused=True)


class DynamicNetwork:
    """A copy of a trained network that learns from what it reads; the trained one stays."""

    def __init__(
        self, trained: Network, rms: list[Tensor], *, learning_rate: float, decay: float
    ) -> None:
        self.network = copy.deepcopy(trained)
        self._weights = list(self.network.parameters())
        self._trained = [weight.detach().clone() for weight in self._weights]
        mean = float(torch.cat([one.flatten() for one in rms]).mean())
        most = 1 / decay if decay > 0 else torch.inf
        self._scales = [learning_rate / (one + EPSILON * mean) for one in rms]
        self._pulls = [decay * (one / mean).clamp(max=most) for one in rms]

    def learn(self, loss: Tensor) -> None:
        """One step down the gradient of a segment's mean nats."""
        gradients = gradients_of(loss, self._weights)
        with torch.no_grad():
            for weight, gradient, trained, scale, pull in zip(
                self._weights, gradients, self._trained, self._scales, self._pulls, strict=True
            ):
                weight.lerp_(trained, pull)
                if gradient is not None:
                    weight.addcmul_(scale, gradient, value=-1)


def read_dynamically(
    trained: Network,
    rms: list[Tensor],
    lines: Lines,
    *,
    learning_rate: float,
    decay: float,
    segment: int,
) -> Iterator[Scored]:
    """Every token of the split by a network that starts as trained and learns on the way."""
    dynamic = DynamicNetwork(trained, rms, learning_rate=learning_rate, decay=decay)
    return read_stream(dynamic.network, lines, segment=segment, learn=dynamic.learn)
