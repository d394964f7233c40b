"""Read a tokenized split as flat, memory-mapped columns; every shard is checked first.

Nothing is copied: the columns of a shard are the file's own pages, which the system reads when
they are touched and may drop again. Only a split of several shards has to be joined to be flat;
`read_shards` gives its shards one by one instead.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from textmill.base.errors import UserError, nearest
from textmill.base.files import read_record, read_table, sha256_of

FORMAT = 1
SPLITS = ("train", "valid", "test")
TOKENS = (pa.list_(pa.uint16()), pa.list_(pa.uint32()))
NUMBERS = {
    "doc": pa.int32(),
    "n_bytes": pa.int32(),
    "n_characters": pa.int32(),
    "n_words": pa.int32(),
    "n_unknown": pa.int32(),
    "nats_spelling": pa.float64(),
}


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


def read_split(folder: Path, split: str, tokenizer: str | None = None) -> Lines:
    """Map a split's shards as one. UserError naming the first missing, damaged or foreign shard.

    tokenizer: the fingerprint of the vocabulary that the ids must be of; None: whatever they are.
    """
    return lines_of_table(pa.concat_tables(_checked(folder, split, tokenizer)))


def read_shards(folder: Path, split: str, tokenizer: str | None = None) -> list[Lines]:
    """Map a split's shards one by one, all without a copy; see `read_split`."""
    return [lines_of_table(table) for table in _checked(folder, split, tokenizer)]


def lines_of_table(table: pa.Table) -> Lines:
    """The flat columns of a table of lines; no copy where it is one batch."""
    lists = table["tokens"]
    lengths = [np.diff(chunk.offsets.to_numpy()) for chunk in lists.chunks]
    offsets = np.zeros(len(table) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(lengths) if lengths else [], out=offsets[1:])
    flat = [chunk.flatten().to_numpy() for chunk in lists.chunks]
    columns = {name: table[name].to_numpy() for name in NUMBERS}
    none = np.zeros(0, dtype=lists.type.value_type.to_pandas_dtype())
    tokens = flat[0] if len(flat) == 1 else np.concatenate([none, *flat])
    return Lines(tokens=tokens, offsets=offsets, **columns)


def _checked(folder: Path, split: str, tokenizer: str | None) -> list[pa.Table]:
    manifest = read_manifest(folder)
    if tokenizer not in (None, manifest["fingerprint"]):
        raise UserError(
            f"{folder} holds the ids of another tokenizer ({manifest['fingerprint'][:12]}) than "
            f"the vocabulary ({str(tokenizer)[:12]})",
            next_step=f"delete {folder}, then: dvc repro",
        )
    if split not in manifest["splits"]:
        raise UserError(f"{folder} has no split {split}{nearest(split, manifest['splits'])}")
    return [_table(folder, shard) for shard in manifest["splits"][split]["shards"]]


def _table(folder: Path, shard: dict[str, Any]) -> pa.Table:
    path = folder / shard["file"]
    if path.exists() and sha256_of(path) != shard["sha256"]:
        raise UserError(
            f"{path} is not the shard that {folder / 'manifest.json'} describes",
            next_step=f"delete {folder}, then: dvc repro",
        )
    table = read_table(path)
    if (wrong := _first_difference(table.schema)) or len(table) != shard["rows"]:
        raise UserError(
            f"{path} is no shard of tokenized lines ({wrong or f'{len(table):,} rows'})",
            next_step=f"delete {folder}, then: dvc repro",
        )
    return table


def _first_difference(schema: pa.Schema) -> str:
    """What is missing, or of another type, in the columns of a shard; empty where nothing is."""
    for name, known in (("tokens", TOKENS), *NUMBERS.items()):
        if name not in schema.names:
            return f"no column {name}"
        if schema.field(name).type not in (known if isinstance(known, tuple) else (known,)):
            return f"column {name} is {schema.field(name).type}"
    return ""
