"""Splits by shares: documents cut by lines or sent whole by a hash of their names.

Where a text is too small for its shares, the message says how much is needed. Whatever else it
advises was tried on the documents at hand first, so it never names a setting that does not help.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, pairwise

from textmill.base.errors import UserError
from textmill.text.catalogue import SPLITS, ShareSplits
from textmill.text.documents import Document

Assigned = dict[str, list[Document]]

FEWEST_DOCUMENTS = 50
"""With fewer, a hash of their names would too often leave a split empty."""

_SHARES = (0.1, 0.15, 0.2, 0.25, 0.3)
"""What is tried for valid and test where the set shares leave a split empty."""


def divide(documents: Sequence[Document], splits: ShareSplits) -> Assigned:
    """Documents by split, perhaps none in one of them."""
    if by_lines(documents, splits):
        return _cut(documents, splits)
    assigned: Assigned = {split: [] for split in SPLITS}
    for document in documents:
        assigned[_split_of(document.id, splits)].append(document)
    return assigned


def empty_split(assigned: Assigned) -> str | None:
    """The first split that holds no word (blank lines are none), or None."""
    for split in SPLITS:
        if not any(document.text.strip() for document in assigned[split]):
            return split
    return None


def by_lines(documents: Sequence[Document], splits: ShareSplits) -> bool:
    """Whether documents are cut by lines rather than sent whole."""
    return splits.unit == "lines" or (splits.unit == "auto" and len(documents) < FEWEST_DOCUMENTS)


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


def _cut(documents: Sequence[Document], splits: ShareSplits) -> Assigned:
    """Every document in three contiguous pieces of whole lines: train, then valid, then test."""
    assigned: Assigned = {split: [] for split in SPLITS}
    for document in documents:
        lines = [line + "\n" for line in document.text.removesuffix("\n").split("\n")]
        n_train, n_valid, _ = line_counts(len(lines), splits)
        bounds = [0, n_train, n_train + n_valid, len(lines)]
        for split, (start, end) in zip(SPLITS, pairwise(bounds), strict=True):
            if start < end:
                piece = replace(document, text="".join(lines[start:end]))
                assigned[split].append(piece)
    return assigned


def _split_of(name: str, splits: ShareSplits) -> str:
    place = _place(name)
    if place < splits.test:
        return "test"
    return "valid" if place < splits.test + splits.valid else "train"


def _place(name: str) -> float:
    """A place in [0, 1) that depends on the name alone."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6]) / 2**48


def _shortage(documents: Sequence[Document], splits: ShareSplits, split: str) -> tuple[str, str]:
    """What is wrong, and what a larger text must have."""
    if not by_lines(documents, splits):
        found = _counted(len(documents), "document")
        what = f"the split {split} is empty: the hash of its name sends none of {found} there"
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
    bare = [replace(d, text=_without_blank_lines(d.text)) for d in documents]
    if bare != list(documents) and _suits(bare, splits):
        yield f"set {corpus}.cleaning: plain (it drops blank lines)"
    if _suits(documents, replace(splits, unit="lines")):
        yield f"set {key}.unit: lines (it cuts every document in three)"
    elif by_lines(documents, splits) and _suits(documents, replace(splits, unit="documents")):
        yield f"set {key}.unit: documents (it sends whole ones by a hash of their names)"
    for share in _SHARES:
        if _suits(documents, replace(splits, valid=share, test=share)):
            yield f"set {key}.valid and {key}.test to {share:g}"
            break


def _suits(documents: Sequence[Document], splits: ShareSplits) -> bool:
    return empty_split(divide(documents, splits)) is None


def _without_blank_lines(text: str) -> str:
    return "".join(line + "\n" for line in text.split("\n") if line.strip())
