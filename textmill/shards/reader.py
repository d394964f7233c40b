"""Read a tokenized split as flat, memory-mapped columns; every shard is checked first."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from textmill.base.errors import UserError
from textmill.base.files import read_record, read_table, sha256_of

FORMAT = 1
SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Lines:
    """A split as flat columns; L lines, T tokens.

    tokens: (T,) uint16 or uint32, each line without `<s>` and with its final `</s>`.
    offsets: (L+1,) int64 into tokens. doc: (L,) int32, never falling.
    n_bytes, n_characters (line end counted), n_words (line end not counted), n_unknown: (L,).
    nats_spelling: (L,) float64, the bill for spelling the line's unknown units.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    doc: np.ndarray
    n_bytes: np.ndarray
    n_characters: np.ndarray
    n_words: np.ndarray
    n_unknown: np.ndarray
    nats_spelling: np.ndarray

    @property
    def doc_offsets(self) -> np.ndarray:
        """(D+1,) int64: where each document's tokens begin, and the end."""
        first_lines = np.flatnonzero(np.diff(self.doc, prepend=-1))
        return np.append(self.offsets[first_lines], self.offsets[-1])


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder of shards."""
    manifest = read_record(folder / "manifest.json", "format", "splits", "fingerprint")
    if manifest["format"] != FORMAT:
        raise UserError(f"{folder} holds no shards of this version", next_step="dvc repro")
    return manifest


def read_split(folder: Path, split: str) -> Lines:
    """Map a split's shards. UserError naming the first missing, damaged or foreign shard."""
    entry = read_manifest(folder)["splits"][split]
    tables = []
    for shard in entry["shards"]:
        path = folder / shard["file"]
        if path.exists() and sha256_of(path) != shard["sha256"]:
            raise UserError(
                f"{path} is not the shard that {folder / 'manifest.json'} describes",
                next_step=f"delete {folder}, then: dvc repro",
            )
        tables.append(read_table(path))
    return lines_of_table(pa.concat_tables(tables))


def lines_of_table(table: pa.Table) -> Lines:
    """The flat columns of a table of lines; no copy where it is one batch."""
    lists = table["tokens"]
    lengths = [np.diff(chunk.offsets.to_numpy()) for chunk in lists.chunks]
    offsets = np.zeros(len(table) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(lengths) if lengths else [], out=offsets[1:])
    flat = [chunk.flatten().to_numpy() for chunk in lists.chunks]
    names = ("doc", "n_bytes", "n_characters", "n_words", "n_unknown", "nats_spelling")
    columns = {name: table[name].to_numpy() for name in names}
    tokens = flat[0] if len(flat) == 1 else np.concatenate(flat)
    return Lines(tokens=tokens, offsets=offsets, **columns)
