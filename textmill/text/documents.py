"""Documents: raw bytes decoded, and cut where the corpus says that one ends.

A document is the unit that a network's memory lives in and that significance tests resample, so
WikiText-2 is cut into its articles (600, 60 and 60), not left as three long files. Cutting loses
nothing: the pieces of a file, put together, are the file.

Lines end with LF, CR LF or a lone CR, as editors and `universal newlines` have it. The other signs
that Unicode allows to end a line (U+2028, U+2029, U+0085, vertical tab, form feed) do not: files
hold them inside sentences, and a line is what models are scored on.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from textmill.base.errors import UserError
from textmill.text.books import Books, Size, size_of
from textmill.text.decoding import Decoded, Errors, decode
from textmill.text.rows import is_binary, read_columns
from textmill.text.rules import Loss

DocumentKind = Literal["file", "paragraph", "line", "article", "row"]


@dataclass(frozen=True, slots=True)
class Document:
    """A piece of text with its name and the file it came from."""

    id: str
    file: str
    text: str

    @property
    def size(self) -> int:
        """Bytes of the text as UTF-8."""
        return size_of(self.text).bytes


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


# An article begins with a blank line, its title between single equals signs, and a blank line.
# Without the blank lines 29 formulas and table keys of the training file would pass for titles.
_ARTICLE = re.compile(r"^ *\n(?= *= [^=\n].* = *\n *\n)", re.MULTILINE)
_LINE_END = r"(?:\r\n|\r|\n)"
_LINE = re.compile(rf"[^\r\n]*{_LINE_END}|[^\r\n]+")
_BLANK_LINES = re.compile(rf"{_LINE_END}(?:[^\S\r\n]*{_LINE_END})+(?=[^\r\n]*\S)")


def read_documents(
    files: dict[str, bytes], how: Reading | None = None
) -> tuple[list[Document], dict[str, Any] | None]:
    """Decode files (name -> bytes) and cut them into documents, in order of name and place.

    Also the account of the decoding, where it changed a byte (a mark, a legacy encoding, what
    stands beside the column of text): in are the bytes of the files, out those of the documents.
    """
    how = how or Reading()
    documents: list[Document] = []
    books = Books("decoding")
    for name in sorted(files):
        documents += _of_file(name, files[name], how, books)
    _refuse_same_names(documents, how)
    total = sum(len(data) for data in files.values())
    sizes = [size_of(document.text) for document in documents]
    left = sum(size.bytes for size in sizes)
    for document, size in zip(documents, sizes, strict=True):
        books.passed(size, size, (), document.id)
    if total == left and not books.losses:
        return documents, None
    # What a file has beside its documents (quotes, other columns, marks) belongs to none of them.
    books.came["bytes"] += total - left
    return documents, books.record()


def cut_articles(text: str) -> list[str]:
    """WikiText's articles. What stands before the first title is an article of its own."""
    return _cut(text, [match.start() for match in _ARTICLE.finditer(text)])


def cut_paragraphs(text: str) -> list[str]:
    """Paragraphs: lines up to one or more blank ones, which stay at the end of what they end."""
    return _cut(text, [match.end() for match in _BLANK_LINES.finditer(text)])


def cut_lines(text: str) -> list[str]:
    """Lines, each with its end."""
    return _LINE.findall(text)


_CUTS: dict[str, Callable[[str], list[str]]] = {
    "article": cut_articles,
    "paragraph": cut_paragraphs,
    "line": cut_lines,
}


def _cut(text: str, at: list[int]) -> list[str]:
    bounds = sorted({0, *at, len(text)})
    return [text[start:end] for start, end in pairwise(bounds)]


def _of_file(name: str, data: bytes, how: Reading, books: Books) -> Iterator[Document]:
    if how.kind == "row" and is_binary(name):
        yield from _rows(name, data, how, books)
        return
    decoded = decode(name, data, how.encoding, how.errors, key=how.key)
    _enter_replaced(decoded, books)
    if how.kind == "row":
        yield from _rows(name, decoded.text.encode(), how, books)
    elif how.kind == "file":
        yield Document(name, name, decoded.text)
    else:
        pieces = _CUTS[how.kind](decoded.text)
        yield from (Document(f"{name}:{i:05d}", name, t) for i, t in enumerate(pieces, 1))


def _enter_replaced(decoded: Decoded, books: Books) -> None:
    if decoded.replaced:
        reason = "bytes of another encoding, now U+FFFD"
        books.lose(Loss(reason, "changes", decoded.replaced, decoded.examples), "")


def _rows(name: str, data: bytes, how: Reading, books: Books) -> Iterator[Document]:
    columns = [how.text_column, how.id_column] if how.id_column else [how.text_column]
    texts, *ids = read_columns(name, data, columns, quoting=how.quoting)
    for number, text in enumerate(texts, 1):
        row = f"{name}:{number:05d}"
        if text is None:
            books.dropped(Size(0, 0), "no text in the column", row)
            continue
        given = ids[0][number - 1] if ids else row
        if not given:
            raise UserError(f"row {number:,} has no {how.id_column}", where=name)
        yield Document(given, name, text)


def _refuse_same_names(documents: list[Document], how: Reading) -> None:
    if not how.id_column:
        return
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise UserError(
                f'two rows have the same {how.id_column}, "{document.id}"',
                where=document.file,
                next_step="name a column of unique values under id_column, or leave it out",
            )
        seen.add(document.id)
