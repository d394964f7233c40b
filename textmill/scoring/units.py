"""From nats to the units that people compare: bits per byte, perplexity and their kin.

L is the bill for the whole text in nats, L_tokens the part for token ids, L_spelling the part
for spelling unknown units. The primary number is bits per byte = L / (N ln 2), N the bytes of
the text with one line end a line; it is one scale for every tokenization.
"""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from textmill.shards.reader import Lines

TOTALS = ("nats_tokens", "nats_spelling", "tokens", "unknown", "bytes", "characters", "words")


def scores_table(lines: Lines, nats: np.ndarray) -> pa.Table:
    """A row a line: doc, the totals of scoring, and each token's nats.

    nats: (T,) float64 in the order of `lines.tokens`. `words` counts the line end as one.
    """
    line_nats = sums_by_line(nats, lines.offsets)
    token_nats = pa.LargeListArray.from_arrays(pa.array(lines.offsets), pa.array(nats))
    return pa.table(
        {
            "doc": pa.array(lines.doc),
            "nats_tokens": pa.array(line_nats),
            "nats_spelling": pa.array(lines.nats_spelling),
            "tokens": pa.array(np.diff(lines.offsets), pa.int32()),
            "unknown": pa.array(lines.n_unknown, pa.int32()),
            "bytes": pa.array(lines.n_bytes, pa.int32()),
            "characters": pa.array(lines.n_characters, pa.int32()),
            "words": pa.array(lines.n_words + 1, pa.int32()),
            "token_nats": token_nats.cast(pa.list_(pa.float64())),
        }
    )


def with_nats(scores: pa.Table, nats: np.ndarray) -> pa.Table:
    """The same lines under another model's token nats, (T,) float64."""
    token_lists = scores["token_nats"].combine_chunks()
    offsets = token_lists.offsets.to_numpy().astype(np.int64)
    replaced = {
        "nats_tokens": pa.array(sums_by_line(nats, offsets)),
        "token_nats": pa.ListArray.from_arrays(token_lists.offsets, pa.array(nats)),
    }
    return pa.table({name: replaced.get(name, scores[name]) for name in scores.column_names})


def flat_nats(scores: pa.Table) -> np.ndarray:
    """(T,) float64 nats of every token, in order."""
    flat: np.ndarray = scores["token_nats"].combine_chunks().flatten().to_numpy()
    return flat


def sums_by_line(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sum of each row of a flat column; every row holds at least its line end."""
    return np.add.reduceat(values, offsets[:-1]) if len(offsets) > 1 else np.zeros(0)


def measure(scores: pa.Table) -> dict[str, Any]:
    """Every number of one split from its scores table; null where a number is not finite."""
    totals = {name: scores[name].to_numpy().sum() for name in TOTALS}
    nats = float(totals["nats_tokens"] + totals["nats_spelling"])
    return {
        "bits_per_byte": finite(nats / (int(totals["bytes"]) * math.log(2))),
        "bits_per_character": finite(nats / (int(totals["characters"]) * math.log(2))),
        "perplexity": finite(perplexity(float(totals["nats_tokens"]), int(totals["tokens"]))),
        "word_perplexity": finite(perplexity(nats, int(totals["words"]))),
        "nats": finite(nats),
        "nats_tokens": finite(float(totals["nats_tokens"])),
        "nats_spelling": finite(float(totals["nats_spelling"])),
        "unknown_rate": int(totals["unknown"]) / int(totals["tokens"]),
        **{name: int(totals[name]) for name in TOTALS[2:]},
    }


def perplexity(nats: float, events: int) -> float:
    """exp(nats / events); infinite where that overflows."""
    try:
        return math.exp(nats / events)
    except OverflowError:
        return math.inf


def finite(value: float) -> float | None:
    """The value, or None where it is infinite or no number: files hold neither."""
    return value if math.isfinite(value) else None
