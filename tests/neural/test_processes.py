"""Two processes with gloo train as one process does."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.neural.tiny import train_kinds
from textmill.base.errors import UserError
from textmill.neural.checkpoint import NAME
from textmill.neural.config import NetworkConfig
from textmill.neural.processes import Processes, join

Configure = Callable[..., NetworkConfig]

COMMON = {
    "tokenizer": "tiny", "embedding": 8, "hidden": 12, "bptt": 5, "batch": 4, "warmup": 3,
    "steps": 20, "evaluate_every": 10, "threads": 1, "device": "cpu", "clip": 0.5,
}  # fmt: skip
KINDS = {
    "lstm": {"layers": 2, "embedding_dropout": 0.0},
    "attention": {"architecture": "attention_lstm", "window": 3, "activation_penalty": 1.0},
    "adaptive": {"head": "adaptive", "cutoffs": [5, 17], "optimiser": "sgd"},
    "tied": {"head": "adaptive", "cutoffs": [5, 17], "tied": True, "optimiser": "sgd"},
}

SCRIPT = """
import json, sys
from pathlib import Path
from tests.neural.tiny import train_kinds

train_kinds(Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3]))
"""


def _in_two_processes(folder: Path) -> None:
    root = Path(__file__).parents[2]
    script = folder / "script.py"
    script.write_text(SCRIPT)
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    common = json.dumps({**COMMON, "processes": 2})
    done = subprocess.run(
        [sys.executable, *start, script, folder, common, json.dumps(KINDS)],
        text=True, capture_output=True, timeout=300, cwd=root,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_twenty_steps_of_two_processes_equal_those_of_one(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        for name in KINDS:
            (tmp_path / folder / name).mkdir(parents=True)
    train_kinds(tmp_path / "one", COMMON, KINDS)
    _in_two_processes(tmp_path / "two")
    for name in KINDS:
        one, two = (tmp_path / folder / name for folder in ("one", "two"))
        losses, expected = (
            json.loads((folder / "losses.json").read_text()) for folder in (two, one)
        )
        assert len(losses) == 20
        assert losses == pytest.approx(expected, rel=1e-5), name
        tensors, wanted = load_file(two / NAME), load_file(one / NAME)
        assert tensors.keys() == wanted.keys()
        for key, tensor in wanted.items():
            # The hidden state of all columns, weights, momenta and best weights.
            assert torch.allclose(tensors[key].double(), tensor.double(), rtol=0, atol=1e-5), key
        one_history, two_history = (
            (folder / "history.csv").read_text().splitlines() for folder in (one, two)
        )
        assert len(one_history) == len(two_history) == 3


def test_columns_are_shared_without_overlap() -> None:
    taken = [column for rank in range(3) for column in range(12)[Processes(rank, 3).columns(12)]]
    assert taken == list(range(12))


def test_another_number_of_processes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    with pytest.raises(UserError, match=r"processes is 2, but 1 were started[^$]*torchrun"):
        join(2, cpu)
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(UserError, match="processes is 1, but 4 were started"):
        join(1, cpu)
