"""Lines of a cleaned split: the unit that is tokenized, sharded and scored.

A cleaned split is a table of documents (doc_id, text, n_bytes); in a text every line is ended by
one LF. Here the lines come out as one column, with the document each belongs to.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from textmill.base.compiled import read_only
from textmill.shards.pieces import BYTES_A_PIECE, Piece, cut, plan_pieces
from textmill.tokenizers import kernels
from textmill.tokenizers.strings import flat_bytes, from_flat

_BYTES_TO_LEARN_FROM = BYTES_A_PIECE // 8
"""So that threads share a text of some megabytes too, and take the same memory again."""


@dataclass(frozen=True, slots=True)
class TextLines:
    """text: large_string without line ends. doc: int32, the document's row number, per line."""

    text: pa.LargeStringArray
    doc: np.ndarray


def lines_of(documents: pa.Table, first_row: int = 0) -> TextLines:
    """All lines of a table of documents, whose first row has the number `first_row`."""
    texts = documents["text"]
    data, bounds = flat_bytes(texts.chunk(0) if texts.num_chunks == 1 else texts.combine_chunks())
    line_ends = np.flatnonzero(data == kernels.LINE_FEED)
    offsets = np.zeros(len(line_ends) + 1, np.int64)
    offsets[1:] = line_ends - np.arange(len(line_ends))
    text = np.empty(offsets[-1], np.uint8)
    kernels.drop_line_ends(data, read_only(line_ends), text)
    rows = np.arange(first_row, first_row + len(documents), dtype=np.int32)
    doc = np.repeat(rows, np.diff(np.searchsorted(line_ends, bounds)))
    return TextLines(from_flat(text, offsets), doc)


def pieces_of(
    read: Callable[[], pa.Table], bytes_a_piece: int = BYTES_A_PIECE
) -> Iterator[TextLines]:
    """The lines in pieces of about this many bytes (see `pieces`), to bound memory.

    read: maps the table of documents. Each piece maps it anew, since pages that were looked at
    count as memory for as long as their file is mapped.
    """
    for piece in plan_pieces(read(), bytes_a_piece):
        yield _lines_of_piece(read, piece)


def text_of(read: Callable[[], pa.Table]) -> list[Callable[[], pa.Array]]:
    """A text to learn from: smaller pieces, each as what reads its column of lines."""
    pieces = plan_pieces(read(), _BYTES_TO_LEARN_FROM)
    return [partial(_text_of_piece, read, piece) for piece in pieces]


def _lines_of_piece(read: Callable[[], pa.Table], piece: Piece) -> TextLines:
    return lines_of(cut(read(), piece), piece.first)


def _text_of_piece(read: Callable[[], pa.Table], piece: Piece) -> pa.Array:
    return _lines_of_piece(read, piece).text
