"""One download of a file at a time, whichever process or checkout shares the folder.

The lock is `flock` on a small file beside what is on its way; its content only says who holds it.
The system lets go of it when its holder ends, however that was, so nothing stale can block. The
holder deletes the file before it lets go, so whoever waited looks whether it holds the file that
has the name.
"""

import fcntl
import logging
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_log = logging.getLogger(__name__)


@contextmanager
def turn(path: Path, name: str) -> Iterator[None]:
    """Hold the lock at `path`; who has to wait says for whom. name: what is to be downloaded."""
    descriptor = _taken(path, name)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _taken(path: Path, name: str) -> int:
    while True:
        # The last holder may just be removing the empty folder.
        with suppress(FileNotFoundError):
            _make_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            _wait(descriptor, path, name)
            if _is_at(descriptor, path):
                holder = f"process {os.getpid()} on {socket.gethostname()}"
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, holder.encode(), 0)
                return descriptor
            os.close(descriptor)


def _make_folder(folder: Path) -> None:
    """FileNotFoundError where it was there when it was to be made, and is gone when looked at."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        if not stat.S_ISDIR(folder.stat().st_mode):
            raise


def _wait(descriptor: int, path: Path, name: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "another process"
        _log.warning("%s: waiting for %s, which is downloading it (%s)", name, holder, path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the name is still this file's."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
