"""Where truncated BPTT cuts the rows of an epoch: fixed, variable or random lengths.

fixed: every `bptt` rows.

variable (Merity et al. 2017): each length is drawn from a normal distribution around `bptt`, one in
twenty around half of it, with a standard deviation of 5; at least 5 rows and at most 10 more than
`bptt`, because one outlier would decide how much memory is needed.

random (Tallec and Ollivier 2017): at every end of `bptt` rows the chunk goes on with probability p,
and a gradient that goes back over that row is multiplied by 1/p. A path over k such rows is kept
with probability p^k and weighs p^-k, so the expectation of the gradient is that of the whole
sequence. A chunk has 1/(1 - p) times `bptt` rows in the mean, and no greatest length.
"""

import numpy as np

from textmill.neural.config import Truncation

HALF_SHARE = 0.05
SPREAD = 5.0
SHORTEST = 5
MOST_ABOVE = 10


def chunk_bounds(
    rows: int, bptt: int, truncation: Truncation, continuation: float, rng: np.random.Generator
) -> np.ndarray:
    """(chunks + 1,) int64: the chunks of `rows` rows lie between neighbouring bounds."""
    if truncation == "variable":
        stops = np.cumsum(_lengths(rows, bptt, rng))
    else:
        stops = np.arange(bptt, rows + bptt, bptt)
        if truncation == "random":
            stops = stops[rng.random(len(stops)) >= continuation]
    return np.concatenate([[0], stops[stops < rows], [rows]]).astype(np.int64)


def crossings(first: int, stop: int, bptt: int, truncation: Truncation) -> tuple[int, ...]:
    """Rows of the chunk from `first` to `stop` over which a gradient is weighted."""
    if truncation != "random":
        return ()
    return tuple(range(bptt, stop - first, bptt))


def _lengths(rows: int, bptt: int, rng: np.random.Generator) -> np.ndarray:
    """Lengths of chunks that together have `rows` rows or more."""
    shortest = min(SHORTEST, bptt)
    n = rows // shortest + 1
    means = np.where(rng.random(n) < HALF_SHARE, bptt / 2, bptt)
    return np.clip(rng.normal(means, SPREAD).astype(np.int64), shortest, bptt + MOST_ABOVE)
