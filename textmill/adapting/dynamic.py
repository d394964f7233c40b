"""Dynamic evaluation (Krause et al. 2017, "Dynamic evaluation of neural sequence models").

After each segment has been scored the network takes one step of gradient descent on it:

    w <- w - learning_rate * g / (rms + epsilon) + decay * pull * (w_trained - w)

rms is the root of the mean squared gradient of each weight over segments from all over the training
text: a weight that such a segment moves a lot may move a lot here. pull is rms over its mean (at
most 1 / decay, so that no weight is drawn beyond its trained value): a weight that moves a lot is
also drawn back more. epsilon is in mean rms. With many of them, the default, steps are nearly those
of plain gradient descent: with a small one the vectors of rare words, which have a gradient once in
a thousand segments and a large one then, leap (measured: docs/results.md).

Costs, an LSTM of 2 x 450 over 33,278 words, adaptive and tied (8.9 M weights): a segment of 20
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
from textmill.neural.network import Network, Reading
from textmill.neural.state import State, pieces
from textmill.neural.text import TrainingText
from textmill.shards.reader import Lines

SEGMENTS = 600
"""Of the training text, over which the gradients' statistics are taken."""


def gradient_rms(network: Network, text: TrainingText, *, segment: int, seed: int) -> list[Tensor]:
    """Root mean squared gradient of each parameter over segments, one at a time, as they will come.

    They stand all over the text, each behind another one that gives it a state.
    """
    batch = min(max(len(text) // (2 * segment), 1), SEGMENTS)
    columns = Columns(text, batch=batch, bptt=segment, seed=seed)
    weights = list(evaluating(network).parameters())
    squares = [torch.zeros_like(weight) for weight in weights]
    state = network.zero_state(batch)
    if columns.chunks > 1:
        with torch.no_grad():
            state = _read(network, columns.chunk(0), state).state
    chunk = columns.chunk(min(1, columns.chunks - 1))
    for column in range(batch):
        one = slice(column, column + 1)
        mine = chunk.columns(one)
        if bool((mine.targets == PADDING).all()):
            continue
        loss = _loss(network, mine, tuple(part[:, one].contiguous() for part in state))
        for square, gradient in zip(squares, gradients_of(loss, weights), strict=True):
            if gradient is not None:
                square.addcmul_(gradient, gradient)
    return [(square / batch).sqrt() for square in squares]


def _read(network: Network, chunk: Chunk, state: State) -> Reading:
    reading: Reading = network(chunk.inputs.to(network.device), state, list(pieces(chunk.starts)))
    return reading


def _loss(network: Network, chunk: Chunk, state: State) -> Tensor:
    """Mean nats of a chunk's targets."""
    output_NH = _read(network, chunk, state).output.flatten(0, 1)
    targets_N = chunk.targets.to(network.device).flatten()
    is_real_N = targets_N != PADDING
    return network.nats(output_NH[is_real_N], targets_N[is_real_N]).mean()


def gradients_of(loss: Tensor, weights: list[nn.Parameter]) -> tuple[Tensor | None, ...]:
    """Of each weight; None where the loss does not depend on it, as on an unused cluster."""
    return torch.autograd.grad(loss, weights, allow_unused=True)


class DynamicNetwork:
    """A copy of a trained network that learns from what it reads; the trained one stays."""

    def __init__(
        self,
        trained: Network,
        rms: list[Tensor],
        *,
        learning_rate: float,
        decay: float,
        epsilon: float,
    ) -> None:
        self.network = copy.deepcopy(trained)
        for module in self.network.modules():
            if isinstance(module, nn.RNNBase):
                module.flatten_parameters()  # a copy has its weights apart, as cuDNN has not
        self._weights = list(self.network.parameters())
        self._trained = [weight.detach().clone() for weight in self._weights]
        mean = float(torch.cat([one.flatten() for one in rms]).mean())
        most = 1 / decay if decay > 0 else torch.inf
        self._scales = [learning_rate / (one + epsilon * mean) for one in rms]
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
    epsilon: float,
    segment: int,
) -> Iterator[Scored]:
    """Every token of the split by a network that starts as trained and learns on the way."""
    dynamic = DynamicNetwork(
        trained, rms, learning_rate=learning_rate, decay=decay, epsilon=epsilon
    )
    return read_stream(dynamic.network, lines, segment=segment, learn=dynamic.learn)
