"""Which documents are for training, validation and test.

Given lists of files, whole years, or shares. The shares of several documents go by a hash of each
document's name: adding a file moves no other, and the order of files does not matter.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from textmill.base.errors import UserError
from textmill.text.catalogue import SPLITS, FileSplits, ShareSplits, YearSplits
from textmill.text.documents import Document

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
Assigned = dict[str, list[Document]]


def reasons_to_drop(
    files: Sequence[str], splits: FileSplits | YearSplits | ShareSplits
) -> dict[str, str]:
    """Why a file belongs to no split, for those that do not.

    Raises UserError when a file or year that the split names is not there.
    """
    if isinstance(splits, FileSplits):
        wanted = {*splits.train, *splits.valid, *splits.test}
        if missing := sorted(wanted - set(files)):
            raise UserError(
                f"there is no file {missing[0]}; there are: {_some(files)}", where="splits"
            )
        return {name: "in no split" for name in files if name not in wanted}
    if isinstance(splits, YearSplits):
        years = {name: year_of(name) for name in files}
        if missing_years := sorted({*splits.valid, *splits.test} - set(years.values())):
            raise UserError(f"no file is of the year {missing_years[0]}", where="splits")
        first = splits.first
        return {name: f"before {first}" for name, year in years.items() if year < first}
    return {}


def assign(
    documents: Sequence[Document], splits: FileSplits | YearSplits | ShareSplits
) -> Assigned:
    """Documents by split, each split in the order given. An empty split is a UserError."""
    if isinstance(splits, ShareSplits) and _by_lines(documents, splits):
        assigned = _cut(documents, splits)
    else:
        assigned = {split: [] for split in SPLITS}
        for document in documents:
            assigned[_split_of(document, splits)].append(document)
    for split in SPLITS:
        if not assigned[split]:
            raise UserError(
                f"the split {split} is empty: {len(documents)} document(s), split by {splits.by}",
                where="splits",
                next_step=_way_out(splits),
            )
    return assigned


def year_of(name: str) -> int:
    """The first run of exactly four digits in a file's name."""
    match = _YEAR.search(name.rpartition("/")[2])
    if match is None:
        raise UserError(f"no year in the file name {name}", where="splits")
    return int(match.group())


def _split_of(document: Document, splits: FileSplits | YearSplits | ShareSplits) -> str:
    key: str | int
    if isinstance(splits, ShareSplits):
        place = _place(document.id)
        if place < splits.test:
            return "test"
        return "valid" if place < splits.test + splits.valid else "train"
    key = document.file if isinstance(splits, FileSplits) else year_of(document.file)
    if key in splits.test:
        return "test"
    return "valid" if key in splits.valid else "train"


def _place(name: str) -> float:
    """A place in [0, 1) that depends on the name alone."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6]) / 2**48


FEWEST_DOCUMENTS = 50
"""With fewer, a hash of their names would too often leave a split empty."""


def _by_lines(documents: Sequence[Document], splits: ShareSplits) -> bool:
    return splits.unit == "lines" or (splits.unit == "auto" and len(documents) < FEWEST_DOCUMENTS)


def _cut(documents: Sequence[Document], splits: ShareSplits) -> Assigned:
    """Every document in three contiguous pieces of whole lines: train, then valid, then test."""
    assigned: Assigned = {split: [] for split in SPLITS}
    for document in documents:
        lines = [line + "\n" for line in document.text.removesuffix("\n").split("\n")]
        n_valid, n_test = round(len(lines) * splits.valid), round(len(lines) * splits.test)
        bounds = [0, len(lines) - n_valid - n_test, len(lines) - n_test, len(lines)]
        for split, start, end in zip(SPLITS, bounds, bounds[1:], strict=False):
            if start < end:
                piece = replace(document, text="".join(lines[start:end]))
                assigned[split].append(piece)
    return assigned


def _way_out(splits: FileSplits | YearSplits | ShareSplits) -> str:
    if isinstance(splits, ShareSplits):
        return (
            "use more text, raise splits.valid and splits.test, or set splits.unit: lines, "
            "which cuts every document into three pieces"
        )
    return "name files or years that are there in splits"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
