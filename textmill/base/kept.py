"""Machine code on disk, kept from one process to the next.

It lies beside the source, or else in the user's cache folder (`XDG_CACHE_HOME`), or where
`NUMBA_CACHE_DIR` says, in a folder whose name holds the hash of the source. Numba's own cache
goes by the time and place of the source and by the file that holds the function alone: a copy of
the code compiles everything again, and a changed function that is called from another file goes
on in its old form. It also reads its index, adds a name and writes it again, so two processes that
compile different types at once leave one's code under the other's name; here one waits.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator


def keep(dispatcher: Any, sources: Sequence[Path]) -> None:
    """Let a dispatcher read and write its machine code on disk, where there is a place for it."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    beside = Path(dispatcher.py_func.__code__.co_filename).parent / "__pycache__"
    for folder in _candidates(beside):
        place = _Place(folder / f"numba-{digest}", digest, dispatcher.py_func)
        try:
            place.ensure_cache_path()
        except OSError:
            continue
        dispatcher._cache = _Cache(dispatcher.py_func, place)
        return


def _candidates(beside: Path) -> Iterator[Path]:
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
        return
    yield beside
    home = os.environ.get("XDG_CACHE_HOME")
    yield (Path(home) if home else Path.home() / ".cache") / "textmill"


class _Place(_CacheLocator):  # type: ignore[misc]  # numba has no types
    """One folder, whose content belongs to one version of the source."""

    def __init__(self, folder: Path, digest: str, function: Any) -> None:
        self._folder, self._digest = folder, digest
        self._py_file = function.__code__.co_filename
        self._line = function.__code__.co_firstlineno

    def from_function(self, *_: Any) -> "_Place":
        return self

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache in a place of ours, written by one process at a time."""

    def __init__(self, function: Any, place: _Place) -> None:
        self._place = place
        super().__init__(function)

    def _impl_class(self, function: Any) -> Any:
        places = (self._place,)

        class Here(CompileResultCacheImpl):  # type: ignore[misc]
            _locator_classes = places

        return Here(function)

    def save_overload(self, sig: Any, data: Any) -> None:
        with self._alone():
            super().save_overload(sig, data)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with (self._place._folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
