"""Seven lines over twenty ids, for trainings in processes of their own."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from torch import distributed

from textmill.neural import checkpoint, model_files
from textmill.neural.config import NetworkConfig
from textmill.neural.train import train
from textmill.neural.training import Training
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary

ARCHITECTURES = (
    {"architecture": "lstm"},
    {"architecture": "lstm", "implementation": "reference"},
    {"architecture": "lstm", "head": "adaptive", "cutoffs": (4, 8)},
    {"head": "adaptive", "cutoffs": (4, 8), "tied": True},
    {"architecture": "lstm", "head": "chunked", "tied": False},
    {"architecture": "gru"},
    {"architecture": "rnn"},
    {"architecture": "rnn", "nonlinearity": "relu"},
    {"architecture": "feed_forward", "window": 4},
    {"architecture": "feed_forward", "window": 1},
    {"architecture": "attention_lstm", "window": 3},
)
"""What of a configuration makes each kind of network."""


def tiny_lines() -> Lines:
    """93 tokens of four documents. In 4 columns of 24 the last is padded; 5 chunks of 5 an epoch."""
    lengths = np.array([9, 14, 3, 20, 11, 30, 6])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.random.default_rng(0).integers(3, 20, lengths.sum()).astype(np.uint16)
    tokens[offsets[1:] - 1] = 2
    zeros = np.zeros(len(lengths), dtype=np.int64)
    documents = np.array([0, 0, 1, 1, 2, 3, 3])
    return Lines(tokens, offsets, documents, lengths, lengths, zeros, zeros, zeros.astype(float))


def tiny_vocabulary(counts: np.ndarray, unknown: str) -> Vocabulary:
    """Its twenty ids."""
    return Vocabulary(pa.array([f"t{i}" for i in range(17)]), counts, scheme="t", unknown=unknown)


def train_tiny(folder: Path, config: dict[str, Any]) -> None:
    """Train a network over singletons to its end, with a checkpoint every seven steps."""
    lines = tiny_lines()
    vocabulary = tiny_vocabulary(np.array([0, 0, 7] + [1, 1, 1] + [5] * 14), "singletons")
    places = {"folder": folder / "model", "scratch": folder / "scratch"}
    train(lines, lines, vocabulary, NetworkConfig(**config), **places, checkpoint_every=7)


def train_tiny_killed_at(folder: Path, config: dict[str, Any], step: int | None) -> tuple[int, int]:
    """The same in a fork of this process, which kills itself before a step.

    Returns its exit code and the first step that it took.
    """
    begun = folder.with_suffix(".begun")
    begun.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        plain = Training.take_step

        def take_step(self: Training) -> tuple[float, int]:
            if not begun.exists():
                begun.write_text(str(self.step))
            if self.step == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(self)

        Training.take_step = take_step
        train_tiny(folder, config)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, int(begun.read_text())


def train_tiny_torn(folder: Path, config: dict[str, Any], place: str, number: int) -> int:
    """The same, which kills itself in its `number`th save or look, or while it writes its model.

    What it was writing is cut in half by then. Returns its exit code.
    """
    owner, name = {
        "save": (checkpoint, "save_tensors"),
        "look": (Training, "look"),
        "model": (model_files, "save_tensors"),
    }[place]
    child = os.fork()
    if child == 0:
        plain, calls = getattr(owner, name), []

        def torn(*args: Any) -> None:
            plain(*args)
            calls.append(args)
            if len(calls) == number:
                for path in (one for one in args if isinstance(one, Path)):
                    os.truncate(path, path.stat().st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)

        setattr(owner, name, torn)
        train_tiny(folder, config)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def train_kinds(out: Path, common: dict[str, Any], kinds: dict[str, dict[str, Any]]) -> None:
    """Train a network of each kind in a folder of its own that is there, and keep all losses."""
    lines, vocabulary = tiny_lines(), tiny_vocabulary(np.full(20, 5), "none")
    for name, changes in kinds.items():
        cutoffs = {"cutoffs": tuple(changes["cutoffs"])} if "cutoffs" in changes else {}
        config = NetworkConfig(**{**common, **changes, **cutoffs})
        run = Training(lines, lines, vocabulary, config, out / name)
        losses = []
        while not run.finished:
            losses.append(run.take_step()[0])
            if run.is_time_to_look:
                run.look()
        run.save()
        again = Training(lines, lines, vocabulary, config, out / name)
        if config.processes > 1:
            distributed.barrier()
        again.resume()
        for one, two in zip(again.state, run.state, strict=True):
            assert one.equal(two)
        if run.processes.is_first:
            (out / name / "losses.json").write_text(json.dumps(losses))
    if distributed.is_initialized():
        distributed.destroy_process_group()
