"""Starts a command in a session of its own and ends all of it when the pipe on stdin closes.

Usage: python -I -S supervisor.py {group|leader} COMMAND ...

Whoever starts this holds the other end of the pipe, so the command ends with its owner, even when
the owner is killed by SIGKILL and can do nothing more. An end is an interrupt, after a grace time
a termination, then a kill of every process that descends from the command, in whatever session.
`group`: the interrupt goes to the command's whole process group (DVC and its step); `leader`: to
the command alone, which sees to its own children (a flow, a server, a worker).

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
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PHASES = {
    "group": ((signal.SIGINT, 10.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 10.0)),
    "leader": ((signal.SIGINT, 30.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 10.0)),
}
"""Signals of an end and the seconds each is given. A leader has stages of its own to end."""
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

    def living(self) -> set[int]:
        """Every process that descends from the command and has not ended."""
        self.reap()
        if LINUX:
            return _descendants(os.getpid())
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return set()
        return {self.pid}

    def end(self, interrupt: str) -> None:
        """Interrupt, then terminate, then kill, until nothing lives."""
        for number, grace in PHASES[interrupt]:
            deadline = time.monotonic() + grace
            if number == signal.SIGINT:
                _signal(-self.pid if interrupt == "group" else self.pid, number)
            signalled: set[int] = set()
            while living := self.living():
                if number != signal.SIGINT:
                    for pid in living - signalled:
                        _signal(pid, number)
                    signalled |= living
                if time.monotonic() > deadline:
                    break
                time.sleep(POLL)
            else:
                return


def main() -> int:
    """Run the command until it ends or the pipe closes; its exit code, as a shell tells it."""
    interrupt, *command = sys.argv[1:]
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
        run.end(interrupt)
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


def _signal(pid: int, number: int) -> None:
    # It may have ended in between, or taken another user: neither can be signalled.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _descendants(root: int) -> set[int]:
    """Processes below `root` in /proc that are no zombies."""
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
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        found |= level
    return found - zombies


if __name__ == "__main__":
    sys.exit(main())
