"""The PyTorch word language model example's network, training step and evaluation, kept plain.

nn.Embedding, nn.LSTM of two layers, nn.Linear of its own weights, log_softmax and NLLLoss over all
positions at once, clipping, and SGD by hand at the example's rate. `benchmarks.neural` sets ours
against it. Its float32 is PyTorch's default on a GPU too: cuDNN may use TF32.

Suffixes: T time, B batch (columns), N positions, V vocabulary.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from textmill.neural.config import Precision
from textmill.neural.training import Training
from textmill.tokenizers.vocabulary import BEGIN

LAYERS, RATE, CLIP = 2, 20.0, 0.25
EVALUATION_BATCH, EVALUATION_BPTT = 10, 35

PlainState = tuple[Tensor, Tensor]


class PlainNetwork(nn.Module):
    """ids (T, B) and (h, c) to log-probabilities (N, V) and the state after."""

    def __init__(self, size: int, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embedding = nn.Embedding(size, width)
        self.lstm = nn.LSTM(width, width, LAYERS, dropout=dropout)
        self.output = nn.Linear(width, size)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        nn.init.uniform_(self.output.weight, -0.1, 0.1)
        nn.init.zeros_(self.output.bias)

    def zero_state(self, n: int) -> PlainState:
        zeros = self.output.bias.new_zeros(LAYERS, n, self.lstm.hidden_size)
        return zeros, zeros.clone()

    def forward(self, ids_TB: Tensor, state: PlainState) -> tuple[Tensor, PlainState]:
        output_TBH, after = self.lstm(self.dropout(self.embedding(ids_TB)), state)
        logits_NV = self.output(self.dropout(output_TBH)).flatten(0, 1)
        return functional.log_softmax(logits_NV, dim=1), after


class PlainTraining:
    """The network between two steps; a step ends with its loss on the host, as ours does."""

    def __init__(self, network: PlainNetwork, batch: int, precision: Precision = "float32") -> None:
        self.network = network
        self.criterion = nn.NLLLoss()
        self.precision = precision
        self.state = network.zero_state(batch)

    def take_step(self, inputs_TB: Tensor, targets_TB: Tensor) -> float:
        """One update; its loss."""
        self.network.train()
        self.network.zero_grad()
        device, half = inputs_TB.device.type, self.precision == "bfloat16"
        with (
            torch.backends.cudnn.flags(enabled=True, allow_tf32=True),
            torch.autocast(device, torch.bfloat16, enabled=half),
        ):
            log_probs_NV, state = self.network(inputs_TB, self.state)
            loss = self.criterion(log_probs_NV, targets_TB.flatten())
            torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        with torch.no_grad():
            for parameter in self.network.parameters():
                parameter.add_(parameter.grad, alpha=-RATE)
        self.state = (state[0].detach(), state[1].detach())
        return loss.item()


class PlainSteps:
    """The example's steps over the chunks of a run, put on the device beforehand."""

    def __init__(self, run: Training, precision: Precision = "float32") -> None:
        self.network = PlainNetwork(len(run.vocabulary), run.config.hidden, run.config.dropout)
        self.network.to(run.device)
        self.training = PlainTraining(self.network, run.config.batch, precision)
        chunks = [run.chunks.chunk(number) for number in range(run.chunks.chunks)]
        self.chunks = [(c.inputs.to(run.device), c.targets.to(run.device)) for c in chunks]

    def __call__(self, number: int) -> float:
        return self.training.take_step(*self.chunks[number % len(self.chunks)])

    def follow(self, run: Training) -> None:
        """Take over the run's weights, and that `<s>` is never predicted."""
        weights = run.network.state_dict()
        with torch.no_grad():
            self.network.embedding.weight.copy_(weights["embedding.weight"])
            self.network.output.weight.copy_(weights["head.weight"])
            self.network.output.bias.copy_(weights["head.bias"])
            self.network.output.bias[BEGIN] = -torch.inf
            for name, weight in self.network.lstm.named_parameters():
                weight.copy_(weights[f"layers.{name[-1]}.cell.{name[:-1]}0"])


def evaluate(network: PlainNetwork, ids: Tensor, batch: int = EVALUATION_BATCH) -> float:
    """Mean nats of ids in `batch` columns, each column's first left out; the tail is cut off."""
    rows = len(ids) // batch
    columns_TB = ids[: rows * batch].view(batch, rows).T.contiguous()
    criterion, state, nats = nn.NLLLoss(), network.zero_state(batch), 0.0
    network.eval()
    with torch.no_grad():
        for first in range(0, rows - 1, EVALUATION_BPTT):
            targets_TB = columns_TB[first + 1 : first + 1 + EVALUATION_BPTT]
            inputs_TB = columns_TB[first : first + len(targets_TB)]
            log_probs_NV, state = network(inputs_TB, state)
            nats += len(targets_TB) * criterion(log_probs_NV, targets_TB.flatten()).item()
    return nats / (rows - 1)
