"""One holder at a time; a dead holder blocks nobody, a living child of it does."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from flows import checkout
from flows.processes import Identity, myself
from textmill.base.errors import UserError

HOLDER = """\
import subprocess, sys, time
from pathlib import Path
from flows.checkout import hold
with hold(Path(sys.argv[1]), "flow run early-owl") as lock:
    child = subprocess.Popen(["sleep", sys.argv[2]], pass_fds=[lock], start_new_session=True)
    print(child.pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path, root):
    """A process that holds the lock, with a child that inherited it and sleeps for 3 seconds."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "lock"), "3"],
        cwd=root, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    child = int(process.stdout.readline())
    yield process, child
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_holder_is_told_who_holds_it(holder, tmp_path):
    process, _ = holder
    for attempt in (checkout.hold(tmp_path / "lock", "late"), None):
        with pytest.raises(UserError) as refusal:
            if attempt is None:
                checkout.check_free(tmp_path / "lock")
            else:
                with attempt:
                    pytest.fail("it was held twice")
        assert f"process {process.pid} since 20" in str(refusal.value)
        assert "flow run early-owl" in str(refusal.value)
        assert f"kill {process.pid}" in str(refusal.value)


def test_a_dead_holder_blocks_only_until_its_children_have_ended(holder, tmp_path):
    process, child = holder
    process.send_signal(signal.SIGKILL)
    process.wait()
    checkout.check_free(tmp_path / "lock")
    with pytest.raises(UserError, match="still hold"), checkout.hold(tmp_path / "lock", "x", 0.3):
        pytest.fail("the child still holds it")
    threading.Timer(0.5, os.kill, [child, signal.SIGTERM]).start()
    before = time.monotonic()
    with checkout.hold(tmp_path / "lock", "next", 10.0):
        assert 0.3 < time.monotonic() - before < 3.0
        found = checkout.read_holder(tmp_path / "lock")
        assert (found.name, found.process.pid) == ("next", os.getpid())
    with checkout.hold(tmp_path / "lock", "again"):
        pass
    assert checkout.read_holder(tmp_path / "lock") is None


def test_another_process_of_the_same_id_is_not_the_holder():
    me = myself()
    assert me.lives()
    assert not Identity(me.pid, me.started - 100.0, me.command).lives()
