"""The training step starts its processes itself and remains DVC's child."""

import os
import sys

import pytest

from pipeline_steps import settings, train

ENTRY = {
    "tokenizer": "t", "embedding": 8, "hidden": 8, "batch": 4, "steps": 200, "evaluate_every": 50,
}  # fmt: skip


class Replaced(Exception):
    """The process would be another program now."""


@pytest.fixture
def commands(monkeypatch):
    """What the step became; it goes no further."""
    made = []

    def execv(program, command):
        made.append((program, command))
        raise Replaced

    def read(_path):
        made.append("shards")
        raise Replaced

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(train.store, "load", read)
    monkeypatch.setattr(sys, "argv", ["train.py", "wide"])
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    return made


def _start(monkeypatch, **changes):
    entries = {"networks": {"wide": {**ENTRY, **changes}}}
    monkeypatch.setattr(settings, "load", lambda stage, key: entries)
    with pytest.raises(Replaced):
        train.main()


def test_one_process_goes_straight_to_work(commands, monkeypatch):
    _start(monkeypatch)
    assert commands == ["shards"]


def test_several_processes_are_torchruns_of_the_same_step(commands, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    _start(monkeypatch, processes=2, threads=3)
    ((program, command),) = commands
    assert program == command[0] == sys.executable
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert command[1:] == [
        "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2",
        "-m", "pipeline_steps.train", "wide",
    ]  # fmt: skip
    commands.clear()
    monkeypatch.setenv("WORLD_SIZE", "2")
    _start(monkeypatch, processes=2)
    assert commands == ["shards"]
