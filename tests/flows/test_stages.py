"""What a stage's end is called, and how long DVC's lock is waited for."""

import fcntl
import json
import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

from flows import stages, waiting
from flows.stages import Attempt, Ending, StageFailed, Stages, StageStopped, cause_of


def heard(*lines):
    attempt = Attempt("train@x")
    for line in lines:
        attempt.hear(line)
    return attempt


@pytest.mark.parametrize(
    ("lines", "ending"),
    [
        (["Running stage 'train@x':", "Stage 'train@x' didn't change, skipping"], Ending.COMPLETED),
        (["Stage 'train@x' didn't change, skipping"], Ending.SKIPPED),
        (["Stage 'train@x' is cached - skipping run, checking out outputs"], Ending.RESTORED),
        (["Stage 'train@xy' didn't change, skipping"], None),
    ],
)
def test_endings(lines, ending):
    assert heard(*lines).ending is ending


def test_the_problem_is_what_the_step_said():
    attempt = heard(
        "Running stage 'train@x':",
        "textmill: params.yaml: networks.x: unknown key",
        "  -> rename it",
        "more",
        "ERROR: failed to reproduce 'train@x'",
    )
    assert attempt.problem(255) == (
        "textmill: params.yaml: networks.x: unknown key\n  -> rename it\n"
        "ERROR: failed to reproduce 'train@x'"
    )
    assert heard().problem(9) == "dvc repro ended with exit code 9"


@pytest.fixture
def repository(tmp_path):
    """A repository of two stages that take no time, and one that takes long."""
    (tmp_path / "dvc.yaml").write_text(
        "stages:\n"
        "  quick: {cmd: echo hello > quick.txt, outs: [quick.txt]}\n"
        "  fails: {cmd: 'echo textmill: no; exit 3'}\n"
        "  slow: {cmd: exec sleep 60}\n"
    )
    for command in (["git", "init", "--quiet"], [sys.executable, "-m", "dvc", "init", "--quiet"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    return tmp_path


def test_a_stage_runs_then_is_skipped_and_its_lines_are_handed_on(repository):
    lines = []
    assert Stages(repository).run("quick", lines.append) is Ending.COMPLETED
    assert lines[:2] == ["Running stage 'quick':", "> echo hello > quick.txt"]
    assert "To track the changes with git, run:" not in lines
    assert (repository / "quick.txt").read_text() == "hello\n"
    assert Stages(repository).run("quick", lines.append) is Ending.SKIPPED
    assert Stages(repository, force=True).run("quick", lines.append) is Ending.COMPLETED
    with pytest.raises(StageFailed, match="textmill: no\nERROR: failed to reproduce 'fails'"):
        Stages(repository).run("fails", lines.append)


def test_a_lock_that_is_never_free_names_its_holder(repository):
    """The lock is taken as DVC takes it: flock, with the holder's id in the file."""
    lock = repository / waiting.LOCK
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f" {os.getpid()}\n")
        file.flush()
        with pytest.raises(StageFailed) as failure:
            Stages(repository, patience=3.0).run("quick", lambda _: None)
    assert f"process {os.getpid()} holds it" in str(failure.value)
    assert f"({psutil.Process().cmdline()[0]} " in str(failure.value)
    assert not (repository / "quick.txt").exists()
    assert Stages(repository).run("quick", lambda _: None) is Ending.COMPLETED


def test_a_lock_that_becomes_free_is_taken(repository):
    lock = repository / waiting.LOCK
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        threading.Timer(5.0, fcntl.flock, [file, fcntl.LOCK_UN]).start()
        before = time.monotonic()
        assert Stages(repository).run("quick", lambda _: None) is Ending.COMPLETED
        assert time.monotonic() - before >= 5.0


def test_files_that_another_dvc_uses_are_waited_for(repository, monkeypatch):
    """DVC itself gives up at once where another process holds a stage's files."""
    monkeypatch.setattr(stages, "RETRY", 0.5)
    rwlock = repository / ".dvc/tmp/rwlock"
    rwlock.parent.mkdir(exist_ok=True)
    entry = '{"write": {"%s/quick.txt": {"pid": %d, "cmd": "dvc repro"}}}'
    rwlock.write_text(entry % (repository, os.getpid()))
    lines = []
    with pytest.raises(StageFailed) as failure:
        Stages(repository, patience=5.0).run("quick", lines.append)
    held = f"held by process {os.getpid()} (dvc repro)"
    assert cause_of(str(failure.value)) == f"its files were not free within 5 s, {held}"
    assert lines == [f"waiting for this stage's files, {held}"]  # once, however often it is tried
    threading.Timer(4.0, rwlock.write_text, ["{}"]).start()
    assert Stages(repository).run("quick", lambda _: None) is Ending.COMPLETED


def test_a_stop_ends_what_runs_and_lets_nothing_start(repository):
    running = Stages(repository)
    started = threading.Event()
    threading.Thread(target=lambda: started.wait(30) and running.stop()).start()
    before = time.monotonic()
    with pytest.raises(StageStopped):
        running.run("slow", lambda line: line.startswith("> exec") and started.set())
    assert time.monotonic() - before < 30.0
    with pytest.raises(StageStopped):
        running.run("quick", lambda _: None)
    left = json.loads((repository / ".dvc/tmp/rwlock").read_text())
    assert not any(left.values())


def test_one_question_tells_what_is_unchanged(repository):
    (repository / "params.yaml").write_text("{}\n")
    dvc = [sys.executable, "-m", "dvc"]
    (repository / "dvc.yaml").write_text(
        "stages:\n"
        "  first: {cmd: echo 1 > a, outs: [a]}\n"
        "  second: {cmd: cp a b, deps: [a], outs: [b]}\n"
        "  third: {cmd: cp b c, deps: [b], outs: [c]}\n"
    )
    assert stages.unchanged(repository) == set()
    subprocess.run([*dvc, "repro", "-q"], cwd=repository, check=True)
    assert stages.unchanged(repository) == {"first", "second", "third"}
    (repository / "b").unlink()
    assert stages.unchanged(repository) == {"first"}
    (repository / "dvc.yaml").write_text("stages: [")
    assert stages.unchanged(repository) is None
