"""Whoever dies, nothing that a supervisor started lives on."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows import supervisor
from flows.processes import Supervised, children, identify, supervised

HELPER = """\
import os, signal, subprocess, sys, time
mode, folder = sys.argv[1:]
def note(name):
    open(f"{folder}/{name}", "w").write(str(os.getpid()))
if mode == "deaf":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
elif mode == "polite":
    def leave(*_):
        note("left"); sys.exit(7)
    signal.signal(signal.SIGINT, leave)
elif mode == "family":
    subprocess.Popen([sys.executable, __file__, "polite", folder + "/child"])
    subprocess.Popen([sys.executable, __file__, "polite", folder + "/escaped"], start_new_session=True)
note("started")
time.sleep(60)
"""


@pytest.fixture
def helper(tmp_path):
    for name in ("child", "escaped"):
        (tmp_path / name).mkdir()
    path = tmp_path / "helper.py"
    path.write_text(HELPER)
    return path


@pytest.fixture
def start(helper):
    """Start the helper under a supervisor; both have ended when the test has, however it ends."""
    started = []

    def run(mode, first="step"):
        started.append(
            Supervised(
                [sys.executable, str(helper), mode, str(helper.parent)],
                first=first, root=helper.parent, environment=os.environ,
            )
        )  # fmt: skip
        return started[-1]

    yield run
    for one in started:
        if one.running():
            os.kill(one.pid, signal.SIGKILL)
        one.wait()


def pid_in(path, seconds=10.0):
    """The process id that a helper wrote once it was ready."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.02)
    pytest.fail(f"nothing wrote {path}")


def gone(pid, seconds=10.0):
    deadline = time.monotonic() + seconds
    while identify(pid) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize(
    ("script", "code"),
    [("pass", 0), ("import sys; sys.exit(3)", 3), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_the_exit_code_is_that_of_the_command(tmp_path, script, code):
    with supervised(
        [sys.executable, "-c", script], first="step", root=tmp_path, environment=os.environ
    ) as run:
        assert run.wait(10) == code


def test_a_command_that_is_not_there_is_told(tmp_path):
    with supervised(
        ["no-such-command"], first="step", root=tmp_path, environment=os.environ,
        output=subprocess.PIPE,
    ) as run:  # fmt: skip
        assert "no-such-command: No such file" in run.output.read()
        assert run.wait(10) == 127


def test_a_closed_pipe_interrupts_first(helper, start):
    run = start("polite")
    pid = pid_in(helper.parent / "started")
    run.stop()
    assert run.wait(10) == 7
    assert (helper.parent / "left").exists()
    assert gone(pid)


def test_a_service_has_little_grace(helper, start):
    """A server that is still starting hears no interrupt."""
    run = start("deaf", "service")
    pid = pid_in(helper.parent / "started")
    before = time.monotonic()
    run.stop()
    run.wait(20)
    assert time.monotonic() - before < 10.0
    assert gone(pid)


def test_a_deaf_command_is_killed_after_its_grace(helper, start, monkeypatch):
    """The graces are shortened in the supervisor's own file, copied beside the helper."""
    text = Path(supervisor.__file__).read_text()
    short = helper.parent / "supervisor.py"
    short.write_text(re.sub(r"SIG(INT|TERM), [\d.]+", r"SIG\1, 0.4", text))
    assert short.read_text() != text
    monkeypatch.setattr(supervisor, "__file__", str(short))
    run = start("deaf")
    pid = pid_in(helper.parent / "started")
    before = time.monotonic()
    run.stop()
    assert run.wait(20) == 128 + signal.SIGKILL
    assert time.monotonic() - before >= 1.0
    assert gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and subreapers")
@pytest.mark.parametrize("first", ["step", "command", "service"])
def test_children_in_other_sessions_end_too_when_the_command_ends(helper, start, first):
    run = start("family", first)
    pids = [
        pid_in(helper.parent / name) for name in ("started", "child/started", "escaped/started")
    ]
    os.kill(pids[0], signal.SIGKILL)
    run.wait(60)
    assert all(gone(pid) for pid in pids)


def test_it_ends_when_its_owner_is_killed(helper, root):
    """The owner holds the pipe; SIGKILL leaves it no time to do anything."""
    owner = subprocess.Popen(
        [
            sys.executable, "-c",
            ("import os, sys, time; from pathlib import Path; from flows.processes import Supervised\n"
            f"run = Supervised([sys.executable, {str(helper)!r}, 'polite', {str(helper.parent)!r}],"
            " first='step', root=Path(), environment=os.environ)\n"
            "time.sleep(60)"),
        ],
        cwd=root,
    )  # fmt: skip
    try:
        pid = pid_in(helper.parent / "started")
    finally:
        owner.kill()
        owner.wait()
    assert gone(pid)
    assert (helper.parent / "left").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG")
def test_the_command_dies_with_its_supervisor(helper, start):
    run = start("polite")
    pid = pid_in(helper.parent / "started")
    assert children(run.pid) == [pid]
    os.kill(run.pid, signal.SIGKILL)
    run.wait(10)
    assert gone(pid)
    run.stop()


def test_it_imports_nothing_that_takes_time():
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c",
         (f"import sys, runpy; runpy.run_path({supervisor.__file__!r}, run_name='other');"
         "print(sorted(name for name in sys.modules if name.split('.')[0] in"
         " ('numpy', 'prefect', 'dvc', 'psutil', 'subprocess', 'asyncio')))")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert loaded.stdout.strip() == "[]"
