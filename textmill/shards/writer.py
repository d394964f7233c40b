"""Write tokenized lines as a shard: a row a line, one piece of the text a shard.

Columns: doc (row number in the cleaned split), tokens (uint16 or uint32, without `<s>`, with the
final `</s>`), n_bytes and n_characters (the line end counts as one), n_words (without the line
end), n_unknown, and nats_spelling: what it costs to spell the line's unknown units. That bill
depends on the tokenizer alone, so it is paid once here and not by every model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.base.files import sha256_of, write_table
from textmill.shards.lines import TextLines
from textmill.tokenizers.splitting import words_and_characters
from textmill.tokenizers.tokenizer import Encoded, Tokenizer, with_line_ends
from textmill.tokenizers.vocabulary import UNKNOWN

SpellingBill = Callable[[pa.StringArray], np.ndarray]
"""Nats for each of a column of unknown texts."""
COUNTS = ("tokens", "bytes", "characters", "words", "unknown")


@dataclass(frozen=True, slots=True)
class Codec:
    """What turns lines into rows of a shard: a tokenizer and the bill for its unknown units."""

    tokenizer: Tokenizer
    bill: SpellingBill


@dataclass(frozen=True, slots=True)
class Shard:
    """What a written shard is: its file's name, rows and hash, and what was counted in it.

    counts: tokens, bytes, characters, words and unknown units, in the order of `COUNTS`.
    """

    file: str
    rows: int
    sha256: str
    lossy_lines: int
    counts: tuple[int, ...]


def write_shard(lines: TextLines, codec: Codec, path: Path) -> Shard:
    """Encode lines and write them to `path`, which is whole or absent."""
    encoded = codec.tokenizer.encode(lines.text)
    table = table_of(lines, encoded, codec.bill)
    write_table(path, table)
    return Shard(path.name, len(table), sha256_of(path), encoded.lossy_lines, _counts(table))


def split_entry(n_documents: int, shards: Sequence[Shard]) -> dict[str, Any]:
    """What the manifest says of a split, from its shards in order."""
    return {
        "documents": n_documents,
        "lines": sum(shard.rows for shard in shards),
        "lossy_lines": sum(shard.lossy_lines for shard in shards),
        **{name: sum(shard.counts[i] for shard in shards) for i, name in enumerate(COUNTS)},
        "shards": [{"file": s.file, "rows": s.rows, "sha256": s.sha256} for s in shards],
    }


def table_of(lines: TextLines, encoded: Encoded, bill: SpellingBill) -> pa.Table:
    """The rows of a shard: lines beside what the tokenizer made of them."""
    tokens, offsets = with_line_ends(encoded.ids, encoded.offsets)
    n_lines = len(lines.doc)
    unknown_at = np.flatnonzero(encoded.ids == UNKNOWN)
    unknown_line = np.searchsorted(encoded.offsets, unknown_at, side="right") - 1
    nats = np.bincount(unknown_line, weights=bill(encoded.unknown_texts), minlength=n_lines)
    n_words, n_characters = words_and_characters(lines.text)
    columns = {
        "doc": pa.array(lines.doc),
        "tokens": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(tokens)),
        "n_bytes": pa.array(pc.binary_length(lines.text).to_numpy() + 1, pa.int32()),
        "n_characters": pa.array(n_characters + 1),
        "n_words": pa.array(n_words),
        "n_unknown": pa.array(np.bincount(unknown_line, minlength=n_lines), pa.int32()),
        "nats_spelling": pa.array(nats.astype(np.float64)),
    }
    return pa.table(columns)


def _counts(table: pa.Table) -> tuple[int, ...]:
    tokens = int(pc.sum(pc.list_value_length(table["tokens"])).as_py() or 0)
    names = ("n_bytes", "n_characters", "n_words", "n_unknown")
    return (tokens, *(int(pc.sum(table[name]).as_py() or 0) for name in names))
