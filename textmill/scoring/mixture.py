"""Linear mixture of two models over one tokenization, from their scores alone.

p(w|h) = weight * p1(w|h) + (1 - weight) * p2(w|h). What each model gave every token is in its
scores, so neither model is run again. The weight is fitted on the validation split, whose
likelihood is concave in it.
"""

import numpy as np

HALVINGS = 40
"""Of the interval in which the weight lies: to 1e-12."""


def mix(first: np.ndarray, second: np.ndarray, weight: float) -> np.ndarray:
    """(T,) nats of the mixture from the (T,) nats of both; `weight` belongs to the first."""
    with np.errstate(divide="ignore"):
        log_weights = np.log(weight), np.log1p(-weight)
    return -np.logaddexp(log_weights[0] - first, log_weights[1] - second)


def fit_weight(first: np.ndarray, second: np.ndarray) -> float:
    """The weight of the first model that gives these tokens the fewest nats.

    Found by bisection: the slope of the likelihood never rises. Tokens that neither model can give
    are left out; ValueError where that are all of them.
    """
    possible = np.isfinite(np.minimum(first, second))
    if not possible.any():
        raise ValueError("neither model can give any of the tokens")
    first, second = first[possible], second[possible]
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        weight = (low + high) / 2
        mixed = mix(first, second, weight)
        if np.sum(np.exp(mixed - first) - np.exp(mixed - second)) > 0:
            low = weight
        else:
            high = weight
    return (low + high) / 2
