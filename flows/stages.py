"""Runs one stage: `dvc repro -s STAGE` under a supervisor, its output handed on line by line.

`-s` does not look upstream, so whoever calls walks the graph in order. DVC says what it did in a
line of its own, which decides how the end is named. Nothing here knows Prefect.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from flows.processes import Supervised, supervised
from flows.waiting import PATIENCE, LockWatch
from textmill.repository.stages import read_stages

RETRY = 2.0
BUSY = "is busy, it is being blocked by"
HOLDER = re.compile(r" +\(PID (?P<pid>\d+)\): (?P<command>.*)")
"""Below that, whoever holds the file."""
HINTS = (
    "Data and pipelines are up to date.",
    "To track the changes with git, run:",
    "\tgit add ",
    "To enable auto staging, run:",
    "\tdvc config core.autostage true",
    "Use `dvc push` to send your updates to remote storage.",
)
"""What DVC says after every stage to somebody at a terminal; the log is clearer without."""


class Ending(StrEnum):
    """How a stage ended well."""

    COMPLETED = "Completed"
    SKIPPED = "Skipped"
    RESTORED = "Restored"


class StageFailed(Exception):  # noqa: N818 - it is what happened, not a fault of this code
    """A stage ended badly; the message is what it said."""


class StageStopped(Exception):  # noqa: N818 - likewise
    """A stage was ended because its flow ends."""


@dataclass(slots=True)
class Attempt:
    """What one `dvc repro -s STAGE` said.

    busy: other DVC processes hold the stage's files. holders: their ids and commands.
    """

    stage: str
    ending: Ending | None = None
    busy: bool = False
    holders: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def hear(self, line: str) -> None:
        """Take note of a line of output."""
        endings = {
            f"Running stage '{self.stage}':": Ending.COMPLETED,
            f"Stage '{self.stage}' is cached - skipping run, checking out outputs": Ending.RESTORED,
            f"Stage '{self.stage}' didn't change, skipping": Ending.SKIPPED,
        }
        self.ending = self.ending or endings.get(line)
        self.busy = self.busy or BUSY in line
        if self.busy and (found := HOLDER.match(line)):
            self.holders[found["pid"]] = found["command"]
        continues = bool(self.problems) and line.startswith("  ")
        if line.startswith(("textmill: ", "ERROR: ")) or continues:
            self.problems.append(line)

    def who(self) -> str:
        """Who holds the stage's files, in words."""
        named = [f"process {pid} ({command})" for pid, command in self.holders.items()]
        return f"held by {' and '.join(named) or 'another DVC process'}"

    def problem(self, code: int) -> str:
        """What went wrong, in the words of the step or of DVC."""
        return "\n".join(self.problems) or f"dvc repro ended with exit code {code}"


class Stages:
    """Runs stages of one checkout; `stop` ends all that run and lets no other start.

    keep: file descriptors that the processes of a stage hold as long as they live.
    """

    def __init__(
        self,
        root: Path,
        *,
        force: bool = False,
        keep: Sequence[int] = (),
        patience: float = PATIENCE,
    ) -> None:
        self._root = root
        self._force = force
        self._keep = keep
        self._patience = patience
        self._running: set[Supervised] = set()
        self._guard = threading.Lock()
        self._stopped = threading.Event()

    def run(self, stage: str, on_line: Callable[[str], None]) -> Ending:
        """Run a stage to its end. StageFailed with what it said, StageStopped."""
        deadline = time.monotonic() + self._patience
        told = ""
        while True:
            attempt = Attempt(stage)
            code, problem = self._attempt(attempt, on_line)
            if self._stopped.is_set():
                raise StageStopped(stage)
            if problem:
                raise StageFailed(problem)
            if code == 0:
                if attempt.ending is None:
                    on_line("DVC did not say what it did with the stage: taken as run")
                return attempt.ending or Ending.COMPLETED
            if not attempt.busy:
                raise StageFailed(attempt.problem(code))
            if time.monotonic() > deadline:
                raise StageFailed(_busy(attempt, self._patience))
            if told != (told := attempt.who()):
                on_line(f"waiting for this stage's files, {told}")
            self._stopped.wait(RETRY)

    def stop(self) -> None:
        """End every running stage; their `run` returns once nothing of them lives."""
        with self._guard:
            self._stopped.set()
            for run in self._running:
                run.stop()

    def _attempt(self, attempt: Attempt, on_line: Callable[[str], None]) -> tuple[int, str]:
        """Exit code of one DVC process, and what the watch over DVC's lock found."""
        force = ["--force"] if self._force else []
        command = [sys.executable, "-m", "dvc", "--wait-for-lock", "repro", "-s"]
        with supervised(
            [*command, *force, attempt.stage],
            first="step",
            root=self._root,
            environment=environment(),
            keep=self._keep,
            output=subprocess.PIPE,
        ) as run:
            self._enrol(run)
            try:
                with LockWatch(run, self._root, self._patience) as watch:
                    for line in run.output:
                        attempt.hear(line.rstrip())
                        if line.strip() and not line.startswith(HINTS) and not attempt.busy:
                            on_line(line.rstrip())
                    return run.wait(), watch.problem
            finally:
                with self._guard:
                    self._running.discard(run)

    def _enrol(self, run: Supervised) -> None:
        with self._guard:
            self._running.add(run)
            if self._stopped.is_set():
                run.stop()


def _busy(attempt: Attempt, patience: float) -> str:
    """What to say once the stage's files were waited for long enough."""
    return (
        f"textmill: its files were not free within {patience:g} s, {attempt.who()}\n"
        "  -> wait for it, or end it, then: make flow   (no such process: rm .dvc/tmp/rwlock)"
    )


def unchanged(root: Path) -> frozenset[str] | None:
    """Stages that DVC calls up to date, by one question about all; None where it cannot say.

    A question a stage takes a second or two each. The answer holds for a stage only as long as
    nothing that it needs is run.
    """
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "status", "--json"],
        cwd=root,
        env=environment(),
        text=True,
        capture_output=True,
        check=False,
    )
    try:
        changed = json.loads(done.stdout)
    except ValueError:
        return None
    return frozenset(stage.name for stage in read_stages(root)) - changed.keys()


def cause_of(message: str) -> str:
    """What a stage's message says in one line: the step's last words, or DVC's where it said none.

    Lines that go on from another one, and that the stage failed, are not the cause.
    """
    lines = [line for line in message.splitlines() if line and not line.startswith(" ")]
    words = [line for line in lines if not line.startswith("ERROR: failed to reproduce")]
    return (words or lines or ["it did not say why"])[-1].removeprefix("textmill: ")


def environment() -> dict[str, str]:
    """The environment of a stage: this interpreter's programs first, output without delay."""
    programs = str(Path(sys.executable).parent)
    path = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    return os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"}
