"""The learning rate by step: a linear warm-up, then half a cosine down to 2 % of the peak.

A function of the step alone, so a run that goes on after a kill needs no saved schedule. The
cosine ends with the budget; on small text it beats a plateau rule, whose steps hang on the noise
of a small validation split.
"""

import math

FINAL_FRACTION = 0.02


def learning_rate(step: int, *, peak: float, warmup: int, steps: int) -> float:
    """Rate of step `step`, counted from 0."""
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(steps - warmup, 1)
    cosine = 0.5 * (1 + math.cos(math.pi * progress))
    return peak * (FINAL_FRACTION + (1 - FINAL_FRACTION) * cosine)
