"""Starts a command in a session of its own and ends all of it when the pipe on stdin closes.

Usage: python -I -S supervisor.py {step|command|service} COMMAND ...

Whoever starts this holds the other end of the pipe, so the command ends with its owner, even when
the owner is killed by SIGKILL and can do nothing more. An end is an interrupt, after a grace time
a termination, then a kill of every process that descends from the command, in whatever session.
`step`: whatever runs below the command is interrupted first, and the command, DVC, then ends by
itself: it rewrites dvc.lock in place, so it is not to be interrupted while it need not be.
`command`: the command alone is interrupted and sees to its own children (a worker, say).
`service`: likewise, but with little grace: nothing is lost with it, and it may still be starting.

Only the standard library is imported: this starts in hundredths of a second. On Linux the command
also dies with this process, and orphans below it become this process's children, so that none is
lost from sight.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LONGEST_END = 60.0
"""More seconds than any end takes."""
POLL = 0.05
LINUX = sys.platform == "linux"


class Supervised:
    """One command and all that descends from it."""

    def __init__(self, command: list[str]) -> None:
        if LINUX:
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        self.status: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _become(command)

    def reap(self) -> None:
        """Take the exit status of every child that has ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(status)

    def living(self, depth: float = float("inf")) -> set[int]:
        """Processes that descend from the command and have not ended, down to a depth."""
        self.reap()
        if LINUX:
            return _descendants(os.getpid(), depth)
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return set()
        return {self.pid}

    def end(self, first: str) -> None:
        """Interrupt, then terminate, then kill, until nothing lives."""
        if first == "step":
            self._signal(signal.SIGINT, 4.0, lambda: self.living() - {self.pid})
            self._signal(signal.SIGINT, 6.0, lambda: {self.pid})
            self._signal(signal.SIGTERM, 5.0, self.living)
        else:
            patience = 4.0 if first == "service" else 30.0
            self._signal(signal.SIGINT, patience, lambda: {self.pid})
            # What is left of the command's children ends its own in turn.
            self._signal(signal.SIGTERM, patience / 3, lambda: self.living(depth=1))
        self._signal(signal.SIGKILL, 10.0, self.living)

    def _signal(self, number: int, grace: float, chosen: Callable[[], set[int]]) -> None:
        """Signal each chosen process once; wait until nothing lives or the grace has passed.

        An interrupt is over when the command has ended: who is left then did not hear it.
        """
        signalled: set[int] = set()
        deadline = time.monotonic() + grace
        while self.living() and time.monotonic() < deadline:
            if number == signal.SIGINT and self.status is not None:
                return
            for pid in chosen() - signalled:
                signalled.add(pid)
                # It may have ended in between, or taken another user.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
            time.sleep(POLL)


def main() -> int:
    """Run the command until it ends or the pipe closes; its exit code, as a shell tells it."""
    first, *command = sys.argv[1:]
    wakeups, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    run = Supervised(command)
    while run.status is None:
        ready, _, _ = select.select([0, wakeups], [], [], 1.0)
        stops = 0 in ready and not os.read(0, 4096)
        if wakeups in ready:
            stops = bool(set(os.read(wakeups, 4096)) - {signal.SIGCHLD}) or stops
        run.reap()
        if stops:
            break
    if run.living():
        run.end(first)
    status = run.status if run.status is not None else -signal.SIGKILL
    return status if status >= 0 else 128 - status


def _become(command: list[str]) -> None:
    """The child's side of the fork: a session of its own, then the command."""
    try:
        os.setsid()
        if LINUX:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.execvp(command[0], command)  # noqa: S606 - without a shell on purpose
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _descendants(root: int, depth: float) -> set[int]:
    """Processes below `root` in /proc, down to a depth, that are no zombies."""
    parents: dict[int, int] = {}
    zombies: set[int] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it ended in between
        parents[int(entry.name)] = int(parent)
        if state == "Z":
            zombies.add(int(entry.name))
    found, level = set[int](), {root}
    while level and depth > 0:
        depth -= 1
        level = {pid for pid, parent in parents.items() if parent in level}
        found |= level
    return found - zombies


if __name__ == "__main__":
    sys.exit(main())
