"""Run rules over documents and keep the books: what came in is what went out plus what fell.

For every rule the record says how many documents, lines and bytes came in, went out and were
dropped, and why, with up to three examples a reason. Documents go through in batches (`batch`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from textmill.text.batch import Batch, batches
from textmill.text.books import Books, Size, size_of
from textmill.text.documents import Document
from textmill.text.promise import Promise
from textmill.text.rules import Loss, OfColumns, Rule
from textmill.text.steps import Step

_LONG = 1 << 16


class Cleaner:
    """The steps of a cleaning, started for one run over one corpus, and their books."""

    def __init__(
        self,
        steps: Sequence[Step],
        normal_form: str = "NFC",
        drop: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        """drop: why the documents of a file (by its name) are wanted in no split, or None."""
        self._steps = [(step, step.start(normal_form), Books(step.label)) for step in steps]
        self._promise = Promise(steps, normal_form)
        self._drop = drop
        self._selection, self._emptiness = Books("selection"), Books("empty documents")

    def clean(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The cleaned documents. One without a word left at the end is dropped.

        Raises UserError where a rule of one's own fails or leaves what a cleaned text never holds.
        """
        for came in batches(documents):
            batch = self._selected(came)
            came.clear()
            for step, rule, books in self._steps:
                if batch.documents:
                    batch = _apply(step, rule, books, batch)
            yield from self._with_words(batch)

    def came(self) -> tuple[int, Size]:
        """How many documents came so far, and what they held together."""
        came = self._selection.came
        return came["documents"], Size(came["lines"], came["bytes"])

    def records(self) -> list[dict[str, Any]]:
        """A record a rule, after a check that each begins with what the one before it left."""
        accounts = [self._selection, *(books for _, _, books in self._steps), self._emptiness]
        for before, after in pairwise(accounts):
            if before.went != after.came:
                raise AssertionError(f"{after.rule} began with other text than {before.rule} left")
        return [books.record() for books in accounts]

    def _selected(self, came: Iterable[Document]) -> Batch:
        wanted, texts = list[Document](), list[str]()
        for document in came:
            if reason := self._drop(document.file):
                self._selection.dropped(size_of(document.text), reason, document.id)
            else:
                texts.append(document.text)
                # The first text of a long document is let go when a rule has made another.
                is_long = len(document.text) > _LONG
                wanted.append(document._replace(text="") if is_long else document)
        batch = Batch(wanted, texts)
        self._selection.passed(batch.size, batch.size, documents=len(wanted))
        return batch

    def _with_words(self, batch: Batch) -> Iterator[Document]:
        kept = list[Document]()
        fell = Size(0, 0)
        for document, text in zip(batch.documents, batch.texts, strict=True):
            if text and not text.isspace():
                kept.append(Document(document.id, document.file, text, document.key))
                self._promise.check(kept[-1])
            else:
                size = size_of(text)
                self._emptiness.dropped(size, "no word left", document.id)
                fell += size
        left = batch.size - fell
        self._emptiness.passed(left, left, documents=len(kept))
        yield from kept


def _apply(step: Step, rule: Rule, books: Books, batch: Batch) -> Batch:
    """The batch after a rule, entered into its books."""
    if step.is_for_lines and (whole := batch.joined()) is not None:
        cleaned = rule(whole)
        after = batch.after(cleaned.text)
        if after is not None and not (cleaned.losses and step.counts_documents):
            _introduce(rule, books, batch, cleaned.losses)
            losses = [replace(loss, examples=()) for loss in cleaned.losses]
            books.passed(batch.size, after.size, losses, documents=len(batch.documents))
            return after
    return _one_by_one(rule, books, batch)


def _introduce(rule: Rule, books: Books, batch: Batch, losses: Sequence[Loss]) -> None:
    """Enter what only single documents tell: which reason came first, and examples of each."""
    if all(books.knows(loss) for loss in losses):
        return
    for document, text in zip(batch.documents, batch.texts, strict=True):
        for loss in rule(text).losses:
            books.lose(replace(loss, count=0), document.id)
        if all(books.knows(loss) for loss in losses):
            return


def _one_by_one(rule: Rule, books: Books, batch: Batch) -> Batch:
    """The same by asking about each document."""
    left, texts, fell = list[Document](), list[str](), Size(0, 0)
    answers = rule.each(batch.texts) if isinstance(rule, OfColumns) else map(rule, batch.texts)
    for document, before, cleaned in zip(batch.documents, batch.texts, answers, strict=True):
        if cleaned.drop:
            size = size_of(before)
            books.dropped(size, cleaned.drop, document.id, cleaned.example)
            fell += size
            continue
        for loss in cleaned.losses:
            books.lose(loss, document.id)
        left.append(document)
        texts.append(cleaned.text)
    is_same = texts == batch.texts
    after = batch if is_same else Batch(left, texts)
    books.passed(batch.size - fell, after.size, documents=len(left))
    return after
