"""Training: learns, stops when it should, keeps the best, and says why it cannot go on."""

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from textmill.base.errors import UserError
from textmill.neural import training as training_module
from textmill.neural.config import NetworkConfig
from textmill.neural.history import Look, as_csv
from textmill.neural.model import load
from textmill.neural.network import Reading
from textmill.neural.schedule import learning_rate
from textmill.neural.state import Piece, State, pieces
from textmill.neural.train import train
from textmill.neural.training import Training
from textmill.scoring.likelihood import token_nats
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import END, Vocabulary

Configure = Callable[..., NetworkConfig]
Speak = Callable[..., Vocabulary]
Write = Callable[..., Lines]
Run = Callable[..., Training]

SIZE = 12


def _history(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "history.csv").read_text().splitlines()))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_tiny_text_is_learnt_by_heart(
    tmp_path: Path, lines: Lines, make_vocabulary: Speak, make_config: Configure, precision: str
) -> None:
    vocabulary = make_vocabulary(SIZE)
    config = make_config(
        hidden=32, embedding=16, steps=150, evaluate_every=50, learning_rate=0.02, bptt=16,
        precision=precision,
    )  # fmt: skip
    folder = tmp_path / "model"
    train(lines, lines, vocabulary, config, folder=folder, scratch=tmp_path / "scratch")
    facts = json.loads((folder / "model.json").read_text())
    # Knowing one token back, the poem costs (6 ln 3 + 2 ln 2) / 16 = 0.50 nats; knowing all, 0.
    assert facts["valid_loss"] < 0.05
    rows = _history(folder)
    assert [int(row["step"]) for row in rows] == [50, 100, 150]
    # 96 tokens an epoch of two chunks.
    assert [int(row["tokens"]) for row in rows] == [2400, 4800, 7200]
    model = load(folder, vocabulary, threads=1, device="cpu")
    assert token_nats(model, lines).sum() / len(lines.tokens) == facts["valid_loss"]


def test_every_architecture_learns_what_its_context_allows(
    make_run: Run, architecture: dict[str, object]
) -> None:
    run = make_run(
        **architecture, hidden=32, embedding=16, layers=1, bptt=16, batch=6, steps=120,
        learning_rate=0.03 if architecture.get("window") != 1 else 0.1, weight_decay=0.0,
    )  # fmt: skip
    while not run.finished:
        run.take_step()
    run.look()
    # Knowing one token back, the poem costs (6 ln 3 + 2 ln 2) / 16 = 0.4986 nats; knowing all, 0.
    least = (6 * math.log(3) + 2 * math.log(2)) / 16 if architecture.get("window") == 1 else 0.0
    assert least - 1e-9 < run.history.looks[0].valid_loss < least + 0.1


def test_valid_loss_of_the_best_step_is_kept_and_the_model_is_that_of_it(
    tmp_path: Path, lines: Lines, make_lines: Write, make_vocabulary: Speak,
    make_config: Configure, caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level("INFO")
    # What helps on the training text hurts on this one, so the first look is the best.
    other = make_lines([[[11, 10, 9, 8, END], [6, 5, END]]])
    config = make_config(steps=60, evaluate_every=10, patience=3, learning_rate=0.05, warmup=0)
    folder = tmp_path / "model"
    vocabulary = make_vocabulary(SIZE)
    train(lines, other, vocabulary, config, folder=folder, scratch=tmp_path / "scratch")
    losses = [float(row["valid_loss"]) for row in _history(folder)]
    facts = json.loads((folder / "model.json").read_text())
    assert len(losses) == losses.index(min(losses)) + 1 + 3 < 6
    # An epoch is 7 chunks (96 tokens in 3 columns, 5 rows at once), less than evaluate_every.
    assert facts["best_step"] == 7 * (losses.index(min(losses)) + 1)
    assert facts["valid_loss"] == min(losses)
    model = load(folder, vocabulary, threads=1, device="cpu")
    assert token_nats(model, other).sum() / len(other.tokens) == min(losses)
    last = 7 * len(losses)
    assert f"training ended early, at step {last} of 60: 3 looks at the validation" in caplog.text
    assert f"the weights of step {facts['best_step']} are kept" in caplog.text


@pytest.mark.parametrize(
    ("changes", "looks"),
    [
        ({"patience": 0, "evaluate_every": 10}, [10, 20, 24]),
        ({"patience": 1, "evaluate_every": 10}, [7, 14, 21, 24]),
        ({"patience": 1, "evaluate_every": 4}, [4, 8, 12, 16, 20, 24]),
        ({"patience": 1, "evaluate_every": 20, "warmup": 9}, [9, 18, 24]),
    ],
)
def test_with_patience_a_small_text_is_looked_at_every_epoch(
    make_run: Run, changes: dict[str, int], looks: list[int]
) -> None:
    run = make_run(steps=24, **changes)
    due = []
    for run.step in range(1, 25):
        if run.is_time_to_look:
            due.append(run.step)
    assert due == looks


def test_a_history_without_looks_says_that_training_has_begun(
    tmp_path: Path, lines: Lines, make_vocabulary: Speak, make_config: Configure,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def interrupted(_: Training) -> tuple[float, int]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Training, "take_step", interrupted)
    scratch = tmp_path / "scratch"
    with pytest.raises(KeyboardInterrupt):
        train(
            lines, lines, make_vocabulary(SIZE), make_config(),
            folder=tmp_path / "model", scratch=scratch,
        )  # fmt: skip
    assert (scratch / "history.csv").read_text().count("\n") == 1


def test_a_loss_that_is_no_number_stops_the_run_and_names_the_step(make_run: Run) -> None:
    run = make_run()
    run.take_step()
    with torch.no_grad():
        run.network.head.bias[3] = torch.nan
    with pytest.raises(UserError, match=r"training, step 2: the loss is nan"):
        run.take_step()
    assert run.step == 1


def test_a_validation_loss_that_is_no_number_is_never_best(
    make_run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = make_run(patience=2)
    given = iter([math.nan, 5.0, math.nan, 4.0, 4.5, math.nan])
    monkeypatch.setattr(
        training_module, "token_nats", lambda _, lines: np.full(len(lines.tokens), next(given))
    )
    stopped = []
    for _ in range(6):
        run.take_step()
        run.look()
        stopped.append(run.finished)
    assert run.history.best is not None
    assert run.history.best.valid_loss == pytest.approx(4.0)
    assert run.history.best.step == 4
    assert stopped == [False, False, False, False, False, True]
    run.history.best = None
    with pytest.raises(UserError, match="never was a number"):
        run.write_model(tmp_path / "model")


def test_looking_at_validation_leaves_training_as_it_was(make_run: Run) -> None:
    plain, looked = make_run(dropout=0.4), make_run(dropout=0.4)
    for _ in range(4):
        assert plain.take_step() == looked.take_step()
        looked.look()
    names = list(plain.network.state_dict())
    assert names == list(looked.network.state_dict())
    for one, two in zip(plain.network.parameters(), looked.network.parameters(), strict=True):
        assert torch.equal(one, two)


def test_the_gradient_is_clipped_by_its_norm(make_run: Run) -> None:
    three_four = nn.Parameter(torch.zeros(2))
    three_four.grad = torch.tensor([3.0, 4.0])
    assert nn.utils.clip_grad_norm_([three_four], 0.25).item() == 5.0
    assert three_four.grad.tolist() == pytest.approx([0.15, 0.20])
    run = make_run(clip=1e-3)
    run.take_step()
    gradients = [p.grad for p in run.network.parameters() if p.grad is not None]
    assert torch.linalg.vector_norm(torch.cat([g.flatten() for g in gradients])) <= 1.0001e-3
    assert run.tally.norms > 1e-2


def test_clipped_steps_are_counted_by_look(make_run: Run) -> None:
    run = make_run(clip=1e-3)
    norms = []
    for clip in (1e-3, 1e9, 1e-3):
        object.__setattr__(run.config, "clip", clip)
        before = run.tally.norms
        run.take_step()
        norms.append(run.tally.norms - before)
    run.look()
    look = run.history.looks[0]
    assert (look.clipped, look.skipped) == (2, 0)
    assert look.gradient_norm == pytest.approx(sum(norms) / 3)
    assert run.tally.clipped == 0


def test_a_step_without_a_finite_gradient_is_left_out_and_counted(make_run: Run) -> None:
    run = make_run()
    run.take_step()
    norm = run.tally.norms
    before = [p.detach().clone() for p in run.network.parameters()]
    hook = run.network.head.bias.register_hook(lambda gradient: gradient * torch.inf)
    loss, _ = run.take_step()
    hook.remove()
    assert math.isfinite(loss)
    assert all(torch.equal(a, b) for a, b in zip(before, run.network.parameters(), strict=True))
    assert (run.step, run.tally.skipped, run.tally.norms) == (2, 1, norm)
    run.take_step()
    assert not torch.equal(before[0], next(run.network.parameters()))
    run.look()
    assert run.history.looks[0].skipped == 1
    run.network.head.bias.register_hook(lambda gradient: gradient * torch.nan)
    for _ in range(4):
        run.take_step()
        run.look()
    assert math.isnan(run.history.looks[-1].gradient_norm)
    run.take_step()
    with pytest.raises(UserError, match="step 8: no step of the last 5 had a finite gradient"):
        run.look()


@pytest.mark.parametrize("beta2", [0.99, 0.999])
def test_adamw_is_the_formula_of_the_paper(make_run: Run, beta2: float) -> None:
    """Loshchilov and Hutter 2019; decay acts on matrices alone, so not on this bias."""
    options = {} if beta2 == 0.99 else {"beta2": beta2}  # 0.99 is the default
    run = make_run(schedule="constant", warmup=0, learning_rate=0.05, clip=1e9, **options)
    bias = run.network.head.bias
    first, second = torch.zeros_like(bias), torch.zeros_like(bias)
    for step in range(1, 5):
        before = bias.detach().clone()
        run.take_step()
        first = 0.9 * first + 0.1 * bias.grad
        second = beta2 * second + (1 - beta2) * bias.grad**2
        move = (first / (1 - 0.9**step)) / ((second / (1 - beta2**step)).sqrt() + 1e-8)
        assert torch.allclose(bias, before - 0.05 * move, atol=1e-6)


def test_sgd_steps_down_the_clipped_gradient(make_run: Run) -> None:
    run = make_run(
        optimiser="sgd", momentum=0.5, schedule="constant", warmup=0, learning_rate=0.25,
        weight_decay=0.0, clip=1e9,
    )  # fmt: skip
    moved = torch.zeros_like(run.network.head.bias)
    for _ in range(3):
        before = run.network.head.bias.detach().clone()
        run.take_step()
        moved = 0.5 * moved + run.network.head.bias.grad
        assert torch.allclose(run.network.head.bias, before - 0.25 * moved, atol=1e-7)


def test_a_plateau_lowers_the_rate_after_a_look_without_gain(
    make_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(schedule="plateau", decay=0.5, warmup=0, learning_rate=0.01)
    given = iter([5.0, 5.0, 4.0, 6.0])
    monkeypatch.setattr(
        training_module, "token_nats", lambda _, lines: np.full(len(lines.tokens), next(given))
    )
    rates = []
    for _ in range(4):
        run.take_step()
        run.look()
        rates.append(run.history.looks[-1].learning_rate)
    run.take_step()
    assert [*rates, run.rate] == [0.01, 0.01, 0.005, 0.005, 0.0025]


def test_a_budget_in_tokens_ends_and_looks_by_tokens(make_run: Run) -> None:
    """96 tokens an epoch in chunks of 15, the last of 6."""
    run = make_run(steps=None, tokens=150, evaluate_every=50, warmup=30, bptt=5, batch=3)
    looks = []
    while not run.finished:
        run.take_step()
        if run.is_time_to_look:
            looks.append(run.budget.done(run.step))
    assert looks == [60, 111, 156]
    assert run.step == 11
    assert run.rate == learning_rate(141, run.config)


def test_a_chunk_of_another_length_moves_the_rate_in_proportion(make_run: Run) -> None:
    run = make_run(truncation="variable", bptt=6, schedule="constant", warmup=0, batch=1)
    seen = []
    for _ in range(8):
        rows = len(run.chunks.chunk(run.step).inputs)
        run.take_step()
        seen.append((rows, run.rate / run.config.learning_rate))
    assert len({rows for rows, _ in seen}) > 1
    for rows, scale in seen:
        assert scale == pytest.approx(rows / 6)


def test_random_truncation_weights_what_goes_on_by_the_inverse_probability(
    make_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(truncation="random", continuation=0.25, bptt=2, batch=1, steps=60, warmup=0)
    seen: list[Piece] = []
    forward = run.network.forward

    def watched(ids: Tensor, state: State, parts: list[Piece], generator: Any) -> Reading:
        seen.extend(parts)
        return forward(ids, state, parts, generator)

    monkeypatch.setattr(run.network, "forward", watched)
    while not run.finished:
        run.take_step()
    # Documents may cut elsewhere too, with a weight of one.
    places = {(piece.rows.start % 2, piece.rows.start > 0, piece.gradient_scale) for piece in seen}
    assert (0, True, 4.0) in places
    assert all(scale == (4.0 if later and not odd else 1.0) for odd, later, scale in places)


def test_random_batches_begin_at_zero_and_are_windows_of_the_text(make_run: Run) -> None:
    run = make_run(batches="random", batch=4, bptt=5)
    chunk = run.chunks.chunk(0)
    assert chunk.starts[0].all()
    assert chunk.n_targets == chunk.targets.numel() == 20
    run.take_step()
    fresh = run.network.zero_state(4)
    run.network.eval()
    parts = list(pieces(chunk.starts))
    one = run.network(chunk.inputs, run.state, parts).output
    two = run.network(chunk.inputs, fresh, parts).output
    assert torch.equal(one, two)


def test_every_architecture_trains_in_bfloat16(
    make_run: Run, architecture: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    losses = {}
    for precision in ("float32", "bfloat16"):
        run = make_run(**architecture, precision=precision, dropout=0.2, schedule="constant")
        losses[precision] = [run.take_step()[0] for _ in range(5)]
        run.look()
        assert all(p.dtype == torch.float32 for p in run.network.parameters())
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.02)
    if run.precision == "bfloat16":
        assert losses["bfloat16"] != losses["float32"]
        assert "training in bfloat16 on cpu" in caplog.text


def test_state_is_carried_and_moves_one_column_at_the_end_of_an_epoch(make_run: Run) -> None:
    run = make_run()
    epoch = run.chunks.chunks
    for _ in range(epoch):
        run.take_step()
    ended = run.state[0]
    assert not ended.requires_grad
    assert ended.abs().max() > 0
    run._begin_step(5)
    assert torch.equal(run.state[0][:, 1:], ended[:, :-1])


def test_an_empty_validation_split_is_refused(
    tmp_path: Path, lines: Lines, make_lines: Write, make_vocabulary: Speak,
    make_config: Configure,
) -> None:  # fmt: skip
    with pytest.raises(UserError, match="validation split holds no tokens"):
        train(
            lines, make_lines([]), make_vocabulary(SIZE), make_config(),
            folder=tmp_path / "model", scratch=tmp_path / "scratch",
        )  # fmt: skip
    assert not (tmp_path / "model").exists()


def test_history_numbers_read_back_exactly() -> None:
    look = Look(10, 320, 1 / 3, 2 / 3, 1e-3 / 7, 0.1)
    text = as_csv([look])
    row = next(csv.DictReader(text.splitlines()))
    assert Look(int(row["step"]), int(row["tokens"]), *map(float, list(row.values())[2:])) == look


def test_a_network_larger_than_memory_is_named(
    tmp_path: Path, lines: Lines, make_vocabulary: Speak, make_config: Configure
) -> None:
    config = make_config(embedding=(1 << 31) - 1)
    with pytest.raises(UserError, match=r"not enough memory for \d+ bytes more\n.*lower embedding"):
        train(
            lines, lines, make_vocabulary(SIZE), config,
            folder=tmp_path / "model", scratch=tmp_path / "scratch",
        )  # fmt: skip
    assert not (tmp_path / "model").exists()
