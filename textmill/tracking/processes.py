"""Is a process still the one that it was? A number alone may have gone to another process."""

import os
import socket
from pathlib import Path

from textmill.tracking import tags

_STATE, _START = 0, 19
"""Places in /proc/PID/stat, counted behind the name in brackets."""
UNKNOWN = "unknown"


def started(pid: int) -> str | None:
    """When the process began, in the system's own count; None where it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None if Path("/proc/self/stat").exists() else _without_proc(pid)
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE] in ("Z", "X") else fields[_START]


def own_marks() -> dict[str, str]:
    """Tags that say which process writes a run."""
    pid = os.getpid()
    return {
        tags.PID: str(pid),
        tags.STARTED: started(pid) or "",
        tags.HOST: socket.gethostname(),
    }


def is_same(pid: int, start: str) -> bool:
    """Whether the process that began then still runs."""
    return started(pid) == start


def _without_proc(pid: int) -> str | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return UNKNOWN
