"""dvc.lock survives a run that is killed while DVC writes it.

DVC rewrites dvc.lock in place. A kill in that moment leaves half a file, with which no DVC command
works any more. So a run keeps the last whole dvc.lock in `.textmill/`, and the next run puts it
back; what is lost are the entries of the last stages, which DVC then restores from its cache. The
copy is only there while a run lasts, so a file that somebody else damaged is never replaced.
"""

import threading
from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import write_atomically
from textmill.lineage.lock import LOCK, read_lock
from textmill.repository import layout

COPY = layout.PRIVATE / "dvc.lock"


class Keeper:
    """Keeps a copy of dvc.lock in the course of a run."""

    def __init__(self, root: Path) -> None:
        self._lock = root / LOCK
        self._copy = root / COPY
        self._root = root
        self._guard = threading.Lock()

    def mend(self) -> bool:
        """Put the copy of a run that was killed back where dvc.lock is half a file."""
        if not self._copy.exists():
            return False
        try:
            read_lock(self._root)
        except UserError:
            self._copy.replace(self._lock)
            return True
        return False

    def keep(self) -> None:
        """Copy dvc.lock if it is whole; while a stage writes it, the copy before stays."""
        with self._guard:
            try:
                before = self._lock.read_bytes()
                read_lock(self._root)
                if before == self._lock.read_bytes():
                    write_atomically(self._copy, before)
            except (UserError, FileNotFoundError):
                return

    def forget(self) -> None:
        """The run has ended and dvc.lock is whole."""
        self._copy.unlink(missing_ok=True)
