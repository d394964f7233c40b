"""Exposure bias: how a model fares on its own text, against how it fares on the real one.

In training a model only ever sees real text before the token that it predicts (teacher forcing).
Left alone it reads what it has drawn itself. After the same real prompt it writes a continuation,
each token drawn from its distribution; the nats of what it drew are held against those of the real
continuation at the same distance. Of a calibrated model both cost the same on average. Own text
that costs less, and less the longer it gets, is a model that talks itself into repetition; own text
that costs more is one that loses the thread.

Through the one interface of every model, so n-grams are judged alike.

Suffixes: T time, B prompts.
"""

import numpy as np

from textmill.base.progress import Progress
from textmill.diagnosis.records import Exposure
from textmill.generate.sampling import draw
from textmill.scoring.protocol import LanguageModel

PROMPT = 32
"""Tokens at most that are given; less of a short document: a quarter of it."""


def exposure(model: LanguageModel, ids_TB: np.ndarray, *, seed: int = 0) -> Exposure | None:
    """Nats at each distance from the prompts, which are the beginnings of the excerpts.

    None for a model to which part of the real text is impossible: its mean says nothing.
    """
    length = min(PROMPT, len(ids_TB) // 4)
    prompts_BT, real_BT = ids_TB[:length].T, ids_TB[length:].T
    _, state = model.score(prompts_BT, model.start(len(prompts_BT)))
    forced_BT, _ = model.score(real_BT, state)
    if not np.isfinite(forced_BT).all():
        return None
    own_BT = _roll_out(model, state, real_BT.shape, np.random.default_rng(seed))
    differences_B = own_BT.mean(axis=1) - forced_BT.mean(axis=1)
    n = len(differences_B)
    return Exposure(
        own=tuple(own_BT.mean(axis=0).tolist()),
        forced=tuple(forced_BT.mean(axis=0).tolist()),
        error=float(differences_B.std(ddof=1) / np.sqrt(n)) if n > 1 else None,
    )


def _roll_out(
    model: LanguageModel, state: object, shape: tuple[int, ...], random: np.random.Generator
) -> np.ndarray:
    """(B, T) nats of tokens that the model drew one after the other."""
    found = np.empty(shape)
    with Progress(found.size, "tokens", "going on with its own words") as progress:
        for step in range(shape[1]):
            log_p_BV = model.distribution(state)
            drawn_B = np.array([draw(log_p_V, 1.0, random) for log_p_V in log_p_BV])
            nats_B1, state = model.score(drawn_B[:, None], state)
            found[:, step] = nats_B1[:, 0]
            progress.advance(len(drawn_B))
    return found
