"""One value or nested lists of them, mapped all at once."""

from collections.abc import Callable
from typing import Any


def map_leaves(value: Any, convert: Callable[[list[Any]], list[Any]]) -> Any:
    """`convert` applied to all leaves together; lists stay lists, tuples tuples, one value one."""
    leaves: list[Any] = []
    _collect(value, leaves)
    return _rebuild(value, iter(convert(leaves)))


def _collect(value: Any, leaves: list[Any]) -> None:
    if isinstance(value, list | tuple):
        for inner in value:
            _collect(inner, leaves)
    else:
        leaves.append(value)


def _rebuild(value: Any, converted: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)([_rebuild(inner, converted) for inner in value])
    return next(converted)
