"""Documents on their way through the rules, several at a time.

Most rules look at lines alone: what such a rule gives for documents one after the other is what it
gives for each. So it takes all documents of a batch at once, as one text with a line between them
that no such rule touches, and a million documents of one line each cost what their text costs, not
a million calls for every rule.
"""

from collections.abc import Iterable, Iterator, Sequence

from textmill.text.books import Size, size_of, size_of_all
from textmill.text.documents import Document

_BETWEEN = "zqzq\n"
"""Lower-case letters, which no rule for lines changes."""
_CHARACTERS, _DOCUMENTS = 1 << 22, 1 << 16
"""A batch is full with so much text, or so many documents."""


class Batch:
    """Documents, the texts that they have by now, and how much that is together."""

    def __init__(
        self, documents: Sequence[Document], texts: list[str] | None, whole: str | None = None
    ) -> None:
        """texts: one a document, or None where `whole` (see `joined`) has them all."""
        self.documents = documents
        self._texts, self._whole = texts, whole
        if texts is not None:
            self.size = size_of_all(texts)
        else:
            between = len(documents) - 1
            self.size = size_of(whole or "") - Size(between, between * len(_BETWEEN))

    @property
    def texts(self) -> list[str]:
        """The text of each document."""
        if self._texts is None:
            self._texts = (self._whole or "").split(_BETWEEN)
        return self._texts

    def joined(self) -> str | None:
        """All texts as one; None where they could not be parted again."""
        if self._whole is None and all(not text or text[-1] == "\n" for text in self.texts):
            whole = _BETWEEN.join(self.texts)
            self._whole = whole if self._is_parted(whole) else None
        return self._whole

    def after(self, whole: str) -> "Batch | None":
        """The same documents when a rule made `whole` of them; None if it did not keep them
        apart.
        """
        if whole == self._whole:
            return self
        return Batch(self.documents, None, whole) if self._is_parted(whole) else None

    def _is_parted(self, whole: str) -> bool:
        return whole.count(_BETWEEN) == len(self.documents) - 1


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents in order, so many at a time that neither number nor length of them costs.

    A list is the taker's to empty, so that nothing here holds on to a long document.
    """
    batch, size = list[Document](), 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        del document
        if size >= _CHARACTERS or len(batch) >= _DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
