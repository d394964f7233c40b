"""The names of columns: in one line, and the wanted one there once.

pyarrow's reader of CSV finds no columns at all where a name has a line break, and of two columns
with one name it silently takes the first.
"""

import csv
import re
from collections.abc import Sequence
from typing import Literal

from textmill.base.errors import UserError

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_SHOWN = 60


def header_of(name: str, head: bytes, delimiter: str, *, quoting: bool) -> list[str]:
    """The names of a file's columns. Raises UserError where they do not stand in one line.

    head: the file's beginning as UTF-8, at least its first line.
    """
    line = _LINE.match(head.decode())
    assert line is not None
    quotes: Literal[0, 3] = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
    try:
        names = next(csv.reader([line[0]], delimiter=delimiter, quoting=quotes), [])
    except csv.Error as error:
        raise UserError(
            f"its first line is no list of columns ({error})",
            where=name,
            next_step="write the names of the columns there",
        ) from None
    if broken := next((one for one in names if "\n" in one or "\r" in one), None):
        raise UserError(
            f"the column that begins with {broken.splitlines()[0][:_SHOWN]!r} has a line break in "
            "its name, or a quote that is not closed",
            where=name,
            next_step="write the names of the columns in one line (or, where quotes are signs like "
            "any other, set quoting: false)",
        )
    return names


def check_once(name: str, there: list[str], columns: Sequence[str]) -> None:
    """Raise UserError for a wanted column that could be either of two."""
    for column in columns:
        if (times := there.count(column)) > 1:
            raise UserError(
                f'it has {times} columns named "{column}"',
                where=name,
                next_step="rename all but one of them, or name another column in params.yaml",
            )
