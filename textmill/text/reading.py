"""From files to documents: decoded and cut, a block of a file at a time.

What is held at any time is a block and one document, whatever the size of the corpus; so a
document (with `documents: file` a whole file) is what has to fit into memory.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from textmill.base.errors import UserError
from textmill.text.books import Books, Size
from textmill.text.decoding import (
    Decoded,
    Errors,
    File,
    decode,
    decode_blocks,
    read_file,
    size_of_file,
)
from textmill.text.documents import CUTS, Document, DocumentKind, cut_blocks, placed
from textmill.text.rows import Rows, is_binary, read_parquet, read_rows
from textmill.text.rules import Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files become documents. key: where params.yaml has the corpus (`corpora.NAME`)."""

    kind: DocumentKind = "file"
    encoding: str = "utf-8"
    errors: Errors = "strict"
    text_column: str = "text"
    id_column: str = ""
    quoting: bool = True
    key: str = ""


class Reader:
    """The documents of files (by name), in order of name and place, and the decoding's account."""

    def __init__(self, files: Mapping[str, File], how: Reading | None = None) -> None:
        self._files = files
        self._how = how or Reading()
        self._books = Books("decoding")
        self._names: set[str] = set()
        self.bytes = sum(size_of_file(file) for file in files.values())
        self.advance: Callable[[int], None] = lambda _: None
        """Told how many bytes have been read, whenever more were."""

    def documents(self) -> Iterator[Document]:
        """All documents, once."""
        for name in sorted(self._files):
            yield from self._of_file(name, self._files[name])

    def account(self, documents: int, size: Size) -> dict[str, Any] | None:
        """The account of the decoding, where it changed a byte (a mark, a legacy encoding, what
        stands beside the column of text): in are the bytes of the files, out those of the
        documents. documents, size: how many were read, and what they hold together.
        """
        if self.bytes == size.bytes and not self._books.losses:
            return None
        self._books.passed(size, size, documents=documents)
        # What a file has beside its documents (quotes, other columns, marks) belongs to none.
        self._books.came["bytes"] += self.bytes - size.bytes
        return self._books.record()

    def _of_file(self, name: str, file: File) -> Iterator[Document]:
        how = self._how
        if how.kind == "row":
            yield from self._named_rows(name, self._rows(name, file))
        elif how.kind == "file":
            yield Document(name, name, self._text(name, file))
        else:
            pieces = cut_blocks(CUTS[how.kind], self._blocks(name, file))
            for number, text in enumerate(pieces, 1):
                yield placed(name, number, text)

    def _text(self, name: str, file: File) -> str:
        how = self._how
        decoded = decode(name, read_file(file), how.encoding, how.errors, key=how.key)
        self._enter(decoded)
        return decoded.text

    def _blocks(self, name: str, file: File) -> Iterator[str]:
        how = self._how
        for decoded in decode_blocks(name, file, how.encoding, how.errors, key=how.key):
            self._enter(decoded)
            yield decoded.text

    def _enter(self, decoded: Decoded) -> None:
        self.advance(decoded.bytes)
        if decoded.replaced:
            reason = "bytes of another encoding, now U+FFFD"
            self._books.lose(Loss(reason, "changes", decoded.replaced, decoded.examples), "")

    def _rows(self, name: str, file: File) -> Iterator[Rows]:
        how = self._how
        columns = [how.text_column, how.id_column] if how.id_column else [how.text_column]
        if is_binary(name):
            yield from read_parquet(name, file, columns)
            self.advance(size_of_file(file))
        else:
            blocks = (block.encode() for block in self._blocks(name, file))
            yield from read_rows(name, blocks, columns, quoting=how.quoting)

    def _named_rows(self, name: str, found: Iterator[Rows]) -> Iterator[Document]:
        number = 0
        for texts, *ids in found:
            for row, text in enumerate(texts):
                number += 1
                if text is None:
                    place = f"{name}:{number:05d}"
                    self._books.dropped(Size(0, 0), "no text in the column", place)
                    continue
                if ids:
                    yield Document(self._given(name, number, ids[0][row]), name, text)
                else:
                    yield placed(name, number, text)

    def _given(self, name: str, number: int, given: str | None) -> str:
        """A row's own name, which no other row may have."""
        column = self._how.id_column
        if not given:
            raise UserError(f"row {number:,} has no {column}", where=name)
        if given in self._names:
            raise UserError(
                f'two rows have the same {column}, "{given}"',
                where=name,
                next_step="name a column of unique values under id_column, or leave it out",
            )
        self._names.add(given)
        return given
