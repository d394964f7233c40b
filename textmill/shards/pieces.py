"""Where a split is cut into pieces, so that memory is bounded by a piece and not by the text.

A piece is a run of whole documents, or a part of one document that is larger than a piece by
itself (a novel, or a whole corpus in one file), cut at a line's end. A piece says only where it
lies, so it can be sent to another process, which maps the file and reads no more than its own
part. Where the cuts fall depends on the text alone, never on who works on the pieces.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

BYTES_A_PIECE = 8 << 20
"""Bytes of text at most. Encoding takes about ten times as much memory for a while."""
_WINDOW = 1 << 16


@dataclass(frozen=True, slots=True)
class Piece:
    """Documents `first` to `last` (not included), or bytes `start` to `stop` of the one document.

    stop None: whole documents.
    """

    first: int
    last: int
    start: int = 0
    stop: int | None = None


def plan_pieces(documents: pa.Table, bytes_a_piece: int = BYTES_A_PIECE) -> list[Piece]:
    """The pieces of a cleaned split, in order; one empty piece for a table without rows.

    A piece holds less than two times `bytes_a_piece` and its last line. The pieces of a large
    document are of one size, and so are those of small ones, so that no worker waits for another.
    """
    if not len(documents):
        return [Piece(0, 0)]
    sizes = documents["n_bytes"].to_numpy()
    is_large = sizes > bytes_a_piece
    ends = np.cumsum(sizes)
    piece_of = (ends - sizes) // _even(int(ends[-1]), bytes_a_piece)
    begins = np.diff(piece_of, prepend=-1) != 0
    begins |= is_large
    begins[1:] |= is_large[:-1]
    starts = np.flatnonzero(begins)
    pieces: list[Piece] = []
    for first, last in zip(starts.tolist(), [*starts[1:].tolist(), len(documents)], strict=True):
        if is_large[first]:
            pieces += _parts(documents, first, bytes_a_piece)
        else:
            pieces.append(Piece(first, last))
    return pieces


def cut(documents: pa.Table, piece: Piece) -> pa.Table:
    """The documents of a piece, or the part of one, as a table with the column `text`; no copy."""
    rows = documents.slice(piece.first, piece.last - piece.first)
    if piece.stop is None:
        return rows.select(["text"])
    data, begin, _ = _text(documents, piece.first)
    offsets = np.array([begin + piece.start, begin + piece.stop], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), data]
    return pa.table({"text": pa.Array.from_buffers(pa.large_string(), 1, buffers)})


def _even(size: int, most: int) -> int:
    """How large each of the fewest parts of `size` is that have at most `most`; at least 1."""
    n = max(-(-size // most), 1)
    return max(-(-size // n), 1)


def _parts(documents: pa.Table, row: int, bytes_a_piece: int) -> Iterator[Piece]:
    data, begin, end = _text(documents, row)
    step = _even(end - begin, bytes_a_piece)
    start = begin
    while start < end:
        stop = _after_line(data, min(start + step, end) - 1, end)
        yield Piece(row, row + 1, start - begin, stop - begin)
        start = stop


def _after_line(data: pa.Buffer, at: int, end: int) -> int:
    """The place behind the first line feed from `at` on, or the end."""
    while at < end:
        window = data[at : min(at + _WINDOW, end)].to_pybytes()
        found = window.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(window)
    return end


def _text(documents: pa.Table, row: int) -> tuple[pa.Buffer, int, int]:
    """The buffer that holds a document's text, and where in it the text begins and ends."""
    chunk = documents["text"].slice(row, 1).chunk(0).cast(pa.large_string())
    offsets = np.frombuffer(chunk.buffers()[1], np.int64, count=2, offset=8 * chunk.offset)
    return chunk.buffers()[2], int(offsets[0]), int(offsets[1])
