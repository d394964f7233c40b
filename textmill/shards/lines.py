"""Lines of a cleaned split: the unit that is tokenized, sharded and scored.

A cleaned split is a table of documents (doc_id, text, n_bytes); in a text every line is ended by
one LF. Here the lines come out as one column, with the document each belongs to.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.shards.pieces import BYTES_A_PIECE, cut, plan_pieces


@dataclass(frozen=True, slots=True)
class TextLines:
    """text: large_string without line ends. doc: int32, the document's row number, per line."""

    text: pa.LargeStringArray
    doc: np.ndarray


def lines_of(documents: pa.Table, first_row: int = 0) -> TextLines:
    """All lines of a table of documents, whose first row has the number `first_row`."""
    lists = pc.split_pattern(documents["text"].combine_chunks().cast(pa.large_string()), "\n")
    lengths = pc.list_value_length(lists).to_numpy().astype(np.int64)
    # Every text ends with LF, so the last part of each document is empty and no line.
    last_parts = np.cumsum(lengths) - 1
    is_line = np.ones(int(lengths.sum()), dtype=bool)
    is_line[last_parts] = False
    rows = np.arange(first_row, first_row + len(documents), dtype=np.int32)
    return TextLines(lists.flatten().filter(pa.array(is_line)), np.repeat(rows, lengths - 1))


def pieces_of(documents: pa.Table, bytes_a_piece: int = BYTES_A_PIECE) -> Iterator[TextLines]:
    """The lines in pieces of about this many bytes (see `pieces`), to bound memory."""
    for piece in plan_pieces(documents, bytes_a_piece):
        yield lines_of(cut(documents, piece), piece.first)
