"""Processes as the flow sees them: who one is, whether it still lives, and its supervised start.

A process id alone names nobody: ids are used again. So an identity is an id and a start time.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import psutil

from flows import supervisor


@dataclass(frozen=True, slots=True)
class Identity:
    """A process. started: seconds since the epoch, as the system tells it."""

    pid: int
    started: float
    command: str

    def lives(self) -> bool:
        """Whether this very process, and not a later one of the same id, still runs."""
        found = identify(self.pid)
        return found is not None and abs(found.started - self.started) < 1.0


def identify(pid: int) -> Identity | None:
    """Who has this id now; None where nobody has, or a process that has ended."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return Identity(pid, process.create_time(), " ".join(process.cmdline()))
    except psutil.Error:
        return None


def myself() -> Identity:
    """The running process."""
    found = identify(os.getpid())
    assert found is not None
    return found


def children(pid: int) -> list[int]:
    """Ids of the children of a process; none where it has ended."""
    try:
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []


def descendants(pid: int) -> list[Identity]:
    """Children of a process, and theirs; none where it has ended."""
    try:
        below = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []
    return [found for child in below if (found := identify(child.pid)) is not None]


class Supervised:
    """A command under a supervisor; `stop` and the death of this process both end it.

    problems: where its standard error goes; default: where `output` goes.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        first: Literal["step", "command", "service"],
        root: Path,
        environment: Mapping[str, str],
        keep: Sequence[int] = (),
        output: int | IO[Any] | None = None,
        problems: int | IO[Any] | None = None,
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, first, *command],
            cwd=root,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT if problems is None and output is not None else problems,
            text=True,
            errors="replace",
            start_new_session=True,
            pass_fds=tuple(keep),
        )
        self.pid = self._process.pid

    @property
    def output(self) -> IO[str]:
        """Lines that the command writes, where `output` was a pipe."""
        assert self._process.stdout is not None
        return self._process.stdout

    def leader(self) -> int | None:
        """Id of the command itself; None before it started and after it ended."""
        return next(iter(children(self.pid)), None)

    def stop(self) -> None:
        """Ask the supervisor to end the command; returns at once."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def running(self) -> bool:
        """Whether the supervisor still runs."""
        return self._process.poll() is None

    def wait(self, seconds: float | None = None) -> int:
        """Exit code of the command."""
        code = self._process.wait(seconds)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return code


@contextmanager
def supervised(command: Sequence[str], **options: Any) -> Iterator[Supervised]:
    """A supervised command that has ended, with all its children, when the block is left."""
    run = Supervised(command, **options)
    try:
        yield run
    finally:
        run.stop()
        run.wait()
