"""The table of a cleaned split, written while documents come: a row a document, Arrow IPC.

A record batch has up to 64 MiB of text and its last document, so that no more is held. A smaller
split is one batch, and its file the same bytes as one table written whole.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pyarrow as pa

from textmill.text.documents import Document

SCHEMA = pa.schema([("doc_id", pa.string()), ("text", pa.large_string()), ("n_bytes", pa.int64())])
_BYTES_A_BATCH = 1 << 26
_CHARACTERS, _DOCUMENTS = 1 << 22, 1 << 16
"""What is held as Python's strings before it becomes a part of a batch."""
_ROWS = 1 << 13
"""Rows that are read at a time."""


class SplitTable:
    """Writes documents (doc_id, text whose lines LF ends, n_bytes) and counts what they hold."""

    def __init__(self, path: Path) -> None:
        self._sink = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_file(self._sink, SCHEMA)
        self._waiting: list[Document] = []
        self._characters = 0
        self._parts: list[pa.RecordBatch] = []
        self._bytes = 0
        self._sha256 = hashlib.sha256()
        self._blank = self._spaces = 0
        self.sizes = dict.fromkeys(("documents", "lines", "bytes", "characters"), 0)
        self.has_words = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self._gather()
            self._write()
            self._writer.close()
        self._sink.close()

    def add(self, document: Document) -> None:
        """One more row."""
        self._waiting.append(document)
        self._characters += len(document.text)
        if self._characters >= _CHARACTERS or len(self._waiting) >= _DOCUMENTS:
            self._gather()

    def numbers(self) -> dict[str, int | str]:
        """Documents, lines, bytes, characters, words, and sha256 over the documents, each as its
        length in bytes (8, little-endian) and its bytes.
        """
        # Text is canonical: a line of w words holds w - 1 spaces.
        words = self._spaces + self.sizes["lines"] - self._blank
        return {**self.sizes, "words": words, "sha256": self._sha256.hexdigest()}

    def _gather(self) -> None:
        """Make a part of a batch of what waits, and count it."""
        if not self._waiting:
            return
        data = [document.text.encode() for document in self._waiting]
        sizes = np.fromiter(map(len, data), np.int64, len(data))
        for one in data:
            self._sha256.update(len(one).to_bytes(8, "little"))
            self._sha256.update(one)
        whole = data[0] if len(data) == 1 else b"".join(data)
        del data
        ids = pa.array([document.id for document in self._waiting], pa.string())
        self._count(whole, int(sizes.sum()))
        self._waiting, self._characters = [], 0
        bounds = pa.py_buffer(np.append(0, np.cumsum(sizes)))
        buffers = [None, bounds, pa.py_buffer(whole)]
        text = pa.Array.from_buffers(pa.large_string(), len(sizes), buffers)
        self._parts.append(pa.record_batch([ids, text, pa.array(sizes)], schema=SCHEMA))
        self._bytes += len(whole)
        if self._bytes >= _BYTES_A_BATCH:
            self._write()

    def _count(self, whole: bytes, size: int) -> None:
        bytes_ = np.frombuffer(whole, np.uint8)
        lines = whole.count(b"\n")
        is_end = bytes_ == 0x0A
        blank = int(np.count_nonzero(is_end[1:] & is_end[:-1])) + whole.startswith(b"\n")
        self._blank += blank
        self._spaces += whole.count(b" ")
        self.has_words |= any(d.text and not d.text.isspace() for d in self._waiting)
        self.sizes["documents"] += len(self._waiting)
        self.sizes["lines"] += lines
        self.sizes["bytes"] += size
        self.sizes["characters"] += self._characters

    def _write(self) -> None:
        if not self._parts:
            return
        table = pa.Table.from_batches(self._parts).combine_chunks()
        self._writer.write_table(table, max_chunksize=max(len(table), 1))
        self._parts, self._bytes = [], 0


def read_documents(path: Path) -> Iterator[Document]:
    """The rows of such a table as documents; neither file nor key is kept there."""
    for some in _rows(path):
        ids, texts = some["doc_id"].to_pylist(), some["text"].to_pylist()
        yield from (Document(name, "", text) for name, text in zip(ids, texts, strict=True))


def read_texts(path: Path) -> Iterator[str]:
    """The texts alone."""
    for some in _rows(path):
        yield from some["text"].to_pylist()


def _rows(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows, a few at a time."""
    # Not mapped: what was read is let go of, and does not count as this process's memory.
    with pa.OSFile(str(path), "rb") as source:
        reader = pa.ipc.open_file(source)
        for index in range(reader.num_record_batches):
            batch = reader.get_batch(index)
            for first in range(0, len(batch), _ROWS):
                yield batch.slice(first, _ROWS)
