"""Examples of what a rule changed: where it stood, and a few characters around it.

White space and other signs that cannot be seen are written as Python writes them, so that two
spaces or a tab can be told from one space.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import islice

EXAMPLES = 3
"""Of each reason."""
SHOWN = 60
_AROUND = 12
_LINE_END = re.compile(r"[\r\n]")


def of_matches(text: str, found: Iterable[re.Match[str]]) -> tuple[str, ...]:
    """The first places, each with what stood around it in its line."""
    return tuple(_around(text, *match.span()) for match in islice(found, EXAMPLES))


def of_form(before: str, after: str) -> tuple[str, ...]:
    """The first lines that have another normal form now, with the code points that they had."""
    pairs = enumerate(zip(before.split("\n"), after.split("\n"), strict=True), 1)
    found = (f"line {number}: {_changed(*pair)}" for number, pair in pairs if pair[0] != pair[1])
    return tuple(islice(found, EXAMPLES))


def of_lines_left_out(before: str, after: str) -> tuple[str, ...]:
    """The first lines that a text of lines has no longer, or as often no longer."""
    gone = Counter(before.split("\n")) - Counter(after.split("\n"))
    return tuple(line[:SHOWN] for line in islice(filter(None, gone), EXAMPLES))


def of_rewriting(before: str, after: str) -> tuple[str, ...]:
    """The first line that is another one now."""
    pairs = enumerate(zip(before.split("\n"), after.split("\n"), strict=False), 1)
    found = (f"line {number}: {old[:SHOWN]}" for number, (old, new) in pairs if old != new)
    return tuple(islice(found, 1))


def _around(text: str, start: int, end: int) -> str:
    ends = text.count("\n", 0, start)
    if "\r" in text:
        ends += text.count("\r", 0, start) - text.count("\r\n", 0, start)
    left = _LINE_END.split(text[max(start - _AROUND, 0) : start])[-1]
    right = _LINE_END.split(text[end : end + _AROUND])[0]
    shown = left + text[start:end] + right
    return f"line {ends + 1}: {shown[:SHOWN]!r}"


def _changed(old: str, new: str) -> str:
    """Where a line differs first: what stood there, and its code points."""
    differ = (
        place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other
    )
    at = next(differ, len(old) - 1)
    end = at + 1
    while end < len(old) and unicodedata.combining(old[end]):
        end += 1
    points = " ".join(f"U+{ord(sign):04X}" for sign in old[at:end][:EXAMPLES])
    return f"{old[max(at - _AROUND, 0) : end + _AROUND][:SHOWN]} ({points})"
