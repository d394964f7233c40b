"""Excerpts of a split, side by side: equally long, each inside one document, from all over it.

Suffixes: T time, B excerpts.
"""

import numpy as np

from textmill.base.errors import UserError
from textmill.shards.reader import Lines


def excerpts(lines: Lines, n: int, length: int, shortest: int = 8) -> np.ndarray:
    """(T, B) int64 ids of at most `n` excerpts, as long as `length` or the longest document.

    No two share a token: each document is cut into such lengths from its beginning on, and of all
    of these some are taken, evenly apart. UserError where no document holds `shortest` tokens.
    """
    bounds = lines.doc_offsets
    sizes = np.diff(bounds)
    length = min(length, int(sizes.max(initial=0)))
    if length < shortest:
        raise UserError(
            f"no document of the validation text holds {shortest} tokens, so no network can be "
            "watched reading one",
            next_step="choose a corpus of longer documents",
        )
    places = np.concatenate(
        [
            np.arange(start, start + size - length + 1, length)
            for start, size in zip(bounds, sizes, strict=False)
            if size >= length
        ]
    )
    chosen = places[np.linspace(0, len(places) - 1, min(n, len(places))).astype(np.int64)]
    return lines.tokens[chosen[None] + np.arange(length)[:, None]].astype(np.int64)
