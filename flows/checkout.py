"""One flow at a time in a checkout: a lock that the system gives back when its holder is gone.

The lock is `flock` on `.textmill/flow.lock`; the file's content only says who holds it. Every
supervisor of a stage inherits the lock, so it is free when the last process of a run has ended,
and not before: the next run never meets an orphan that still writes.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from flows.processes import Identity, myself
from flows.supervisor import LONGEST_END
from textmill.base.errors import UserError
from textmill.base.files import naming
from textmill.repository import layout

LOCK = layout.FLOW_LOCK


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lock. since: in UTC. name: of the flow run in Prefect."""

    process: Identity
    since: str
    name: str

    def describe(self) -> str:
        """Process id, since when, flow run and command, in words."""
        return (
            f"process {self.process.pid} since {self.since} UTC,"
            f" {self.name} ({self.process.command})"
        )


@contextmanager
def hold(path: Path, name: str, patience: float = LONGEST_END) -> Iterator[int]:
    """Hold a lock; yields its file descriptor. UserError naming a living holder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _take(descriptor, path, patience)
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        content = json.dumps(asdict(Holder(myself(), now, name)))
        os.ftruncate(descriptor, 0)
        with naming(path):
            os.pwrite(descriptor, content.encode(), 0)
        try:
            yield descriptor
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def check_free(path: Path) -> None:
    """UserError naming the holder where a living process holds the lock; takes nothing.

    OSError where the lock could not be written.
    """
    holder = read_holder(path)
    if holder is not None and holder.process.lives():
        raise _refusal(holder)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o644))


def read_holder(path: Path) -> Holder | None:
    """Who wrote the lock file last; None where nobody did or it is being written."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads(path.read_text(encoding="utf-8"))
        return Holder(Identity(**content["process"]), content["since"], content["name"])
    return None


def _take(descriptor: int, path: Path, patience: float) -> None:
    """Lock, waiting for the processes of a dead holder to end, never for a living one."""
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = read_holder(path)
            if holder is not None and holder.process.lives():
                raise _refusal(holder) from None
            if time.monotonic() > deadline:
                raise UserError(
                    f"processes of an ended run still hold this after {patience:.0f} s",
                    where=str(path),
                    next_step=f"see who: fuser -v {path}",
                ) from None
            time.sleep(0.1)
        else:
            return


def _refusal(holder: Holder) -> UserError:
    return UserError(
        f"this checkout is in use: {holder.describe()}",
        next_step=f"wait for it, or end it: kill {holder.process.pid}",
    )
