"""Subword encoding by chunks, each distinct one once.

A chunk is a space and the run of other characters behind it, or the beginning of a line as far as
its first space. Sentencepiece splits at spaces while it learns, so its pieces hold a space at most
at their beginning, and no merge can reach over a chunk's beginning: the ids of a line are those of
its chunks, one after the other. Since a text repeats its words, a chunk in thirty is encoded, and
the rest is gathered. (Kudo and Richardson 2018; `SplitIntoWords` in sentencepiece.)

That holds for byte-pair merges, which are made inside each chunk in the same order wherever it
stands. A unigram model adds up its logarithms from the line's beginning in 32 bits, so what is
close to a tie may fall another way further on (in WikiText-2, one line in 1,500); it is given whole
lines, and so is any model whose pieces hold inner spaces.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import sentencepiece as spm

from textmill.base.compiled import read_only
from textmill.tokenizers import kernels
from textmill.tokenizers.lookup import TokenTable
from textmill.tokenizers.strings import Units, blocks_of, flat_bytes, offsets_of, units_of

SPACE_MARK = "\u2581"
ESCAPE = "\ue000"
UNKNOWN_MARK = "\u2585"
_MOST_CHUNKS = 1 << 19
"""How many distinct chunks are kept at once, with their ids about 100 MB."""


class ChunkEncoder:
    """Sentencepiece's own ids of lines, and whether it gives the lines back."""

    def __init__(self, model: bytes, *, whole_lines: bool) -> None:
        self.processor = spm.SentencePieceProcessor(model_proto=model)
        names = self.processor.id_to_piece(list(range(len(self.processor))))
        self._whole_lines = whole_lines or any(SPACE_MARK in name[1:] for name in names)
        self._bytes_of = _BytesOf(self.processor, names)

    def encode(self, lines: pa.Array) -> tuple[np.ndarray, np.ndarray, int]:
        """uint32 ids and int64 line offsets; how many lines the ids would not give back."""
        known = _Known(self.processor, self._bytes_of)
        ids, lengths, lossy_lines = [np.zeros(0, np.uint32)], [np.zeros(0, np.int64)], 0
        for block in blocks_of(lines):
            if len(known.table) > _MOST_CHUNKS:
                known = _Known(self.processor, self._bytes_of)
            units, offsets = self._split(block)
            rows = known.rows_of(units)
            ids.append(known.ids_of(rows))
            ends = offsets_of(known.lengths[rows])[offsets]
            lengths.append(np.diff(ends))
            lossy = np.flatnonzero(known.lossy[rows])
            lossy_lines += len(np.unique(np.searchsorted(offsets, lossy, side="right")))
        return np.concatenate(ids), offsets_of(np.concatenate(lengths)), lossy_lines

    def _split(self, lines: pa.Array) -> tuple[Units, np.ndarray]:
        """The chunks of lines and the lines' offsets in them."""
        if self._whole_lines:
            return units_of(lines), np.arange(len(lines) + 1)
        data, bounds = flat_bytes(lines)
        starts, offsets = np.empty(len(data) + 1, np.int64), np.empty(len(bounds), np.int64)
        n = kernels.find_chunks(data, bounds, starts, offsets)
        return Units(data, starts[:n], starts[1 : n + 1]), offsets


class _BytesOf:
    """The UTF-8 bytes that each piece stands for; none for reserved ones."""

    def __init__(self, processor: spm.SentencePieceProcessor, names: list[str]) -> None:
        texts = [
            _of_special(processor, piece, name)
            if name.startswith("<")  # as all of them do
            else name.replace(SPACE_MARK, " ").encode()
            for piece, name in enumerate(names)
        ]
        self._flat = np.frombuffer(b"".join(texts), np.uint8)
        self._lengths = np.array([len(text) for text in texts], np.int64)
        self._starts = read_only(offsets_of(self._lengths))

    def gather(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """uint8 bytes of pieces, one after the other, and int64 offsets of the pieces in them."""
        offsets = offsets_of(self._lengths[ids])
        found = np.empty(offsets[-1], np.uint8)
        kernels.gather(self._flat, self._starts, read_only(ids), found)
        return found, offsets


def _of_special(processor: spm.SentencePieceProcessor, piece: int, name: str) -> bytes:
    if processor.is_byte(piece):
        return bytes([int(name[3:5], 16)])  # <0x1F>
    is_reserved = processor.is_control(piece) or processor.is_unknown(piece)
    return b"" if is_reserved else name.encode()


class _Known:
    """Distinct chunks and what sentencepiece makes of each.

    lengths: int64, ids a chunk. lossy: bool, whether the ids do not give the chunk back.
    """

    def __init__(self, processor: spm.SentencePieceProcessor, bytes_of: _BytesOf) -> None:
        self._processor = processor
        self._bytes_of = bytes_of
        self.table = TokenTable()
        self.lengths = np.zeros(0, np.int64)
        self.lossy = np.zeros(0, bool)
        self._ids = np.zeros(0, np.uint32)

    def rows_of(self, chunks: Units) -> np.ndarray:
        """int32 row of each chunk; those that are new are encoded."""
        known = len(self.table)
        rows = self.table.add(chunks)
        if known < len(self.table):
            self._encode(self.table.texts[known:].to_pylist())
        return rows

    def _encode(self, texts: list[str]) -> None:
        """Encode new chunks, on this thread alone: a pool gives each of its own another piece."""
        together = "".join(texts)
        has_signs = any(sign in together for sign in _ESCAPES)
        escaped = [escape(text) for text in texts] if has_signs else texts
        with _no_garbage_collection():
            encoded = self._processor.encode(escaped, out_type=int, num_threads=1)
        lengths = np.fromiter(map(len, encoded), np.int64, count=len(encoded))
        ids = np.fromiter(chain.from_iterable(encoded), np.uint32, count=int(lengths.sum()))
        lossy = self._are_lossy(ids, offsets_of(lengths), escaped)
        self.lengths = np.append(self.lengths, lengths)
        self.lossy = np.append(self.lossy, lossy)
        self._ids = np.append(self._ids, ids)

    def _are_lossy(self, ids: np.ndarray, offsets: np.ndarray, texts: list[str]) -> np.ndarray:
        """Bool a text: whether the bytes of its pieces are other bytes."""
        found, places = self._bytes_of.gather(ids)
        bounds = places[offsets]
        wanted, ends = flat_bytes(pa.array(texts, pa.large_string()))
        if np.array_equal(bounds, ends) and np.array_equal(found, wanted):
            return np.zeros(len(texts), bool)
        pairs = zip(_cut(found, bounds), _cut(wanted, ends), strict=True)
        return np.array([mine != theirs for mine, theirs in pairs])

    def ids_of(self, rows: np.ndarray) -> np.ndarray:
        """The ids of chunks, one after the other."""
        gathered = np.empty(int(self.lengths[rows].sum()), np.uint32)
        offsets = offsets_of(self.lengths)
        kernels.gather(read_only(self._ids), read_only(offsets), read_only(rows), gathered)
        return gathered


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A list a chunk makes the collector look through all that is imported: 50 ms, for no cycle."""
    is_on = gc.isenabled()  # a thread that finds it off leaves it to the one that turned it off
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()


def _cut(flat: np.ndarray, bounds: np.ndarray) -> list[bytes]:
    whole = flat.tobytes()
    return [whole[start:stop] for start, stop in pairwise(bounds.tolist())]


_ESCAPES = {ESCAPE: ESCAPE + "0", SPACE_MARK: ESCAPE + "1", UNKNOWN_MARK: ESCAPE + "2"}


def escape(text: str) -> str:
    """Write sentencepiece's own signs (and the escape sign U+E000 itself) in ones that it keeps."""
    for sign, escaped in _ESCAPES.items():
        if sign in text:
            text = text.replace(sign, escaped)
    return text


def unescape(text: str) -> str:
    """Undo `escape`."""
    if ESCAPE in text:
        for sign, escaped in reversed(_ESCAPES.items()):
            text = text.replace(escaped, sign)
    return text
