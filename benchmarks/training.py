"""Tokens a second of a training step: float32 and bfloat16 against a plain PyTorch loop.

The plain loop is the PyTorch word language model example's, with AdamW: nn.Embedding, nn.LSTM, a
projection, a tied nn.Linear, cross_entropy, clip_grad_norm_; no dropout, no documents. Sizes are
those of the default subword network. The three take turns, a step each, in one process, so that
other load weighs on all alike, and the ratios are of medians. The last row checks that the same
work is timed: from equal weights and without dropout the losses of both loops are equal.

    python -m benchmarks.training [--quick] [--json FILE]
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks import report
from benchmarks.report import Row, exact, timing
from textmill.neural.config import NetworkConfig, Precision
from textmill.neural.training import Training
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary

VOCABULARY, EMBEDDING, HIDDEN = 4_000, 256, 384
BATCH, BPTT, THREADS = 16, 24, 2
WARM_UP = 3


class PlainLoop:
    """The example's model and step over given chunks."""

    def __init__(self) -> None:
        self.embedding = nn.Embedding(VOCABULARY, EMBEDDING)
        self.lstm = nn.LSTM(EMBEDDING, HIDDEN)
        self.projection = nn.Linear(HIDDEN, EMBEDDING, bias=False)
        self.output = nn.Linear(EMBEDDING, VOCABULARY)
        self.output.weight = self.embedding.weight
        modules = (self.embedding, self.lstm, self.projection, self.output)
        self.parameters = list({p: None for module in modules for p in module.parameters()})
        self.optimiser = torch.optim.AdamW(self.parameters, lr=1e-3)
        zeros = torch.zeros(1, BATCH, HIDDEN)
        self.state = (zeros, zeros.clone())

    def take_step(self, inputs_TB: Tensor, targets_TB: Tensor) -> float:
        """One update; its loss."""
        output, state = self.lstm(self.embedding(inputs_TB), self.state)
        logits = self.output(self.projection(output)).flatten(0, 1)
        loss = functional.cross_entropy(logits, targets_TB.flatten())
        self.optimiser.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimiser.step()
        self.state = (state[0].detach(), state[1].detach())
        return loss.item()

    def follow(self, run: Training) -> None:
        """Take over the run's weights."""
        weights = run.network.state_dict()
        with torch.no_grad():
            self.embedding.weight.copy_(weights["embedding.weight"])
            self.projection.weight.copy_(weights["projection.weight"])
            self.output.bias.copy_(weights["head.bias"])
            for name, weight in self.lstm.named_parameters():
                weight.copy_(weights[f"layers.0.cell.{name}"])


def make_run(precision: Precision, dropout: float, scratch: Path) -> Training:
    config = NetworkConfig(
        tokenizer="zipf",
        embedding=EMBEDDING,
        hidden=HIDDEN,
        dropout=dropout,
        bptt=BPTT,
        batch=BATCH,
        steps=10_000,
        evaluate_every=10_000,
        threads=THREADS,
        device="cpu",
        precision=precision,
    )
    lines, vocabulary = zipf_text(VOCABULARY, [200_000])
    return Training(lines, lines, vocabulary, config, scratch)


def zipf_text(size: int, lengths: list[int]) -> tuple[Lines, Vocabulary]:
    """Documents of these many tokens, a line each, whose ids below `size` follow Zipf's law."""
    chances, n_tokens = 1 / np.arange(1, size - 2), sum(lengths)
    rng = np.random.default_rng(0)
    tokens = 3 + rng.choice(size - 3, n_tokens, p=chances / chances.sum())
    numbers, none = np.array(lengths), np.zeros(len(lengths), dtype=np.int64)
    lines = Lines(
        tokens=tokens.astype(np.uint16),
        offsets=np.cumsum([0, *lengths]),
        doc=np.arange(len(lengths), dtype=np.int32),
        n_bytes=numbers,
        n_characters=numbers,
        n_words=numbers,
        n_unknown=none,
        nats_spelling=none.astype(np.float64),
    )
    names = pa.array([f"t{i}" for i in range(size - 3)])
    counts = np.bincount(tokens, minlength=size)
    return lines, Vocabulary(names, counts, scheme="zipf", unknown="none")


def alternate(
    steps: Mapping[str, Callable[[int], object]], rounds: int, warm_up: int = WARM_UP
) -> dict[str, float]:
    """Median seconds of each, taking turns; the first rounds only warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(warm_up + rounds):
        for name, step in steps.items():
            start = time.perf_counter()
            step(number)
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values[warm_up:]) for name, values in seconds.items()}


def speed(scratch: Path, *, quick: bool) -> list[Row]:
    """Rates of the three loops and their ratios."""
    float32, bfloat16 = make_run("float32", 0.1, scratch), make_run("bfloat16", 0.1, scratch)
    plain = PlainLoop()

    def plain_step(number: int) -> float:
        chunk = float32.chunks.chunk(number)
        return plain.take_step(chunk.inputs, chunk.targets)

    medians = alternate(
        {
            "plain": plain_step,
            "float32": lambda _: float32.take_step(),
            "bfloat16": lambda _: bfloat16.take_step(),
        },
        10 if quick else 100,
    )
    rates = [
        timing(f"{name} step", BATCH * BPTT / seconds, "tokens/s", quick=quick)
        for name, seconds in medians.items()
    ]
    ratios = [
        timing(
            f"{name} step, speed",
            medians[against] / medians[name],
            "x",
            quick=quick,
            at_least=at_least,
            against=against,
        )
        for name, against, at_least in [("float32", "plain", 0.9), ("bfloat16", "float32", 1.3)]
    ]
    return rates + ratios


def same_loss(scratch: Path) -> Row:
    """Largest relative difference of the loss over ten steps from equal weights.

    It is not zero: the plain loop gives `<s>` a 4,000th of its probability and decays its biases.
    """
    run, plain = make_run("float32", 0.0, scratch), PlainLoop()
    plain.follow(run)
    worst = 0.0
    for number in range(10):
        chunk = run.chunks.chunk(number)
        run_loss, _ = run.take_step()
        settings = run.optimiser.param_groups[0]
        plain.optimiser.param_groups[0].update(
            {name: settings[name] for name in ("lr", "betas", "weight_decay")}
        )
        worst = max(worst, abs(run_loss / plain.take_step(chunk.inputs, chunk.targets) - 1))
    return exact("loss of ten steps, relative difference", worst, 1e-3, "plain")


def measure(quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as scratch:
        return [*speed(Path(scratch), quick=quick), same_loss(Path(scratch))]


if __name__ == "__main__":
    report.main(__doc__, measure)
