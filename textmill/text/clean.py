"""Run a profile over documents and keep the books: what came in is what went out plus what fell.

For every rule the record says how many documents, lines and bytes came in, went out and were
dropped, and why, with up to three examples a reason. Lines are counted in the text before and
after and set against the sum of the rule's own reasons; a rule that rewrites (normal form, white
space) has removed the bytes by which the text became shorter, a negative number where it grew.
Books that do not balance are a bug and stop the stage.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from textmill.text.documents import Document
from textmill.text.rules import PROFILES, Loss, Rule

_EXAMPLES = 3
_UNITS = ("documents", "lines", "bytes")


@dataclass(slots=True)
class Books:
    """The account of one rule over all documents."""

    rule: str
    came: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_UNITS, 0))
    went: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_UNITS, 0))
    losses: dict[str, Loss] = field(default_factory=dict)
    lines_dropped: int = 0

    def passed(self, before: str, after: str, losses: Sequence[Loss], name: str) -> None:
        """Enter a document that the rule let through, perhaps changed."""
        self._enter(self.came, before)
        self._enter(self.went, after)
        for loss in losses:
            self._lose(loss, name)
            self.lines_dropped += loss.count if loss.unit == "lines" else 0

    def dropped(self, text: str, reason: str, name: str) -> None:
        """Enter a document that was dropped whole."""
        self._enter(self.came, text)
        self._lose(Loss(reason, "documents", 1, ("",)), name)
        self.lines_dropped += count_lines(text)

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

    def _enter(self, side: dict[str, int], text: str) -> None:
        side["documents"] += 1
        side["lines"] += count_lines(text)
        side["bytes"] += len(text.encode())

    def _lose(self, loss: Loss, name: str) -> None:
        examples = tuple(f"{name}: {shown}" if shown else name for shown in loss.examples)
        so_far = self.losses.get(loss.reason, replace(loss, count=0, examples=()))
        self.losses[loss.reason] = replace(
            so_far,
            count=so_far.count + loss.count,
            examples=(so_far.examples + examples)[:_EXAMPLES],
        )


def clean(
    documents: Iterable[Document],
    profile: str,
    drop: Callable[[Document], str | None] = lambda _: None,
) -> tuple[list[Document], list[dict[str, Any]]]:
    """Clean documents by a profile; also the books, a record a rule.

    `drop` gives the reason why a document is wanted in no split, or None. A document without a
    word left at the end is dropped.
    """
    rules = PROFILES[profile]
    selection, emptiness = Books("selection"), Books("empty documents")
    accounts = [Books(rule.__name__.replace("_", " ")) for rule in rules]
    kept = []
    for document in documents:
        if reason := drop(document):
            selection.dropped(document.text, reason, document.id)
            continue
        selection.passed(document.text, document.text, (), document.id)
        text = _apply(rules, accounts, document)
        if text.strip():
            emptiness.passed(text, text, (), document.id)
            kept.append(replace(document, text=text))
        else:
            emptiness.dropped(text, "no word left", document.id)
    return kept, _chained([selection, *accounts, emptiness])


def _apply(rules: Sequence[Rule], accounts: Sequence[Books], document: Document) -> str:
    text = document.text
    for rule, books in zip(rules, accounts, strict=True):
        cleaned = rule(text)
        books.passed(text, cleaned.text, cleaned.losses, document.id)
        text = cleaned.text
    return text


def _chained(accounts: Sequence[Books]) -> list[dict[str, Any]]:
    """The records, after a check that each rule begins with what the one before it left."""
    for before, after in pairwise(accounts):
        if before.went != after.came:
            raise AssertionError(f"{after.rule} began with other text than {before.rule} left")
    return [books.record() for books in accounts]


def count_lines(text: str) -> int:
    """Lines ended by LF, CR LF or CR, and a last one without an end."""
    ends = text.count("\n")
    if "\r" in text:
        ends += text.count("\r") - text.count("\r\n")
    return ends + (bool(text) and text[-1] not in "\r\n")
