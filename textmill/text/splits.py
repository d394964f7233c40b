"""Which documents are for training, validation and test.

Given lists of files, whole years, or shares. The shares of several documents go by a hash of each
document (`shares`): adding one moves no other, and the order of files does not matter. A split in
which no word is left counts as empty and is refused.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from textmill.base.errors import UserError
from textmill.text import shares
from textmill.text.catalogue import SPLITS, FileSplits, ShareSplits, YearSplits
from textmill.text.documents import Document

_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


def reasons_to_drop(
    files: Sequence[str], splits: FileSplits | YearSplits | ShareSplits, corpus: str
) -> dict[str, str]:
    """Why a file belongs to no split, for those that do not.

    Raises UserError when a file or year that the split names is not there.
    """
    key = splits_key(corpus)
    if isinstance(splits, FileSplits):
        wanted = {*splits.train, *splits.valid, *splits.test}
        if missing := sorted(wanted - set(files)):
            split = next(s for s in SPLITS if missing[0] in getattr(splits, s))
            what = f"there is no file {missing[0]}; there are: {_some(files)}"
            raise UserError(what, where=f"params.yaml: {key}.{split}")
        return {name: "in no split" for name in files if name not in wanted}
    if isinstance(splits, YearSplits):
        years = {name: year_of(name, key) for name in files}
        if missing_years := sorted({*splits.valid, *splits.test} - set(years.values())):
            split = "valid" if missing_years[0] in splits.valid else "test"
            what = f"no file is of the year {missing_years[0]}"
            raise UserError(what, where=f"params.yaml: {key}.{split}")
        first = splits.first
        return {name: f"before {first}" for name, year in years.items() if year < first}
    return {}


def assigned(
    document: Document, splits: FileSplits | YearSplits | ShareSplits, key: str
) -> Iterable[tuple[str, Document]]:
    """The splits that a document goes to, each with its piece; shares without the unit `auto`."""
    if isinstance(splits, ShareSplits):
        return shares.pieces(document, splits)
    return ((_split_of(document, splits, key), document),)


def empty_refusal(
    split: str,
    documents: Callable[[], Iterable[Document]],
    splits: FileSplits | YearSplits | ShareSplits,
    corpus: str,
) -> UserError:
    """Why `split` holds no word, and what helps. documents: the cleaned ones, to try it on."""
    key = splits_key(corpus)
    if isinstance(splits, ShareSplits):
        return shares.refusal(list(documents()), splits, split, key)
    return UserError(
        f"the split {split} is empty: no file of it has a word left after cleaning",
        where=f"params.yaml: {key}",
        next_step=_way_out(split, splits, key),
    )


def splits_key(corpus: str) -> str:
    """Where params.yaml sets the splits of a corpus."""
    return f"corpora.{corpus}.splits"


def year_of(name: str, key: str) -> int:
    """The first run of exactly four digits in a file's name. key: where the splits are set."""
    match = _YEAR.search(name.rpartition("/")[2])
    if match is None:
        raise UserError(
            f"no year in the file name {name}",
            where=f"params.yaml: {key}",
            next_step=f"put a year of four digits into the name, or set {key}.by to files or share",
        )
    return int(match.group())


def _split_of(document: Document, splits: FileSplits | YearSplits, key: str) -> str:
    file = document.file
    place: str | int = file if isinstance(splits, FileSplits) else year_of(file, key)
    if place in splits.test:
        return "test"
    return "valid" if place in splits.valid else "train"


def _way_out(split: str, splits: FileSplits | YearSplits, key: str) -> str:
    if isinstance(splits, FileSplits):
        return f"name files with text under {key}.{split}"
    if split == "train":
        return f"leave years from {key}.first on out of {key}.valid and {key}.test"
    return f"name years with text under {key}.{split}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
