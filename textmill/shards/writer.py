"""Write a tokenized split: a row a line, about 64 MB of text a shard.

Columns: doc (row number in the cleaned split), tokens (uint16 or uint32, without `<s>`, with the
final `</s>`), n_bytes and n_characters (the line end counts as one), n_words (without the line
end), n_unknown, and nats_spelling: what it costs to spell the line's unknown units. That bill
depends on the tokenizer alone, so it is paid once here and not by every model.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.base.files import sha256_of, write_table
from textmill.shards.lines import TextLines, pieces_of
from textmill.tokenizers.splitting import split_words
from textmill.tokenizers.tokenizer import Encoded, Tokenizer, with_line_ends
from textmill.tokenizers.vocabulary import UNKNOWN

SpellingBill = Callable[[pa.StringArray], np.ndarray]
"""Nats for each of a column of unknown texts."""


def write_split(
    documents: pa.Table, split: str, tokenizer: Tokenizer, bill: SpellingBill, folder: Path
) -> dict[str, Any]:
    """Write the shards of one split into `folder`; returns its entry of the manifest."""
    shards: list[dict[str, Any]] = []
    totals, lossy = np.zeros(5, dtype=np.int64), 0
    for number, lines in enumerate(pieces_of(documents)):
        encoded = tokenizer.encode(lines.text)
        table = _table(lines, encoded, bill, tokenizer.vocabulary.dtype)
        path = folder / f"{split}-{number:05d}.arrow"
        write_table(path, table)
        shards.append({"file": path.name, "rows": len(table), "sha256": sha256_of(path)})
        totals += _totals(table)
        lossy += encoded.lossy_lines
    names = ("tokens", "bytes", "characters", "words", "unknown")
    counts = dict(zip(names, map(int, totals), strict=True))
    lines_in_all = sum(shard["rows"] for shard in shards)
    head = {"documents": len(documents), "lines": lines_in_all, "lossy_lines": lossy}
    return {**head, **counts, "shards": shards}


def _table(
    lines: TextLines, encoded: Encoded, bill: SpellingBill, dtype: np.dtype[Any]
) -> pa.Table:
    tokens, offsets = with_line_ends(encoded.ids, encoded.offsets)
    n_lines = len(lines.doc)
    line_of = np.repeat(np.arange(n_lines), np.diff(encoded.offsets))
    unknown_line = line_of[encoded.ids == UNKNOWN]
    nats = np.bincount(unknown_line, weights=bill(encoded.unknown_texts), minlength=n_lines)
    _, word_offsets = split_words(lines.text)
    token_lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(tokens.astype(dtype)))
    list_type = pa.list_(pa.from_numpy_dtype(dtype))
    columns = {
        "doc": pa.array(lines.doc),
        "tokens": token_lists.cast(list_type),
        "n_bytes": pa.array(pc.binary_length(lines.text).to_numpy() + 1, pa.int32()),
        "n_characters": pa.array(pc.utf8_length(lines.text).to_numpy() + 1, pa.int32()),
        "n_words": pa.array(np.diff(word_offsets), pa.int32()),
        "n_unknown": pa.array(np.bincount(unknown_line, minlength=n_lines), pa.int32()),
        "nats_spelling": pa.array(nats.astype(np.float64)),
    }
    return pa.table(columns)


def _totals(table: pa.Table) -> np.ndarray:
    tokens = int(pc.sum(pc.list_value_length(table["tokens"])).as_py() or 0)
    names = ("n_bytes", "n_characters", "n_words", "n_unknown")
    return np.array([tokens, *(int(pc.sum(table[name]).as_py() or 0) for name in names)])
