"""Which files of a folder are the text, by their endings: what `documents` can be read from."""

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from textmill.text import packing
from textmill.text.documents import DocumentKind
from textmill.text.rows import SUFFIXES, is_binary

_TEXT = (".txt",)


def wanted(kind: DocumentKind) -> tuple[str, ...]:
    """The endings that are taken from a folder."""
    return SUFFIXES if kind == "row" else _TEXT


def is_wanted(name: str, kind: DocumentKind) -> bool:
    """Whether a folder's file is taken; one of rows may be compressed."""
    name = unpacked_name(name) if kind == "row" else name
    return PurePosixPath(name).suffix.lower() in wanted(kind)


def unpacked_name(name: str) -> str:
    """The name without the ending of a compression."""
    packed = packing.by_name(name)
    return name if packed is None or packed.container else packed.stem


def is_plain_text(name: str) -> bool:
    """Whether rows of this file are lines of text as it lies there: not compressed, not Parquet."""
    return packing.by_name(name) is None and not is_binary(name)


def tally(names: Iterable[str]) -> str:
    """`3 .csv, 1 .jsonl.gz, 2 without an ending`: what there is, the most frequent first."""
    counts = Counter(_ending(name) for name in names)
    counted = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n:,} {ending or 'without an ending'}" for ending, n in counted)


def _ending(name: str) -> str:
    name = PurePosixPath(name).name
    packed = packing.by_name(name)
    inner = PurePosixPath(packed.stem if packed else name).suffix.lower()
    if packed is None:
        return inner
    return f".{packed.in_words}" if packed.container else f"{inner}.{packed.in_words}"
