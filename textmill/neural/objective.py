"""What training minimises: the mean loss of a chunk's targets, and penalties on activations.

L = nats / targets + alpha * mean(m * h)^2 + beta * mean (h(t+1) - h(t))^2

h are the outputs of the last layer, m their dropout mask; alpha is the activation penalty, beta the
temporal one (Merity et al. 2017). What is reported is the first term alone: with penalties it
would not be a perplexity.

Suffixes: T time, B batch.
"""

import torch
from torch import Tensor, nn

from textmill.neural.config import NetworkConfig
from textmill.neural.network import Network, Reading
from textmill.neural.state import Piece, State, detached


class Objective(nn.Module):
    """The loss of a chunk; one module, so that several processes can share its gradients."""

    def __init__(self, network: Network, config: NetworkConfig) -> None:
        super().__init__()
        self.network = network
        self.activation_penalty = config.activation_penalty or 0.0
        self.temporal_activation_penalty = config.temporal_activation_penalty or 0.0

    def forward(
        self,
        inputs_TB: Tensor,
        targets_TB: Tensor,
        state: State,
        parts: list[Piece],
        generator: torch.Generator,
        n_targets: float,
    ) -> tuple[Tensor, Tensor, State]:
        """The objective, the nats of all targets (a number without gradient), the state after.

        n_targets: that the nats are divided by for the mean over the step.
        """
        reading = self.network(inputs_TB, state, parts, generator)
        nats = self.network.total_nats(reading.output.flatten(0, 1), targets_TB.flatten())
        objective = nats / n_targets + self._penalties(reading)
        return objective, nats.detach(), detached(reading.state)

    def _penalties(self, reading: Reading) -> Tensor | float:
        total: Tensor | float = 0.0
        if self.activation_penalty:
            total += self.activation_penalty * reading.output.float().square().mean()
        if self.temporal_activation_penalty and len(reading.raw) > 1:
            moves = reading.raw[1:].float() - reading.raw[:-1].float()
            total += self.temporal_activation_penalty * moves.square().mean()
        return total
