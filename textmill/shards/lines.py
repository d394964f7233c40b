"""Lines of a cleaned split: the unit that is tokenized, sharded and scored.

A cleaned split is a table of documents (doc_id, text, n_bytes); in a text every line is ended by
one LF. Here the lines come out as one column, with the document each belongs to.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from textmill.shards.pieces import BYTES_A_PIECE, Piece, cut, plan_pieces
from textmill.tokenizers import kernels
from textmill.tokenizers.strings import flat_bytes, from_flat

_BYTES_TO_LEARN_FROM = BYTES_A_PIECE // 4
"""So that threads share a text of some megabytes too."""


@dataclass(frozen=True, slots=True)
class TextLines:
    """text: large_string without line ends. doc: int32, the document's row number, per line."""

    text: pa.LargeStringArray
    doc: np.ndarray


def lines_of(documents: pa.Table, first_row: int = 0) -> TextLines:
    """All lines of a table of documents, whose first row has the number `first_row`."""
    texts = documents["text"]
    data, bounds = flat_bytes(texts.chunk(0) if texts.num_chunks == 1 else texts.combine_chunks())
    n_lines = int(np.count_nonzero(data == kernels.LINE_FEED))
    text, offsets = np.empty(len(data) + 1, np.uint8), np.empty(n_lines + 2, np.int64)
    n_bytes = kernels.drop_line_ends(data, text, offsets)
    offsets = offsets[: n_lines + 1]
    # With the line ends themselves, line i ends i + 1 bytes later.
    line_ends = offsets[1:] + np.arange(n_lines)
    rows = np.arange(first_row, first_row + len(documents), dtype=np.int32)
    doc = np.repeat(rows, np.diff(np.searchsorted(line_ends, bounds)))
    return TextLines(from_flat(text[:n_bytes], offsets), doc)


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
