"""Whether a DVC is at work here, so that nothing is changed under its hands.

DVC writes down which process uses which files. A process that is no more is none.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.repository.leftovers import IN_USE


def check_idle(root: Path = Path()) -> None:
    """UserError naming the run that uses files of this checkout."""
    for one in _users(root):
        if _is_alive(int(one["pid"])):
            raise UserError(
                f"a run is going here: process {one['pid']}, {one['cmd']}",
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


def _is_alive(pid: int) -> bool:
    import psutil  # noqa: PLC0415  # only where DVC's list names somebody

    return bool(psutil.pid_exists(pid))
