"""Ends what `make serve` started in this checkout: `python -m flows.stop` (`make stop`).

Normally the serving process alone is told to end, and ends the rest. After a crash the recorded
processes that still live are ended one by one, and a flow run that a worker started. A process
counts only if its start time is the recorded one too, so a stranger is never touched.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from flows import serving
from flows.checkout import LOCK, read_holder
from flows.processes import Identity, descendants
from flows.supervisor import LONGEST_END
from textmill.base.errors import UserError, as_user_error

ENGINE = "prefect.engine"
"""In the command of a flow run that a worker started."""


def main() -> int:
    """End all of it; 0 where nothing is left, 1 where something could not be ended."""
    try:
        return _stop(Path())
    except (UserError, OSError) as error:
        _say(str(as_user_error(error)))
        return 1


def _stop(root: Path) -> int:
    record = serving.read(root)
    recorded = record.processes if record is not None else ()
    holder = read_holder(root / LOCK)
    if holder is not None and ENGINE in holder.process.command:
        recorded = (*recorded, holder.process)
    found = [process for process in recorded if process.lives()]
    if not found:
        _say("nothing of make serve runs in this checkout")
    elif end(found):
        _say(f"could not be ended: {', '.join(str(process.pid) for process in found)}")
        return 1
    else:
        _say(f"ended {found[0].pid} and what it started")
    if record is not None:
        serving.forget(root)
    return 0


def end(processes: list[Identity], patience: float = LONGEST_END) -> list[Identity]:
    """Ask the first to end, then the rest, then kill; those that live all the same."""
    every = {one for process in processes for one in (process, *descendants(process.pid))}
    _signal(processes[:1], signal.SIGTERM)
    _await(every, patience)
    _signal(every, signal.SIGTERM)
    _await(every, patience / 4)
    _signal(every, signal.SIGKILL)
    return _await(every, patience / 4)


def _signal(processes: Iterable[Identity], number: int) -> None:
    for process in processes:
        if process.lives():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)


def _await(processes: Iterable[Identity], patience: float) -> list[Identity]:
    deadline = time.monotonic() + patience
    while (left := [process for process in processes if process.lives()]) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.1)
    return left


def _say(text: str) -> None:
    sys.stderr.write(f"textmill: {text}\n")


if __name__ == "__main__":
    sys.exit(main())
