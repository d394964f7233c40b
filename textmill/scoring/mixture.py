"""Linear mixture of two models over one tokenization, from their scores alone.

p(w|h) = weight * p1(w|h) + (1 - weight) * p2(w|h). What each model gave every token is in its
scores, so neither model is run again. The weight is fitted by expectation maximisation on the
validation split, whose likelihood is concave in it.
"""

import numpy as np

TOLERANCE = 1e-9
MOST_ROUNDS = 1000


def mix(first: np.ndarray, second: np.ndarray, weight: float) -> np.ndarray:
    """(T,) nats of the mixture from the (T,) nats of both; `weight` belongs to the first."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(weight), np.log1p(-weight)
    return -np.logaddexp(log_weights[0] - first, log_weights[1] - second)


def fit_weight(first: np.ndarray, second: np.ndarray) -> float:
    """The weight of the first model that gives these tokens the fewest nats (EM from 1/2)."""
    weight = 0.5
    for _ in range(MOST_ROUNDS):
        mixed = mix(first, second, weight)
        possible = np.isfinite(mixed)
        responsibility = weight * np.exp(mixed[possible] - first[possible])
        updated = float(responsibility.mean())
        if abs(updated - weight) < TOLERANCE:
            return updated
        weight = updated
    return weight
