"""One kind of error for everything a user can mend.

A `UserError` carries what was wrong, where, and what to type next, so that a stage or a
command can end with one clear message instead of a traceback. Any other exception is a bug.
"""

import errno
import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches

_OUTSIDE = [
    "EACCES",
    "EDQUOT",
    "EEXIST",
    "EIO",
    "EISDIR",
    "ENAMETOOLONG",
    "ENOSPC",
    "ENOTDIR",
    "ENOTEMPTY",
    "EPERM",
    "EROFS",
]
OUTSIDE = frozenset(getattr(errno, name) for name in _OUTSIDE)
"""Errors of the operating system that speak of the machine and not of a bug."""


class UserError(Exception):
    """Bad input, data or environment: says what, where, and the next step."""

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        super().__init__(what, where, next_step)
        self.what = what
        self.where = where
        self.next_step = next_step

    def __reduce__(self) -> tuple[Callable[..., "UserError"], tuple[str, str, str]]:
        return _raised_elsewhere, (self.what, self.where, self.next_step)

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.next_step:
            lines.append(f"  -> {self.next_step}")
        return "\n".join(lines)


def _raised_elsewhere(what: str, where: str, next_step: str) -> UserError:
    """The error as it came out of a worker process."""
    return UserError(what, where=where, next_step=next_step)


_MEANT = {
    "gpu": "cuda",
    "bpe": "subword",
    "fp32": "float32",
    "bf16": "bfloat16",
    "lr": "learning_rate",
    "n": "order",
    "epochs": "steps",
    "hidden_size": "hidden",
    "embedding_size": "embedding",
    "kn": "kneser_ney",
    "mkn": "kneser_ney",
    "wb": "witten_bell",
    "gt": "good_turing",
    "katz": "good_turing",
    "ad": "absolute_discounting",
    "jm": "jelinek_mercer",
    "interpolation": "jelinek_mercer",
    "laplace": "additive",
    "lidstone": "additive",
    "add_k": "additive",
    "mle": "maximum_likelihood",
    "sb": "stupid_backoff",
}
"""What else people call a value; the nearest by its letters would be another one, or none."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` for what is meant or the closest known name, or an empty string."""
    names = list(known)
    meant = _MEANT.get(name.lower())
    matches = [meant] if meant in names else get_close_matches(name, names, n=1, cutoff=0.5)
    return f'; did you mean "{matches[0]}"?' if matches else ""


def shown(value: object) -> str:
    """A value of params.yaml in a message; what was left empty there is `empty`."""
    return "empty" if value is None else repr(value)


def first_line(error: BaseException) -> str:
    """Of what an error says; its kind where it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def as_user_error(error: UserError | OSError) -> UserError:
    """What the operating system refused, as one message; any other OSError is a bug, re-raised."""
    if isinstance(error, UserError):
        return error
    if error.errno is None or error.errno not in OUTSIDE:
        raise error
    where = os.fspath(error.filename) if error.filename is not None else ""
    if error.errno == errno.EISDIR:
        return UserError("it is a folder", where=str(where), next_step="name a file")
    return UserError(
        os.strerror(error.errno),
        where=str(where),
        next_step="make room or give access there, then type the command again",
    )
