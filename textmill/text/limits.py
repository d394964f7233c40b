"""Rules with limits: how long a document or line may be, and of which characters.

Each is a frozen set of parameters that is called like any other rule. Lines are judged in one
column by pyarrow's kernels. Blank lines are never judged: whether they stay is what `blank_lines`
is for. Limits count characters (code points) and words (between spaces); a maximum of 0 is none.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.text.examples import EXAMPLES, SHOWN
from textmill.text.rules import Cleaned, Loss

_CLASSES = {
    "letters": r"[\p{L}\p{M}]",
    "capitals": r"\p{Lu}",
    "digits": r"\p{N}",
    "punctuation": r"\p{P}",
    "symbols": r"\p{S}",
}
Unit = Literal["document", "line"]
Reasons = list[tuple[str, Any]]
"""Reasons to drop, each with where in a column it holds."""
Class = Literal["letters", "capitals", "digits", "punctuation", "symbols"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """Documents or lines that are too short or too long are dropped."""

    unit: ClassVar[Unit]
    min_characters: int = 0
    max_characters: int = 0
    min_words: int = 0
    max_words: int = 0

    def __post_init__(self) -> None:
        limits = [self.min_characters, self.max_characters, self.min_words, self.max_words]
        if min(limits) < 0 or not any(limits):
            raise ValueError("needs a limit above 0: {min,max}_{characters,words}")
        for low, high in (limits[:2], limits[2:]):
            if 0 < high < low:
                raise ValueError(f"the minimum {low} is above the maximum {high}")

    def __call__(self, text: str) -> Cleaned:
        """Drop by the limits, each a reason of its own, the first that applies."""
        return self.each([text])[0]

    def each(self, texts: Sequence[str]) -> list[Cleaned]:
        """The same of several documents."""
        return _answers(texts, self.unit, self._reasons)

    def _reasons(self, judged: Any) -> Reasons:
        measured = {
            "characters": _numbers(pc.utf8_length(judged)),
            "words": _numbers(pc.count_substring_regex(judged, r"[^\s]+")),
        }
        reasons: Reasons = []
        for name, found in measured.items():
            low, high = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            reasons.append((f"fewer than {low:,} {name}", found < low))
            reasons.append((f"more than {high:,} {name}", (found > high) & (high > 0)))
        return reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLength(Length):
    """Documents that are too short or too long are dropped."""

    unit: ClassVar[Unit] = "document"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineLength(Length):
    """Lines that are too short or too long are dropped."""

    unit: ClassVar[Unit] = "line"


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterShare:
    """Documents or lines with too small or large a share of a class of characters are dropped.

    of: letters (with their marks), capitals, digits, punctuation or symbols, as Unicode classes
    them. The share is of the characters other than white space.
    """

    of: Class
    unit: Unit = "document"
    min: float = 0.0
    max: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.min <= self.max <= 1 or (self.min, self.max) == (0, 1):
            raise ValueError("needs 0 <= min <= max <= 1, and one of the two as a limit")

    def __call__(self, text: str) -> Cleaned:
        """Drop by the share."""
        return self.each([text])[0]

    def each(self, texts: Sequence[str]) -> list[Cleaned]:
        """The same of several documents."""
        return _answers(texts, self.unit, self._reasons)

    def _reasons(self, judged: Any) -> Reasons:
        whole = _numbers(pc.utf8_length(judged)) - _numbers(pc.count_substring_regex(judged, r"\s"))
        part = _numbers(pc.count_substring_regex(judged, _CLASSES[self.of]))
        share = part / np.maximum(whole, 1)
        return [
            (f"less than {self.min:g} {self.of}", share < self.min),
            (f"more than {self.max:g} {self.of}", share > self.max),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedLines:
    """Documents in which too many of the lines have occurred before in them are dropped.

    The limit of 0.3 is that of MassiveText (Rae et al. 2021, table A1).
    """

    max_share: float = 0.3

    def __post_init__(self) -> None:
        if not 0 <= self.max_share < 1:
            raise ValueError(
                f"max_share: a share lies from 0 to below 1, {self.max_share} does not"
            )

    def __call__(self, text: str) -> Cleaned:
        """Drop by the share of lines, blank ones aside, that repeat an earlier one."""
        counts = Counter(line for line in text.split("\n") if line)
        total = counts.total()
        if total and 1 - len(counts) / total > self.max_share:
            line, times = counts.most_common(1)[0]
            example = f'"{line[:SHOWN]}" {times} times'
            return Cleaned(
                text, drop=f"more than {self.max_share:g} repeated lines", example=example
            )
        return Cleaned(text)


def drop_lines(text: str, gone: Any, reasons: Reasons) -> Cleaned:
    """Drop the lines where `gone` is true; reasons: (reason, where it holds), disjoint.

    The arrays have a value a line (what LF ends); text ends with LF.
    """
    if not gone.any():
        return Cleaned(text)
    lines = text.removesuffix("\n").split("\n")
    losses = []
    for reason, holds in reasons:
        if count := int(holds.sum()):
            first = [f"line {i + 1}: {lines[i][:SHOWN]}" for i in np.flatnonzero(holds)[:EXAMPLES]]
            losses.append(Loss(reason, "lines", count, tuple(islice(first, EXAMPLES))))
    kept = pa.array(lines, pa.large_string()).filter(pa.array(~gone)).to_pylist()
    return Cleaned("\n".join(kept) + "\n" if kept else "", tuple(losses))


def lines_of(text: str) -> Any:
    """The lines of a text whose lines all end with LF, as a column."""
    return pa.array(text.removesuffix("\n").split("\n") if text else [], pa.large_string())


def _numbers(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False)


def _answers(texts: Sequence[str], unit: Unit, judge: Callable[[Any], Reasons]) -> list[Cleaned]:
    """What a limit makes of each document. judge: the reasons, over a column of texts."""
    if unit == "line":
        return [_without_lines(text, judge) for text in texts]
    reasons = judge(pa.array(texts, pa.large_string()))
    answers = [Cleaned(text) for text in texts]
    # From the last reason to the first, which then stands.
    for reason, holds in reversed(reasons):
        for at in np.flatnonzero(holds).tolist():
            example = texts[at][:SHOWN].replace("\n", " ")
            answers[at] = Cleaned(texts[at], drop=reason, example=example)
    return answers


def _without_lines(text: str, judge: Callable[[Any], Reasons]) -> Cleaned:
    judged = lines_of(text)
    gone = np.zeros(len(judged), dtype=bool)
    blank = _numbers(pc.binary_length(judged)) == 0
    disjoint = []
    for reason, holds in judge(judged):
        disjoint.append((reason, holds & ~gone & ~blank))
        gone |= disjoint[-1][1]
    return drop_lines(text, gone, disjoint)
