"""What `make serve` leaves for others to find: where its server answers, and which processes it is.

`.textmill/serve.json` names each process with its start time, so that `make stop` never ends a
process that merely has the same id, and `make flow` finds the server.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from flows.processes import Identity
from textmill.base.files import write_json
from textmill.repository import layout

RECORD = layout.PRIVATE / "serve.json"


@dataclass(frozen=True, slots=True)
class Serving:
    """processes: the one that serves, first, then all that it started. api: its server's."""

    api: str
    processes: tuple[Identity, ...]

    def lives(self) -> bool:
        """Whether the one that serves still runs."""
        return bool(self.processes) and self.processes[0].lives()


def write(root: Path, api: str, processes: Iterable[Identity]) -> None:
    """Record a serving process and its children."""
    content = {"api": api, "processes": [asdict(process) for process in processes]}
    write_json(root / RECORD, content)


def read(root: Path) -> Serving | None:
    """What was recorded last; None where nothing was, or it was removed at a clean end."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads((root / RECORD).read_text(encoding="utf-8"))
        processes = tuple(Identity(**process) for process in content["processes"])
        return Serving(content["api"], processes)
    return None


def forget(root: Path) -> None:
    """Remove the record."""
    (root / RECORD).unlink(missing_ok=True)
