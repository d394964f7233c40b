"""Documents: raw bytes decoded, and cut where the corpus says that one ends.

A document is the unit that a network's memory lives in and that significance tests resample, so
WikiText-2 is cut into its articles (600, 60 and 60), not left as three long files.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from textmill.base.errors import UserError


@dataclass(frozen=True, slots=True)
class Document:
    """A piece of text with its name and the file it came from."""

    id: str
    file: str
    text: str

    @property
    def size(self) -> int:
        """Bytes of the text as UTF-8."""
        return len(self.text.encode())


# An article begins with a blank line, its title between single equals signs, and a blank line.
# Without the blank lines 29 formulas and table keys of the training file would pass for titles.
_ARTICLE = re.compile(r"^ *\n(?= *= [^=\n].* = *\n *\n)", re.MULTILINE)
_AROUND = 12


def read_documents(files: dict[str, bytes], kind: Literal["file", "article"]) -> list[Document]:
    """Decode files (name -> bytes) and cut them into documents, in order of name and place."""
    documents = []
    for name in sorted(files):
        text = decode(name, files[name])
        if kind == "file":
            documents.append(Document(name, name, text))
        else:
            pieces = cut_articles(text)
            documents += [Document(f"{name}:{i:05d}", name, t) for i, t in enumerate(pieces, 1)]
    return documents


def cut_articles(text: str) -> list[str]:
    """WikiText's articles. What stands before the first title is an article of its own."""
    bounds = [match.start() for match in _ARTICLE.finditer(text)]
    bounds = sorted({0, *bounds, len(text)})
    return [text[start:end] for start, end in pairwise(bounds)]


def decode(name: str, data: bytes) -> str:
    """Strict UTF-8. A wrong byte is a UserError with its place, its neighbours and the way out."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start
        line = data.count(b"\n", 0, at) + 1
        around = data[max(at - _AROUND, 0) : at + _AROUND]
        raise UserError(
            f"not UTF-8 at byte {at:,}, line {line:,} ({error.reason}): the bytes around it are "
            f"{around.hex(' ')}, {around!r}",
            where=name,
            next_step=f"convert the text and pin it again, for example: iconv -f "
            f"{_likely(data)} -t UTF-8 {name} > new.txt && textmill pin new.txt",
        ) from None


def _likely(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    return "WINDOWS-1252"
