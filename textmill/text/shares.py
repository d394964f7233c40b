"""Splits by shares: documents cut by lines or sent whole by a hash.

The hash is that of a document's name; of its text where the name is only a place in a file, so that
one more paragraph at the top moves no other. What has the same text then has the same split.

Where a text is too small for its shares, the message says how much is needed. Whatever else it
advises was tried on the documents at hand first, so it never names a setting that does not help.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Literal

from textmill.base.errors import UserError
from textmill.text.catalogue import SPLITS, ShareSplits
from textmill.text.documents import Document

FEWEST_DOCUMENTS = 50
"""With fewer, hashes would too often leave a split empty."""

_WINDOW = 1 << 16
_SHARES = (0.1, 0.15, 0.2, 0.25, 0.3)
"""What is tried for valid and test where the set shares leave a split empty."""


def pieces(document: Document, splits: ShareSplits) -> Iterable[tuple[str, Document]]:
    """The splits that a document goes to, each with its piece. The unit is not `auto` here."""
    if splits.unit == "lines":
        return _cut(document, splits)
    return ((_split_of(document.key or document.id, splits), document),)


def empty_split(documents: Sequence[Document], splits: ShareSplits) -> str | None:
    """The first split that would hold no word (blank lines are none), or None."""
    splits = decided(splits, len(documents))
    found = {
        split
        for document in documents
        for split, piece in pieces(document, splits)
        if piece.text and not piece.text.isspace()
    }
    return next((split for split in SPLITS if split not in found), None)


def decided(splits: ShareSplits, documents: int) -> ShareSplits:
    """With `lines` or `documents` in the place of `auto`."""
    unit: Literal["lines", "documents"] = "lines" if by_lines(documents, splits) else "documents"
    return replace(splits, unit=unit)


def by_lines(documents: int, splits: ShareSplits) -> bool:
    """Whether so many documents are cut by lines rather than sent whole."""
    return splits.unit == "lines" or (splits.unit == "auto" and documents < FEWEST_DOCUMENTS)


def line_counts(lines: int, splits: ShareSplits) -> tuple[int, int, int]:
    """How many of a document's lines go to train, valid and test."""
    n_valid, n_test = round(lines * splits.valid), round(lines * splits.test)
    return lines - n_valid - n_test, n_valid, n_test


def fewest_lines(splits: ShareSplits, above: int = 0) -> int:
    """The smallest number of lines, larger than `above`, that gives every split at least one."""
    start = max(above + 1, math.floor(0.5 / min(splits.valid, splits.test)))
    return next(n for n in count(start) if all(line_counts(n, splits)))


def refusal(documents: Sequence[Document], splits: ShareSplits, split: str, key: str) -> UserError:
    """Why `split` is empty and what helps. key: where the splits are set, `corpora.NAME.splits`."""
    what, needed = _shortage(documents, splits, split)
    ways = [needed, *_settings_that_help(documents, splits, key)]
    return UserError(what, where=f"params.yaml: {key}", next_step=", or ".join(ways))


def _cut(document: Document, splits: ShareSplits) -> Iterator[tuple[str, Document]]:
    """A document in three contiguous pieces of whole lines: train, then valid, then test."""
    text, start = document.text, 0
    for split, lines in zip(SPLITS, line_counts(text.count("\n"), splits), strict=True):
        if lines:
            end = _after_lines(text, start, lines)
            yield split, document._replace(text=text[start:end])
            start = end


def _after_lines(text: str, start: int, lines: int) -> int:
    """The place after so many lines, at least one, without a list of millions of them."""
    while (found := text.count("\n", start, start + _WINDOW)) < lines:
        lines, start = lines - found, start + _WINDOW
    for _ in range(lines):
        start = text.index("\n", start) + 1
    return start


def _split_of(key: str, splits: ShareSplits) -> str:
    place = _place(key)
    if place < splits.test:
        return "test"
    return "valid" if place < splits.test + splits.valid else "train"


def _place(key: str) -> float:
    """A place in [0, 1) that depends on the key alone."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:6]) / 2**48


def _shortage(documents: Sequence[Document], splits: ShareSplits, split: str) -> tuple[str, str]:
    """What is wrong, and what a larger text must have."""
    if not by_lines(len(documents), splits):
        found = _counted(len(documents), "document")
        what = f"the split {split} is empty: no hash sends one of {found} there"
        if len({document.key or document.id for document in documents}) == 1 < len(documents):
            return f"{what}, since all have one text", "use other documents"
        return what, "use more documents"
    longest = max((document.text.count("\n") for document in documents), default=0)
    if all(line_counts(longest, splits)):
        return f"the split {split} is empty: all its lines are blank", "use more text"
    needed = fewest_lines(splits, above=longest)
    lines = _counted(longest, "line")
    if len(documents) > 1:
        what = f"the longest of {len(documents):,} documents has {lines} after cleaning"
        more = f"use a document of {needed:,} lines or more"
    else:
        what, more = f"the text has {lines} after cleaning", f"use {needed:,} lines or more"
    shares = f"valid {splits.valid:g} and test {splits.test:g}"
    need = f"at least {needed:,} are needed to give each split a line with the shares {shares}"
    return f"{what}, and {need}", more


def _counted(number: int, unit: str) -> str:
    return f"{number:,} {unit}" + ("" if number == 1 else "s")


def _settings_that_help(
    documents: Sequence[Document], splits: ShareSplits, key: str
) -> Iterator[str]:
    """Changes of params.yaml, each of which was tried on these documents."""
    corpus = key.removesuffix(".splits")
    bare = [d._replace(text=_without_blank_lines(d.text)) for d in documents]
    if bare != list(documents) and _suits(bare, splits):
        yield f"set {corpus}.cleaning: plain (it drops blank lines)"
    if _suits(documents, replace(splits, unit="lines")):
        yield f"set {key}.unit: lines (it cuts every document in three)"
    elif by_lines(len(documents), splits) and _suits(documents, replace(splits, unit="documents")):
        yield f"set {key}.unit: documents (it sends whole ones by a hash of each)"
    for share in _SHARES:
        if _suits(documents, replace(splits, valid=share, test=share)):
            yield f"set {key}.valid and {key}.test to {share:g}"
            break


def _suits(documents: Sequence[Document], splits: ShareSplits) -> bool:
    return empty_split(documents, splits) is None


def _without_blank_lines(text: str) -> str:
    return "".join(line + "\n" for line in text.split("\n") if line.strip())
