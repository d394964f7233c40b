"""Documents: a text cut where the corpus says that one ends.

A document is the unit that a network's memory lives in and that significance tests resample, so
WikiText-2 is cut into its articles (600, 60 and 60), not left as three long files. Cutting loses
nothing: the pieces of a file, put together, are the file.

Lines end with LF, CR LF or a lone CR, as editors and `universal newlines` have it. The other signs
that Unicode allows to end a line (U+2028, U+2029, U+0085, vertical tab, form feed) do not: files
hold them inside sentences, and a line is what models are scored on.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

DocumentKind = Literal["file", "paragraph", "line", "article", "row"]
Cut = Callable[[str], list[str]]


class Document(NamedTuple):
    """A piece of text with its name and the file it came from.

    key: what its split is drawn by where the name is only a place, which changes as soon as another
    document comes before it.
    """

    id: str
    file: str
    text: str
    key: str = ""


def placed(file: str, number: int, text: str) -> Document:
    """A document that its file does not name, only its place in it: it is known by its text.

    White space around the text does not count, since a paragraph has blank lines at its end unless
    it is the last.
    """
    key = hashlib.sha256(text.strip().encode()).hexdigest()
    return Document(f"{file}:{number:05d}", file, text, key)


# Atomic, since an engine that took CR LF apart would find a blank line between the two.
_LINE_END = r"(?>\r\n|\r|\n)"
# An article begins with a blank line, its title between single equals signs, and a blank line.
# Without the blank lines 29 formulas and table keys of the training file would pass for titles.
_ARTICLE = re.compile(
    rf"{_LINE_END}(?= *{_LINE_END} *= [^=\r\n][^\r\n]* = *{_LINE_END} *{_LINE_END})"
)
_LINE = re.compile(rf"[^\r\n]*{_LINE_END}|[^\r\n]+")
_BLANK_LINES = re.compile(rf"{_LINE_END}(?:[^\S\r\n]*{_LINE_END})+(?=[^\r\n]*\S)")


def cut_articles(text: str) -> list[str]:
    """WikiText's articles. What stands before the first title is an article of its own."""
    return _cut(text, [match.end() for match in _ARTICLE.finditer(text)])


def cut_paragraphs(text: str) -> list[str]:
    """Paragraphs: lines up to one or more blank ones, which stay at the end of what they end."""
    return _cut(text, [match.end() for match in _BLANK_LINES.finditer(text)])


def cut_lines(text: str) -> list[str]:
    """Lines, each with its end."""
    if "\r" in text:
        return _LINE.findall(text)
    *lines, rest = text.split("\n")
    lines = [line + "\n" for line in lines]
    return [*lines, rest] if rest else lines


CUTS: dict[str, Cut] = {"article": cut_articles, "paragraph": cut_paragraphs, "line": cut_lines}


def cut_blocks(cut: Cut, blocks: Iterable[str]) -> Iterator[str]:
    """The pieces of a text that comes in blocks, the same as those of the whole text.

    Where a cut lies shows in what comes before it and up to the next word, so only the last piece
    of what is here can change by what comes. It is held back, and looked at again only when as
    much has come as is held: a text without a cut would otherwise take time in its square.
    """
    held, waiting, size = "", list[str](), 0
    for block in blocks:
        waiting.append(block)
        size += len(block)
        if size >= len(held):
            *pieces, held = cut("".join([held, *waiting])) or [""]
            yield from pieces
            waiting, size = [], 0
    yield from cut("".join([held, *waiting]))


def _cut(text: str, at: list[int]) -> list[str]:
    bounds = sorted({0, *at, len(text)})
    return [text[start:end] for start, end in pairwise(bounds)]
