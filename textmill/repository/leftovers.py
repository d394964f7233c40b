"""What a killed DVC leaves half-made, and stumbles over when it is called again.

DVC makes the folder of a run in its cache before the entry in it, and of the empty folder says
"join() argument must be str, bytes, or os.PathLike object, not 'NoneType'". It rewrites the list
of files in use in place, and of half a list says "JSON structure is corrupted". Neither holds
anything: without them it goes on. Half a dvc.lock is another matter: `flows.lockfile`. A cache that
`cache.dir` puts elsewhere is not looked through: other checkouts may share it, and their locks are
elsewhere too.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

RUNS = Path(".dvc/cache/runs")
IN_USE = Path(".dvc/tmp/rwlock")
RUNS_GUARD = Path(".dvc/tmp/lock")
IN_USE_GUARD = Path(".dvc/tmp/rwlock.lock")
"""DVC's own locks: it holds the one or the other, by flock, while it writes these."""


def clear(root: Path = Path()) -> list[Path]:
    """Remove them, and return what was removed; not where a DVC at work has its hands on them.

    Raises OSError where one may not be removed.
    """
    removed = []
    if _is_half(root / IN_USE):
        with _held(root / IN_USE_GUARD) as free:
            if free and _is_half(root / IN_USE):
                (root / IN_USE).unlink()
                removed.append(IN_USE)
    if _empty_folders(root):
        with _held(root / RUNS_GUARD) as free:
            for folder in _empty_folders(root) if free else ():
                (root / folder).rmdir()
                removed.append(folder)
    return removed


def _is_half(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except FileNotFoundError:
        return False
    except ValueError:
        return True
    return False


def _empty_folders(root: Path) -> list[Path]:
    """Folders of cached runs, `ab/abcd…`, without an entry."""
    return [
        folder.relative_to(root)
        for folder in sorted((root / RUNS).glob("*/*"))
        if folder.is_dir() and not any(folder.iterdir())
    ]


@contextmanager
def _held(guard: Path) -> Iterator[bool]:
    """Whether the lock was free; then it is held."""
    guard.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(guard, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        free = False
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        yield free
    finally:
        os.close(descriptor)
