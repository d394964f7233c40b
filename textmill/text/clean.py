"""Run rules over documents and keep the books: what came in is what went out plus what fell.

For every rule the record says how many documents, lines and bytes came in, went out and were
dropped, and why, with up to three examples a reason. A document is measured only where a rule
changed it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from textmill.text.books import Books, size_of
from textmill.text.documents import Document
from textmill.text.profiles import Step, steps_of
from textmill.text.rules import Rule


def clean(
    documents: Iterable[Document],
    cleaning: str | Sequence[Step],
    drop: Callable[[Document], str | None] = lambda _: None,
    normal_form: str = "NFC",
) -> tuple[list[Document], list[dict[str, Any]]]:
    """Clean documents by a profile or by steps; also the books, a record a rule.

    `drop` gives the reason why a document is wanted in no split, or None. A document without a
    word left at the end is dropped.
    """
    steps = steps_of(cleaning, normal_form) if isinstance(cleaning, str) else cleaning
    rules = [step.start(normal_form) for step in steps]
    selection, emptiness = Books("selection"), Books("empty documents")
    accounts = [Books(step.label) for step in steps]
    kept = []
    for document in documents:
        size = size_of(document.text)
        if reason := drop(document):
            selection.dropped(size, reason, document.id)
            continue
        selection.passed(size, size, (), document.id)
        text = _apply(rules, accounts, document)
        if text is None:
            continue
        size = size_of(text)
        if text.strip():
            emptiness.passed(size, size, (), document.id)
            kept.append(replace(document, text=text))
        else:
            emptiness.dropped(size, "no word left", document.id)
    return kept, _chained([selection, *accounts, emptiness])


def _apply(rules: Sequence[Rule], accounts: Sequence[Books], document: Document) -> str | None:
    """The text after all rules; None where one of them dropped the document."""
    text, size = document.text, size_of(document.text)
    for rule, books in zip(rules, accounts, strict=True):
        cleaned = rule(text)
        if cleaned.drop:
            books.dropped(size, cleaned.drop, document.id, cleaned.example)
            return None
        after = size if cleaned.text is text else size_of(cleaned.text)
        books.passed(size, after, cleaned.losses, document.id)
        text, size = cleaned.text, after
    return text


def _chained(accounts: Sequence[Books]) -> list[dict[str, Any]]:
    """The records, after a check that each rule begins with what the one before it left."""
    for before, after in pairwise(accounts):
        if before.went != after.came:
            raise AssertionError(f"{after.rule} began with other text than {before.rule} left")
    return [books.record() for books in accounts]
