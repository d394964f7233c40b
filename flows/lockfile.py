"""dvc.lock survives a run that is killed while DVC writes it.

DVC rewrites dvc.lock in place. A kill in that moment leaves half a file, with which no DVC command
works any more. So a run keeps the last whole dvc.lock in `.textmill/`, and the next run puts it
back; what is lost are the entries of the last stages, which DVC then restores from its cache.

A killed run leaves its copy, and dvc.lock may be damaged by others later: a merge, another DVC. So
a copy is put back only where the damage can be that run's own. It is a cut, so what is left reads
as YAML up to a last piece; and it was written before the run's last process had ended, while the
copy's time of change says when the run was last alive.
"""

import os
import threading
from contextlib import suppress
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from flows.supervisor import LONGEST_END
from textmill.base.errors import UserError
from textmill.base.files import write_atomically
from textmill.lineage.lock import LOCK, read_lock
from textmill.repository import layout

COPY = layout.PRIVATE / "dvc.lock"
SIGN_OF_LIFE = 5.0
"""Seconds between a run's signs that it lives."""
LATEST = SIGN_OF_LIFE + LONGEST_END
"""Seconds after its last sign of life in which a killed run's stages may still write."""

EDGE = ("schema: '2.0'", "stages:")


class Keeper:
    """Keeps a copy of dvc.lock in the course of a run."""

    def __init__(self, root: Path) -> None:
        self._lock = root / LOCK
        self._copy = root / COPY
        self._root = root
        self._guard = threading.Lock()

    def mend(self) -> bool:
        """Put the copy of a killed run back where that run left half a dvc.lock.

        Any other damage is a UserError and left as it is. The copy beside a whole file is dropped.
        """
        try:
            read_lock(self._root)
        except UserError:
            if not self._cut_by_the_killed_run():
                raise UserError(
                    "it is damaged, and not by a run of this flow that was killed",
                    where=str(self._lock),
                    next_step=f"git checkout {LOCK} (or end the merge), then make flow",
                ) from None
            self._copy.replace(self._lock)
            return True
        self.forget()
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

    def live(self) -> None:
        """Give a sign of life, at least every SIGN_OF_LIFE seconds."""
        with self._guard, suppress(FileNotFoundError):
            os.utime(self._copy)

    def forget(self) -> None:
        """The run has ended and dvc.lock is whole."""
        self._copy.unlink(missing_ok=True)

    def _cut_by_the_killed_run(self) -> bool:
        try:
            latest = self._copy.stat().st_mtime + LATEST
            return self._lock.stat().st_mtime <= latest and is_cut(self._lock.read_bytes())
        except FileNotFoundError:
            return False


def is_cut(content: bytes) -> bool:
    """Whether this is the beginning of a lock file, whose last piece alone may be incomplete.

    In a lock file only two lines begin at the left edge; the markers of a merge do too. The last
    piece may be a quoted value over several lines, which is ended here.
    """
    *whole, last = content.decode(errors="replace").split("\n")
    edge = [line for line in whole if line and not line.startswith(" ")]
    if edge != list(EDGE[: len(edge)]):
        return False
    if not last.startswith(" ") and not any(line.startswith(last) for line in EDGE):
        return False
    for end in ("", '"', "'"):
        with suppress(YAMLError):
            YAML(typ="safe").load("\n".join([*whole, end]))
            return True
    return False
