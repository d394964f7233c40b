"""Killed at any moment and started again, training ends in the same bytes."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from tests.neural.tiny import ARCHITECTURES
from textmill.base.errors import UserError, as_user_error
from textmill.neural import model_files
from textmill.neural.checkpoint import NAME
from textmill.neural.config import NetworkConfig
from textmill.neural.optimiser import buffers
from textmill.neural.train import train
from textmill.neural.training import Training
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import END, Vocabulary

Configure = Callable[..., NetworkConfig]
Speak = Callable[..., Vocabulary]
Write = Callable[..., Lines]

CONFIG = {
    "tokenizer": "tiny", "embedding": 8, "hidden": 12, "layers": 2, "bptt": 5, "batch": 4,
    "warmup": 3, "steps": 50, "evaluate_every": 8, "threads": 1, "device": "cpu",
    "dropout": 0.2, "embedding_dropout": 0.1, "precision": "bfloat16",
}  # fmt: skip

SCRIPT = """
import json, sys
from pathlib import Path
from tests.neural.tiny import ARCHITECTURES, train_tiny, train_tiny_killed_at

# What is imported on the way here is not imported by every fork.
train_tiny(Path(sys.argv[1]) / "first", json.loads(sys.argv[2]))
ended = []
for number, changes in enumerate(ARCHITECTURES):
    config = json.loads(sys.argv[2]) | changes
    whole, killed = (Path(sys.argv[1]) / str(number) / name for name in ("whole", "killed"))
    whole.parent.mkdir()
    ended.append([train_tiny_killed_at(whole, config, None)])
    for step in (11, 38, None):
        ended[-1].append(train_tiny_killed_at(killed, config, step))
        assert (killed / "model").exists() == (step is None)
print(json.dumps(ended))
"""


@pytest.mark.slow
def test_sigkill_twice_and_the_bytes_are_those_of_an_undisturbed_run(tmp_path: Path) -> None:
    """Every architecture, each time in a process of its own, with a checkpoint every 7 steps."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path, json.dumps(CONFIG)],
        text=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], check=True,
    )  # fmt: skip
    killed = -signal.SIGKILL
    expected = [[0, 0], [killed, 0], [killed, 7], [0, 35]]
    assert json.loads(done.stdout) == [expected] * len(ARCHITECTURES)
    files = ["history.csv", "model.json", "weights.safetensors"]
    for number, changes in enumerate(ARCHITECTURES):
        one, two = (tmp_path / str(number) / name / "model" for name in ("whole", "killed"))
        assert sorted(path.name for path in two.iterdir()) == files
        for name in files:
            assert (two / name).read_bytes() == (one / name).read_bytes(), (changes, name)


TORN = """
import json, sys
from pathlib import Path
from tests.neural.tiny import train_tiny, train_tiny_torn

config = json.loads(sys.argv[2])
ended = []  # the forks come first: threads that this process started would be missing in them
for place, number in (("save", 3), ("look", 3), ("model", 1)):
    ended.append(train_tiny_torn(Path(sys.argv[1]) / "torn", config, place, number))
    assert not (Path(sys.argv[1]) / "torn/model").exists()
for name in ("torn", "whole"):
    train_tiny(Path(sys.argv[1]) / name, config)
print(json.dumps(ended))
"""


@pytest.mark.slow
def test_sigkill_in_a_save_in_a_look_and_while_the_model_is_written(tmp_path: Path) -> None:
    """With two threads, as by default; each time what was being written is half there."""
    done = subprocess.run(
        [sys.executable, "-c", TORN, tmp_path, json.dumps(CONFIG | {"threads": 2})],
        text=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == [-signal.SIGKILL] * 3
    for name in ("history.csv", "model.json", "weights.safetensors"):
        whole, torn = (tmp_path / one / "model" / name for one in ("whole", "torn"))
        assert torn.read_bytes() == whole.read_bytes(), name


@pytest.fixture
def lines(make_lines: Write) -> Lines:
    rng = np.random.default_rng(1)
    return make_lines([[[*rng.integers(3, 12, 17), END]] for _ in range(5)])


def _go(run: Training, until: int) -> None:
    while run.step < until:
        run.take_step()
        if run.is_time_to_look:
            run.look()


def _stopped_and_whole(
    config: NetworkConfig, lines: Lines, vocabulary: Vocabulary, folder: Path, stop: int
) -> None:
    """A run that was saved at `stop` and taken up by another process's object ends in equal bits."""
    given = (lines, lines, vocabulary, config)
    whole, first = Training(*given, folder / "a"), Training(*given, folder / "b")
    _go(whole, 18)
    _go(first, stop)
    first.save()
    second = Training(*given, folder / "b")
    second.resume()
    _go(second, 18)
    assert second.history.looks == whole.history.looks
    assert len(whole.history.looks) >= 2
    assert second.history.best == whole.history.best
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(second.network.state_dict()[name], tensor), name
    for name, tensor in whole.history.best_weights.items():
        assert torch.equal(second.history.best_weights[name], tensor), name
    for one, two in zip(second.state, whole.state, strict=True):
        assert torch.equal(one, two)
    ours, theirs = buffers(second.optimiser), buffers(whole.optimiser)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("stop", [1, 5, 6, 7, 17])
def test_any_step_is_a_step_to_go_on_from(
    tmp_path: Path, lines: Lines, make_vocabulary: Speak, make_config: Configure, stop: int
) -> None:
    config = make_config(dropout=0.3, steps=18, evaluate_every=6, batch=5, bptt=3)
    vocabulary = make_vocabulary(12)
    assert Training(lines, lines, vocabulary, config, tmp_path / "c").chunks.chunks == 6
    _stopped_and_whole(config, lines, vocabulary, tmp_path, stop)


def test_every_architecture_goes_on(
    tmp_path: Path, lines: Lines, make_vocabulary: Speak, make_config: Configure,
    architecture: dict[str, object],
) -> None:  # fmt: skip
    config = make_config(**architecture, dropout=0.3, steps=18, evaluate_every=6, batch=5, bptt=3)
    _stopped_and_whole(config, lines, make_vocabulary(12), tmp_path, 8)


@pytest.mark.parametrize(
    "options",
    [
        {"schedule": "constant", "optimiser": "sgd", "momentum": 0.9},
        {"schedule": "step", "decay_every": 4, "optimiser": "sgd"},
        {"schedule": "plateau", "learning_rate": 0.3},
        {"steps": None, "tokens": 260, "warmup": 40, "evaluate_every": 90},
        {"truncation": "variable", "bptt": 6},
        {"truncation": "random", "weight_drop": 0.4},
        {"batches": "random"},
        {"clip": 0.01, "temporal_activation_penalty": 1.0, "embedding_dropout": 0.2},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_every_schedule_and_order_goes_on(
    tmp_path: Path, lines: Lines, make_vocabulary: Speak, make_config: Configure,
    options: dict[str, object],
) -> None:  # fmt: skip
    base = {"dropout": 0.3, "steps": 18, "evaluate_every": 6, "batch": 5, "bptt": 3}
    _stopped_and_whole(make_config(**{**base, **options}), lines, make_vocabulary(12), tmp_path, 8)


def test_a_finished_run_writes_its_model_again_without_a_step(
    tmp_path: Path, lines: Lines, make_vocabulary: Speak, make_config: Configure,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    given = (lines, lines, make_vocabulary(12), make_config())
    train(*given, folder=tmp_path / "one", scratch=tmp_path / "scratch")
    monkeypatch.setattr(Training, "take_step", lambda _: pytest.fail("took a step"))
    train(*given, folder=tmp_path / "two", scratch=tmp_path / "scratch")
    for name in ("history.csv", "model.json", "weights.safetensors"):
        assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_the_checkpoint_of_another_run_is_refused_by_name(
    tmp_path: Path, lines: Lines, make_vocabulary: Speak, make_config: Configure
) -> None:
    scratch = tmp_path / "scratch"
    Training(lines, lines, make_vocabulary(12), make_config(), scratch).save()
    other = Training(lines, lines, make_vocabulary(12), make_config(hidden=13), scratch)
    with pytest.raises(UserError, match="hidden is 12 there, 13 here"):
        other.resume()
    foreign = Training(lines, lines, make_vocabulary(13), make_config(), scratch)
    with pytest.raises(UserError, match="vocabulary is"):
        foreign.resume()
    (scratch / NAME).write_bytes((scratch / NAME).read_bytes()[:-9])
    with pytest.raises(UserError, match="is not whole"):
        Training(lines, lines, make_vocabulary(12), make_config(), scratch).resume()


@pytest.mark.parametrize(
    ("said", "error"),
    [("I/O error: No space left on device (os error 28)", OSError), ("no dtype", SafetensorError)],
)
def test_a_full_disk_is_the_systems_word_and_no_traceback(tmp_path, monkeypatch, said, error):
    """safetensors has an error of its own for it, which no step knows; these are its words."""

    def refuse(*_):
        raise SafetensorError(f"Error while serializing: {said}")

    monkeypatch.setattr(model_files, "save_file", refuse)
    with pytest.raises(error) as refused:
        model_files.save_tensors({"x": torch.zeros(3)}, tmp_path / "x")
    if error is OSError:
        message = str(as_user_error(refused.value))
        assert message.startswith(f"{tmp_path / 'x'}: No space left on device\n  -> make room")
