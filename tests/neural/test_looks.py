"""What a look and the progress line tell of a training, counted anew here."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from textmill.base import progress
from textmill.neural.config import NetworkConfig
from textmill.neural.state import State, pieces
from textmill.neural.train import train
from textmill.neural.training import Training
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary

Configure = Callable[..., NetworkConfig]
Speak = Callable[..., Vocabulary]
Write = Callable[..., Lines]
Run = Callable[..., Training]

SIZE = 12


def test_the_training_loss_is_a_mean_over_targets_and_not_over_chunks(make_run: Run) -> None:
    run = make_run(batch=2, bptt=9)
    losses, targets = zip(*(run.take_step() for _ in range(run.chunks.chunks)), strict=True)
    assert len(set(targets)) > 1
    run.look()
    (look,) = run.history.looks
    assert look.tokens == sum(targets)
    assert look.train_loss == pytest.approx(np.average(losses, weights=targets), rel=1e-12)
    assert abs(look.train_loss - np.mean(losses)) > 1e-4


def test_random_truncation_weighs_every_token_alike(make_run: Run) -> None:
    """A chunk's loss is a mean, so its rate goes with its length."""
    run = make_run(
        truncation="random", continuation=0.6, bptt=3, batch=1, steps=40, schedule="constant",
        warmup=0,
    )  # fmt: skip
    seen = []
    for _ in range(12):
        rows = len(run.chunks.chunk(run.step).inputs)
        run.take_step()
        seen.append((rows, run.rate / run.config.learning_rate))
    assert len({rows for rows, _ in seen}) > 1
    for rows, scale in seen:
        assert scale == pytest.approx(rows / 3)


def test_hidden_states_and_cells_go_on_into_the_next_step(make_run: Run) -> None:
    """The second chunk's loss is that of a network which begins it with both, and with no less."""
    run = make_run(dropout=0.0, learning_rate=1e-30, warmup=0, schedule="constant")
    run.take_step()
    carried = run.state
    assert len(carried) == 4, "hidden states and cells of two layers"
    chunk = run.chunks.chunk(1)
    loss, _ = run.take_step()

    def loss_from(state: State) -> float:
        network = run.network.eval()
        with torch.no_grad():
            reading = network(chunk.inputs, state, list(pieces(chunk.starts)))
            nats = network.nats(reading.output.flatten(0, 1), chunk.targets.flatten())
        return float(nats.mean())

    assert not chunk.starts.any()
    assert loss_from(carried) == pytest.approx(loss, rel=1e-6)
    for part in range(len(carried)):
        without = tuple(
            torch.zeros_like(one) if number == part else one for number, one in enumerate(carried)
        )
        assert abs(loss_from(without) - loss) > 1e-6


def test_the_progress_line_tells_loss_perplexity_rate_and_time_left(
    tmp_path: Path, lines: Lines, make_vocabulary: Speak, make_config: Configure,
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setitem(progress.SECONDS_BETWEEN_LINES, False, 0.0)
    caplog.set_level("INFO")
    where = {"folder": tmp_path / "model", "scratch": tmp_path / "scratch"}
    train(lines, lines, make_vocabulary(SIZE), make_config(), **where)
    told = [line for line in caplog.messages if "perplexity" in line]
    assert len(told) == 12
    form = (
        r"training: 75/171 tokens, loss ([\d.]+), perplexity ([\d.]+), valid_loss [\d.]+, "
        r"[\d,]+ tokens/s, \d:\d\d left"
    )
    found = re.fullmatch(form, told[4])
    assert found, told[4]
    assert float(found[2]) == pytest.approx(np.exp(float(found[1])), rel=0.002)
