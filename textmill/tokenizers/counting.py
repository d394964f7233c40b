"""Counts of a running text's types, without a Python object a token."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.tokenizers.strings import packed, unpacked

_BYTES_WAITING = 64 << 20
"""Long tokens of several pieces are counted together, which is faster than adding up counts."""


def count_types(pieces: Iterable[pa.Array]) -> tuple[pa.StringArray, np.ndarray]:
    """The types of a running text, given in pieces, in no certain order, and their counts.

    Short tokens are counted as integers. Only the counts of each piece are kept.
    """
    short: list[pa.Array] = []
    long: list[pa.Array] = []
    waiting: list[pa.Array] = []
    for piece in pieces:
        integers, is_long = packed(piece)
        short.append(pc.value_counts(pa.array(integers[~is_long])))
        waiting.append(piece.filter(pa.array(is_long)).cast(pa.large_string()))
        if sum(column.nbytes for column in waiting) > _BYTES_WAITING:
            long.append(pc.value_counts(pa.concat_arrays(waiting)))
            waiting = []
    long += [pc.value_counts(pa.concat_arrays(waiting))] if waiting else []
    integers, short_counts = _added_up(short, pa.int64())
    words, long_counts = _added_up(long, pa.large_string())
    types = pa.concat_arrays([unpacked(integers.to_numpy()), words]).cast(pa.string())
    return types, np.concatenate([short_counts, long_counts])


def _added_up(counted: list[pa.Array], type: pa.DataType) -> tuple[pa.Array, np.ndarray]:
    """One count a value, from several columns of values and counts."""
    values = [part.field("values") for part in counted]
    counts = [part.field("counts") for part in counted]
    table = pa.table(
        {
            "value": pa.concat_arrays([pa.array([], type), *values]),
            "count": pa.concat_arrays([pa.array([], pa.int64()), *counts]),
        }
    )
    if len(counted) > 1:
        table = table.group_by("value").aggregate([("count", "sum")])
    value, count = table.columns
    return value.combine_chunks(), count.to_numpy()
