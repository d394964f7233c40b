"""Whether a DVC or a flow is at work here, so that nothing is changed under its hands.

DVC writes down which process uses which files. A process that is no more is none, and neither is a
later one that was given its number: it began after DVC wrote. A flow holds a lock, also between its
stages.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.repository import layout
from textmill.repository.leftovers import IN_USE

_LATER = 1.0
"""Seconds, more than the clocks of a file and of a process differ."""


def check_idle(root: Path = Path()) -> None:
    """UserError naming the run that uses files of this checkout."""
    for one in _users(root):
        if _is_alive(int(one["pid"]), (root / IN_USE).stat().st_mtime):
            raise _busy(f"process {one['pid']}, {one['cmd']}")
    if _is_locked(root / layout.FLOW_LOCK):
        raise _busy(f"a flow, which holds {layout.FLOW_LOCK}")


def _busy(who: str) -> UserError:
    return UserError(
        f"a run is going here: {who}",
        next_step="wait for it, or end it, then type the command again",
    )


def _users(root: Path) -> Iterator[dict[str, Any]]:
    """The processes that DVC knows of; none where its list is not whole."""
    try:
        known = json.loads((root / IN_USE).read_bytes())
    except (FileNotFoundError, ValueError):
        return
    yield from known.get("write", {}).values()
    for readers in known.get("read", {}).values():
        yield from readers


def _is_alive(pid: int, written: float) -> bool:
    """Whether a process runs that had this number when the list was written."""
    import psutil  # noqa: PLC0415  # only where DVC's list names somebody

    try:
        process = psutil.Process(pid)
        is_running = process.status() != psutil.STATUS_ZOMBIE
        return is_running and process.create_time() <= written + _LATER
    except psutil.Error:
        return False


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
