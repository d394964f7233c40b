"""Lines of a cleaned split: the unit that is tokenized, sharded and scored.

A cleaned split is a table of documents (doc_id, text, n_bytes); in a text every line is ended by
one LF. Here the lines come out as one column, with the document each belongs to.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from textmill.shards.pieces import BYTES_A_PIECE, cut, plan_pieces
from textmill.tokenizers.strings import flat_bytes, from_flat

LINE_FEED = 0x0A


@dataclass(frozen=True, slots=True)
class TextLines:
    """text: large_string without line ends. doc: int32, the document's row number, per line."""

    text: pa.LargeStringArray
    doc: np.ndarray


def lines_of(documents: pa.Table, first_row: int = 0) -> TextLines:
    """All lines of a table of documents, whose first row has the number `first_row`."""
    data, bounds = flat_bytes(documents["text"].combine_chunks())
    line_ends = np.flatnonzero(data == LINE_FEED)
    # Without the line ends themselves, line i ends i bytes earlier.
    offsets = np.concatenate([np.zeros(1, np.int64), line_ends - np.arange(len(line_ends))])
    text = from_flat(data[data != LINE_FEED], offsets)
    n_lines = np.diff(np.searchsorted(line_ends, bounds))
    rows = np.arange(first_row, first_row + len(documents), dtype=np.int32)
    return TextLines(text, np.repeat(rows, n_lines))


def pieces_of(documents: pa.Table, bytes_a_piece: int = BYTES_A_PIECE) -> Iterator[TextLines]:
    """The lines in pieces of about this many bytes (see `pieces`), to bound memory."""
    for piece in plan_pieces(documents, bytes_a_piece):
        yield lines_of(cut(documents, piece), piece.first)
