"""The learning rate: a linear warm-up, then a schedule, by steps or tokens done.

A function of what is done and, for the plateau, of the looks so far, so a run that goes on after
a kill needs no saved schedule. The cosine ends with the budget; on small text it beats a plateau
rule, whose steps hang on the noise of a small validation split.
"""

import math
from collections.abc import Iterable

from textmill.neural.config import NetworkConfig

FINAL_FRACTION = 0.02


def learning_rate(done: int, config: NetworkConfig, valid_losses: Iterable[float] = ()) -> float:
    """Rate of the step after `done` steps or tokens, whichever `config` counts.

    valid_losses: of the looks so far; plateau multiplies by `decay` for each that was no new best.
    """
    if done < config.warmup:
        return config.learning_rate * (done + 1) / config.warmup
    return config.learning_rate * _fraction(done, config, valid_losses)


def _fraction(done: int, config: NetworkConfig, valid_losses: Iterable[float]) -> float:
    if config.schedule == "cosine":
        progress = (done - config.warmup) / max(config.budget - config.warmup, 1)
        cosine = 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))
        return FINAL_FRACTION + (1 - FINAL_FRACTION) * cosine
    decay = config.decay or 1.0
    if config.schedule == "step":
        return decay ** (done // (config.decay_every or 1))
    if config.schedule == "plateau":
        return decay ** _without_gain(valid_losses)
    return 1.0


def _without_gain(losses: Iterable[float]) -> int:
    """How many are not below all before them; what is no number never is."""
    best, count = math.inf, 0
    for loss in losses:
        if loss < best:
            best = loss
        else:
            count += 1
    return count
