"""The books of the cleaning: what came in is what went out plus what fell, for every step.

Lines are counted in the text before and after and set against the sum of a rule's own reasons; a
step that rewrites has removed the bytes by which the text became shorter, a negative number where
it grew. Books that do not balance are a bug and stop the stage.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from textmill.text.examples import EXAMPLES
from textmill.text.rules import Loss

_UNITS = ("documents", "lines", "bytes")


@dataclass(frozen=True, slots=True)
class Size:
    """Of a text: lines, and bytes as UTF-8."""

    lines: int
    bytes: int

    def __add__(self, other: "Size") -> "Size":
        return Size(self.lines + other.lines, self.bytes + other.bytes)

    def __sub__(self, other: "Size") -> "Size":
        return Size(self.lines - other.lines, self.bytes - other.bytes)


@dataclass(slots=True)
class Books:
    """The account of one rule over all documents."""

    rule: str
    came: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_UNITS, 0))
    went: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_UNITS, 0))
    losses: dict[str, Loss] = field(default_factory=dict)
    lines_dropped: int = 0

    def passed(
        self,
        before: Size,
        after: Size,
        losses: Sequence[Loss] = (),
        name: str = "",
        *,
        documents: int = 1,
    ) -> None:
        """Enter documents that the rule let through, perhaps changed. Sizes are of all of them."""
        _enter(self.came, before, documents)
        _enter(self.went, after, documents)
        for loss in losses:
            self.lose(loss, name)

    def dropped(self, size: Size, reason: str, name: str, example: str = "") -> None:
        """Enter a document that was dropped whole."""
        _enter(self.came, size, 1)
        self.lose(Loss(reason, "documents", 1, (example,)), name)
        self.lines_dropped += size.lines

    def lose(self, loss: Loss, name: str) -> None:
        """Add to what was lost for a reason. name: the document, for the examples."""
        self.lines_dropped += loss.count if loss.unit == "lines" else 0
        so_far = self.losses.get(loss.reason) or replace(loss, count=0, examples=())
        examples = so_far.examples
        if len(examples) < EXAMPLES:
            named = [
                f"{name}: {shown}" if shown and name else shown or name for shown in loss.examples
            ]
            examples = (*examples, *named)[:EXAMPLES]
        self.losses[loss.reason] = replace(
            so_far, count=so_far.count + loss.count, examples=examples
        )

    def knows(self, loss: Loss) -> bool:
        """Whether the reason stands in the account already, with all examples that it will have."""
        found = self.losses.get(loss.reason)
        return found is not None and not (loss.examples and len(found.examples) < EXAMPLES)

    def record(self) -> dict[str, Any]:
        """The account as plain data. Raises AssertionError when it does not balance."""
        documents = sum(x.count for x in self.losses.values() if x.unit == "documents")
        fell = {
            "documents": documents,
            "lines": self.lines_dropped,
            "bytes": self.came["bytes"] - self.went["bytes"],
        }
        for unit in _UNITS:
            if self.came[unit] != self.went[unit] + fell[unit]:
                raise AssertionError(f"{self.rule}: {unit} do not balance: {self}")
        return {
            "rule": self.rule,
            **{u: {"in": self.came[u], "out": self.went[u], "dropped": fell[u]} for u in _UNITS},
            "reasons": {
                reason: {loss.unit: loss.count, "examples": list(loss.examples)}
                for reason, loss in self.losses.items()
            },
        }


def size_of(text: str) -> Size:
    """Lines and bytes of a text."""
    return Size(count_lines(text), len(text) if text.isascii() else len(text.encode()))


def size_of_all(texts: Sequence[str]) -> Size:
    """Lines and bytes of several texts together."""
    whole = "".join(texts)
    size = size_of(whole)
    open_ends = sum(1 for text in texts if text and text[-1] != "\n")
    if open_ends and "\r" in whole:
        return Size(sum(map(count_lines, texts)), size.bytes)
    # Of open ends only the last one is an end where all are put together.
    return Size(whole.count("\n") + open_ends, size.bytes) if open_ends else size


def count_lines(text: str) -> int:
    """Lines ended by LF, CR LF or CR, and a last one without an end."""
    ends = text.count("\n")
    if "\r" in text:
        ends += text.count("\r") - text.count("\r\n")
    return ends + (bool(text) and text[-1] not in "\r\n")


def _enter(side: dict[str, int], size: Size, documents: int) -> None:
    side["documents"] += documents
    side["lines"] += size.lines
    side["bytes"] += size.bytes
