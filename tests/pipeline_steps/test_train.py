"""The training step starts its processes itself and remains DVC's child."""

import os
import shutil
import subprocess
import sys

import pytest
from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.api import SignalException

from pipeline_steps import settings, train

ENTRY = {
    "tokenizer": "t", "embedding": 8, "hidden": 8, "batch": 4, "steps": 200, "evaluate_every": 50,
}  # fmt: skip


class AtWork(Exception):
    """The step reads what it needs: it goes no further here."""


@pytest.fixture
def launched(monkeypatch):
    """Arguments of every torchrun."""
    made = []

    def read(_path):
        raise AtWork

    monkeypatch.setattr(torchrun, "main", made.append)
    monkeypatch.setattr(train.store, "load", read)
    monkeypatch.setattr(sys, "argv", ["train.py", "wide"])
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return made


def _start(monkeypatch, **changes):
    entries = {"networks": {"wide": {**ENTRY, **changes}}}
    monkeypatch.setattr(settings, "load", lambda stage, key: entries)
    train.main()


def test_one_process_goes_straight_to_work(launched, monkeypatch):
    with pytest.raises(AtWork):
        _start(monkeypatch)
    assert launched == []


def test_several_processes_are_torchruns_of_the_same_step(launched, monkeypatch):
    with pytest.raises(SystemExit) as ended:
        _start(monkeypatch, processes=2, threads=3)
    assert ended.value.code == 0
    assert launched == [
        ["--standalone", "--nproc-per-node=2", "-m", "pipeline_steps.train", "wide"]
    ]
    assert os.environ["OMP_NUM_THREADS"] == "3"
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(AtWork):
        _start(monkeypatch, processes=2)
    assert len(launched) == 1


@pytest.mark.parametrize(("signal", "ending"), [(2, KeyboardInterrupt), (15, SystemExit)])
def test_several_processes_end_by_a_signal_as_one_does(launched, monkeypatch, signal, ending):
    def ended(_arguments):
        raise SignalException("ended", signal)

    monkeypatch.setattr(torchrun, "main", ended)
    with pytest.raises(ending) as error:
        _start(monkeypatch, processes=2)
    if ending is SystemExit:
        assert error.value.code == 143


def test_a_mistake_of_several_processes_is_one_message(root, tmp_path):
    shutil.copy(root / "dvc.yaml", tmp_path)
    fields = "\n".join(f"    {name}: {value}" for name, value in ENTRY.items())
    (tmp_path / "params.yaml").write_text(f"networks:\n  wide:\n{fields}\n    processes: 2\n")
    done = subprocess.run(
        [sys.executable, "-m", "pipeline_steps.train", "wide"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)}, text=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("textmill: ") == 1
    assert "Traceback" not in done.stderr
    assert "torch" not in done.stderr
