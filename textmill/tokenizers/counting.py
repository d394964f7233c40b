"""Counts of a running text's types, by threads that each count what comes next.

Whichever thread counts a block, the sums are the same; what is made of them is sorted.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from textmill.tokenizers.lookup import TokenTable
from textmill.tokenizers.strings import Units, blocks_of, units_of

THREADS = 2
"""Pinned, as all thread counts are. A kernel holds no lock, so both cores work."""
_BYTES_A_PIECE = 1 << 22

Text: TypeAlias = pa.Array | Sequence[Callable[[], pa.Array]]
"""A column of lines, or what reads one such column after the other, so that none need be kept."""
T = TypeVar("T")


def blocks_of_text(text: Text) -> Iterator[pa.Array]:
    """A text in blocks that a processor's cache holds."""
    return _blocks(_pieces(text))


def _pieces(text: Text) -> Sequence[Callable[[], pa.Array]]:
    if isinstance(text, pa.Array):
        return [partial(_itself, block) for block in blocks_of(text, _BYTES_A_PIECE)]
    return text


def _itself(column: pa.Array) -> pa.Array:
    return column


def by_threads(text: Text, count: Callable[[Iterator[pa.Array]], T]) -> list[T]:
    """What each thread has counted in its share of the text, given to it in blocks."""
    pieces = _pieces(text)
    if len(pieces) < 2:
        return [count(_blocks(pieces))]
    left = iter(pieces)  # each thread takes the next one that is left
    with ThreadPoolExecutor(THREADS) as threads:
        tasks = [threads.submit(count, _blocks(left)) for _ in range(THREADS)]
        return [task.result() for task in tasks]


def _blocks(pieces: Iterable[Callable[[], pa.Array]]) -> Iterator[pa.Array]:
    for read in pieces:
        yield from blocks_of(read())


def count_types(
    text: Text, split: Callable[[pa.Array], Units] = units_of
) -> tuple[pa.StringArray, np.ndarray]:
    """The types of a running text, in no certain order, and their counts. split: into tokens."""

    def count(blocks: Iterator[pa.Array]) -> TokenTable:
        table = TokenTable()
        for block in blocks:
            table.add(split(block))
        return table

    table, *others = by_threads(text, count)
    for other in others:
        table.add(units_of(other.texts), other.counts)
    return table.texts.cast(pa.string()), table.counts
