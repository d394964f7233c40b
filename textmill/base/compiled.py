"""Functions that numba compiles to machine code when they are first called.

Importing numba takes half a second and more, which a stage that calls no such function need not
pay; so it is imported by the first call and not by the module. Kernels may call one another.

What was compiled is kept on disk and read from there by the next process (`kept`); where nothing
can be written, every process compiles for itself. A kernel runs without the interpreter's lock, so
threads run several at once.
"""

import inspect
import threading
from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

# Numbers in kernels; for mypy, which has no range, no min and no end of them, they are anything.
U: Any = np.uint64
I32: Any = np.int32
F32: Any = np.float32

P = ParamSpec("P")
R = TypeVar("R")
_lock = threading.RLock()


class Kernel(Generic[P, R]):
    """A function over arrays and numbers that is compiled by its first call."""

    def __init__(self, function: Callable[P, R], *, any_order: bool = False) -> None:
        """any_order: sums of floats may be taken in another order than the one written."""
        self._function = function
        self._any_order = any_order
        self._dispatcher: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the machine code."""
        try:
            return self.dispatcher(*args, **kwargs)
        except OSError:  # what was compiled could not be kept: the disk is full
            self._dispatcher = self._compiled(kept=False)
            return self._dispatcher(*args, **kwargs)

    @property
    def dispatcher(self) -> Any:
        """Numba's own object, which holds the machine code."""
        if self._dispatcher is None:
            with _lock:
                self._dispatcher = self._dispatcher or self._compiled(kept=True)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """By this numba knows what a kernel is that another one calls."""
        return self.dispatcher._numba_type_

    def _compiled(self, *, kept: bool) -> Any:
        import numba  # noqa: PLC0415  # half a second

        from textmill.base import kept as keeping  # noqa: PLC0415  # it imports numba

        fastmath = {"reassoc", "contract", "nsz"} if self._any_order else False
        dispatcher = numba.njit(nogil=True, fastmath=fastmath)(self._function)
        if kept:
            keeping.keep(dispatcher, sorted(set(self._sources())))
        return dispatcher

    def _sources(self) -> Iterator[Path]:
        """The files that the machine code is made of: its own and those of what it calls."""
        yield Path(inspect.getfile(self._function))
        for name in self._function.__code__.co_names:
            called = self._function.__globals__.get(name)
            if isinstance(called, Kernel) and called is not self:
                yield from called._sources()


InVectors = partial(Kernel, any_order=True)
"""Makes a kernel whose sums of floats run in the processor's vectors; a NaN stays one."""


def read_only(array: np.ndarray) -> np.ndarray:
    """The same array, which may not be written through this name.

    Arrays of a mapped file are read-only, and numba compiles for them anew: what is only read
    is given like this, whether it is mapped or not.
    """
    view = array.view()
    view.flags.writeable = False
    return view
