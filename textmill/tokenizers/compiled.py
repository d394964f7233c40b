"""Functions that numba compiles to machine code when they are first called.

Importing numba takes half a second, which a stage that splits no text need not pay; so it is
imported by the first call and not by the module.

What was compiled is kept on disk, beside the module or else in the user's cache folder, and is read
from there by the next process; where nothing can be written, every process compiles for itself. The
folder's name holds the hash of the source. Numba writes its index before the code that the index
names: in a folder that two versions of the source share, a process that is killed in between, or
two at once, would leave one version's code under the other's name.

A kernel runs without the interpreter's lock, so threads run several at once. Arrays that it only
reads are given to it as read-only ones, so that it is compiled for one combination of types: two
processes that first compiled two would each number theirs 1 and might swap them. A kernel that
needs more says which, and every process compiles them all in that order.
"""

import hashlib
import inspect
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")
_lock = threading.Lock()


class Kernel(Generic[P, R]):
    """A function over arrays and numbers that is compiled by its first call.

    types: numba's signatures, where there are several.
    """

    def __init__(self, function: Callable[P, R], types: Sequence[str] | None = None) -> None:
        self._function = function
        self._types = types
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the machine code."""
        try:
            return self.dispatcher(*args, **kwargs)
        except OSError:  # what was compiled could not be kept: the disk is full
            self.dispatcher = self._compiled(cache=False)
            return self.dispatcher(*args, **kwargs)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's own object, which holds the machine code."""
        try:
            return self._compiled(cache=True)
        except (RuntimeError, OSError):  # there is no folder to keep it in, or no room
            return self._compiled(cache=False)

    def _compiled(self, *, cache: bool) -> Any:
        import numba  # noqa: PLC0415  # half a second

        config: Any = numba.config
        with _lock:
            users_own = config.CACHE_DIR
            try:
                if cache and not users_own:
                    config.CACHE_DIR = str(_folder(Path(inspect.getfile(self._function))))
                return numba.njit(self._types, cache=cache, nogil=True)(self._function)
            finally:
                config.CACHE_DIR = users_own


def _folder(source: Path) -> Path:
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    return source.parent / "__pycache__" / f"numba-{digest}"


def read_only(array: np.ndarray) -> np.ndarray:
    """The same array, which may not be written through this name."""
    view = array.view()
    view.flags.writeable = False
    return view
