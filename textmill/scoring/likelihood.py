"""Nats of every token of a split, whatever the model.

Documents are scored side by side as streams, the longest first, in chunks so that memory stays
bounded; a stream that has ended is left out from the next chunk on. Neither the number of streams
nor the chunk changes what a token costs (tested).
"""

from collections.abc import Iterator

import numpy as np

from textmill.base.progress import Progress
from textmill.scoring.protocol import LanguageModel
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import END

STREAMS = 64
CHUNK = 128


def token_nats(
    model: LanguageModel, lines: Lines, *, streams: int = STREAMS, chunk: int = CHUNK
) -> np.ndarray:
    """(T,) float64 nats, in the order of `lines.tokens`."""
    nats = np.empty(len(lines.tokens), dtype=np.float64)
    with Progress(len(lines.tokens), "tokens", "scoring") as progress:
        for starts, lengths in streams_of(lines.doc_offsets, streams):
            scored = _score_group(model, lines.tokens, starts, lengths, chunk)
            for positions_BT, real_BT, nats_BT in scored:
                nats[positions_BT[real_BT]] = nats_BT[real_BT]
                progress.advance(int(real_BT.sum()))
    return nats


def streams_of(doc_offsets: np.ndarray, streams: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Starts and lengths of documents, `streams` at a time, the longest first."""
    lengths = np.diff(doc_offsets)
    order = np.argsort(-lengths, kind="stable")
    for first in range(0, len(order), streams):
        chosen = order[first : first + streams]
        yield doc_offsets[chosen], lengths[chosen]


def _score_group(
    model: LanguageModel, tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray, chunk: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Positions in the flat column, which of them are no padding, and their nats, a chunk each."""
    state, first = model.start(len(starts)), 0
    while going_on := int((lengths > first).sum()):
        steps = np.arange(first, first + _steps(lengths[:going_on] - first, chunk))
        real_BT = steps < lengths[:going_on, None]
        positions_BT = np.where(real_BT, starts[:going_on, None] + steps, 0)
        ids_BT = np.where(real_BT, tokens[positions_BT], END)
        nats_BT, state = model.score(ids_BT, state)
        yield positions_BT, real_BT, nats_BT
        first += len(steps)


def _steps(left_B: np.ndarray, chunk: int) -> int:
    """How far streams go on together that have so many tokens left, the most first.

    To the first end of one, so that little of a chunk is padding, but a quarter of it at least.
    """
    return min(chunk, max(chunk // 4, 1, int(left_B[-1])), int(left_B[0]))
