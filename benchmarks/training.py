"""Tokens a second of a training step: float32 and bfloat16 against a plain PyTorch loop.

The plain loop is what the PyTorch word language model example does, with AdamW: nn.Embedding,
one nn.LSTM of two layers, nn.Linear, cross_entropy, clip_grad_norm_. Sizes are those of the
default subword network. The three take turns, a step each, in one process, and the ratio of
medians is reported, so that other load on the machine weighs on all of them alike. A last row
checks that with equal weights and no dropout the losses are equal, so that the same work is timed.

    python -m benchmarks.training [--quick] [--json FILE]
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn
from torch.nn import functional

from textmill.neural.config import NetworkConfig, Precision
from textmill.neural.training import Training
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary

VOCABULARY = 4_000
SIZE = 384
BATCH, BPTT, THREADS = 16, 64, 2


class PlainLoop:
    """The example's model and step, tied, over given chunks."""

    def __init__(self) -> None:
        self.embedding = nn.Embedding(VOCABULARY, SIZE)
        self.lstm = nn.LSTM(SIZE, SIZE, 2)
        self.output = nn.Linear(SIZE, VOCABULARY)
        self.output.weight = self.embedding.weight
        modules = (self.embedding, self.lstm, self.output)
        self.parameters = list({p: None for m in modules for p in m.parameters()})
        self.optimiser = torch.optim.AdamW(self.parameters, lr=1e-3)
        zeros = torch.zeros(2, BATCH, SIZE)
        self.state = (zeros, zeros.clone())

    def take_step(self, inputs_TB: Tensor, targets_TB: Tensor) -> float:
        output, state = self.lstm(self.embedding(inputs_TB), self.state)
        logits = self.output(output).flatten(0, 1)
        loss = functional.cross_entropy(logits, targets_TB.flatten())
        self.optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimiser.step()
        self.state = (state[0].detach(), state[1].detach())
        return loss.item()

    def copy_weights_of(self, run: Training) -> None:
        network = run.network
        with torch.no_grad():
            self.embedding.weight.copy_(network.embedding.weight)
            self.output.bias.copy_(network.bias)
            for i, layer in enumerate(network.layers):
                for name, weight in layer.named_parameters():
                    getattr(self.lstm, name.replace("l0", f"l{i}")).copy_(weight)


def make_run(precision: Precision, dropout: float, scratch: Path) -> Training:
    config = NetworkConfig(
        tokenizer="zipf",
        embedding=SIZE,
        hidden=SIZE,
        layers=2,
        dropout=dropout,
        bptt=BPTT,
        batch=BATCH,
        steps=10_000,
        evaluate_every=10_000,
        threads=THREADS,
        device="cpu",
        precision=precision,
    )
    lines, vocabulary = zipf_text()
    return Training(lines, lines, vocabulary, config, scratch)


def zipf_text(n_tokens: int = 200_000) -> tuple[Lines, Vocabulary]:
    """One document whose ids follow Zipf's law."""
    chances = 1 / np.arange(1, VOCABULARY - 2)
    rng = np.random.default_rng(0)
    tokens = 3 + rng.choice(VOCABULARY - 3, n_tokens, p=chances / chances.sum())
    one = np.array([n_tokens])
    lines = Lines(
        tokens=tokens.astype(np.uint16),
        offsets=np.array([0, n_tokens]),
        doc=np.zeros(1, dtype=np.int32),
        n_bytes=one,
        n_characters=one,
        n_words=one,
        n_unknown=np.zeros(1, dtype=np.int64),
        nats_spelling=np.zeros(1),
    )
    names = pa.array([f"t{i}" for i in range(VOCABULARY - 3)])
    counts = np.bincount(tokens, minlength=VOCABULARY)
    return lines, Vocabulary(names, counts, scheme="zipf", unknown="none")


def alternate(steps: dict[str, Callable[[int], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each, taking turns; the first three rounds only warm up."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(rounds + 3):
        for name, step in steps.items():
            start = time.perf_counter()
            step(number)
            if number >= 3:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def measure(scratch: Path, rounds: int, *, quick: bool) -> list[dict[str, Any]]:
    float32 = make_run("float32", 0.15, scratch)
    bfloat16 = make_run("bfloat16", 0.15, scratch)
    plain = PlainLoop()

    def plain_step(number: int) -> float:
        chunk = float32.columns.chunk(number)
        return plain.take_step(chunk.inputs, chunk.targets)

    medians = alternate(
        {
            "plain": plain_step,
            "float32": lambda _: float32.take_step(),
            "bfloat16": lambda _: bfloat16.take_step(),
        },
        rounds,
    )
    rows = [
        row(f"{name} step", BATCH * BPTT / seconds, "tokens/s", None, None, "")
        for name, seconds in medians.items()
    ]
    for name, against, target in [("float32", "plain", 1.0), ("bfloat16", "float32", 1.5)]:
        ratio = medians[against] / medians[name]
        holds = None if quick else ratio >= target
        rows.append(row(f"{name} step, speed", ratio, "x", target, holds, against))
    return rows


def same_loss(scratch: Path) -> dict[str, Any]:
    """Largest relative difference from the plain loop over ten steps from equal weights."""
    run, plain = make_run("float32", 0.0, scratch), PlainLoop()
    plain.copy_weights_of(run)
    worst = 0.0
    for number in range(10):
        chunk = run.columns.chunk(number)
        run_loss, _ = run.take_step()
        # The plain loop's rate is set to the schedule's, its decay and betas to the run's.
        plain.optimiser.param_groups[0].update(run_settings(run))
        plain_loss = plain.take_step(chunk.inputs, chunk.targets)
        worst = max(worst, abs(run_loss / plain_loss - 1))
    # The plain loop also spends probability on <s> (1/4,000) and decays its biases.
    return row("loss of ten steps, difference", worst, "relative", 1e-3, worst < 1e-3, "plain")


def run_settings(run: Training) -> dict[str, Any]:
    group = run.optimiser.param_groups[0]
    return {name: group[name] for name in ("lr", "betas", "weight_decay")}


def row(
    name: str, value: float, unit: str, target: float | None, holds: bool | None, against: str
) -> dict[str, Any]:
    return {
        "name": name,
        "value": value,
        "unit": unit,
        "target": target,
        "holds": holds,
        "against": against,
    }


def table(rows: list[dict[str, Any]]) -> str:
    lines = [f"{'what':<32}{'value':>12} {'unit':<10}{'target':>8}  holds  against"]
    for r in rows:
        target = "" if r["target"] is None else f"{r['target']:g}"
        holds = {None: "", True: "yes", False: "no"}[r["holds"]]
        value = f"{r['value']:,.4g}" if r["value"] < 1000 else f"{r['value']:,.0f}"
        lines.append(
            f"{r['name']:<32}{value:>12} {r['unit']:<10}{target:>8}  {holds:<6} {r['against']}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, under a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        rows = measure(Path(scratch), 8 if arguments.quick else 60, quick=arguments.quick)
        rows.append(same_loss(Path(scratch)))
    print(table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
