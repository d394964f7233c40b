"""Two models as one that can be asked for everything: the linear mixture, and the log-linear one.

    linear       p(w|h) = weight p1(w|h) + (1 - weight) p2(w|h)
    log-linear   p(w|h) = p1(w|h)^l1 p2(w|h)^l2 ... / Z(h)

The first needs nothing but what each model gave the token, so the pipeline mixes scores (`mixture`)
and this class serves who asks for more, generation say. Z of the second is a sum over the whole
vocabulary after every history: it costs as much as both models' distributions.

Shapes: K models, B streams, T tokens, V ids.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from textmill.base.errors import UserError
from textmill.scoring.comparison import SCORES_ONLY
from textmill.scoring.mixture import mix
from textmill.scoring.protocol import LanguageModel
from textmill.tokenizers.vocabulary import Vocabulary

States = tuple[Any, ...]


class LinearMixture:
    """A language model of two; `weight` belongs to the first, between 0 and 1."""

    def __init__(self, first: LanguageModel, second: LanguageModel, weight: float) -> None:
        if not 0 <= weight <= 1:
            raise ValueError(f"weight must be between 0 and 1, not {weight}")
        self.vocabulary = vocabulary_of_mixed((first, second))
        self._models = first, second
        self._weight = weight

    def start(self, n: int) -> States:
        """State of n streams at the start of a document."""
        return start(self._models, n)

    def score(self, ids_BT: np.ndarray, state: States) -> tuple[np.ndarray, States]:
        """(B, T) float64 nats, and the state after."""
        nats, after = zip(
            *(model.score(ids_BT, own) for model, own in zip(self._models, state, strict=True)),
            strict=True,
        )
        return mix(nats[0], nats[1], self._weight), after

    def distribution(self, state: States) -> np.ndarray:
        """(B, V) float64 ln p of the next id."""
        first, second = distributions(self._models, state)
        return -mix(-first, -second, self._weight)


class LogLinearMixture:
    """A language model of several; weights are exponents, 0 or more and not all 0."""

    def __init__(self, models: Sequence[LanguageModel], weights: Sequence[float]) -> None:
        given = np.asarray(weights, np.float64)
        if given.shape != (len(models),):
            raise ValueError(f"{len(models)} models need as many weights, not {len(given)}")
        if not (np.all(np.isfinite(given)) and np.all(given >= 0) and given.any()):
            raise ValueError(f"weights must be 0 or more and not all 0, not {given.tolist()}")
        self.vocabulary = vocabulary_of_mixed(models)
        self._models = tuple(models)
        self._weights_K = given

    def start(self, n: int) -> States:
        """State of n streams at the start of a document."""
        return start(self._models, n)

    def score(self, ids_BT: np.ndarray, state: States) -> tuple[np.ndarray, States]:
        """(B, T) float64 nats, and the state after; a whole distribution a token."""
        streams = np.arange(len(ids_BT))
        nats_BT = np.empty(ids_BT.shape, np.float64)
        for t in range(ids_BT.shape[1]):
            log_p_BV = self.distribution(state)
            nats_BT[:, t] = -log_p_BV[streams, ids_BT[:, t]]
            state = advance(self._models, ids_BT[:, t], state)
        return nats_BT, state

    def distribution(self, state: States) -> np.ndarray:
        """(B, V) float64 ln p of the next id.

        UserError after a history that leaves no id possible to every model of a weight above 0.
        """
        raised_BV = raised(distributions(self._models, state), self._weights_K)
        log_sums_B = log_sum(raised_BV)
        if np.any(log_sums_B == -np.inf):
            raise UserError(
                "after some history no word is possible to all of the models that are mixed",
                next_step="mix smoothed models, which give every word a probability",
            )
        return raised_BV - log_sums_B[:, None]


def vocabulary_of_mixed(models: Sequence[LanguageModel]) -> Vocabulary:
    """The vocabulary of all the models.

    UserError where they have not one and the same, or where one gives no probabilities.
    """
    if not all(getattr(model, "gives_probabilities", True) for model in models):
        raise UserError(
            f"one of the models cannot be mixed: {SCORES_ONLY}",
            next_step="choose models of another method than stupid_backoff",
        )
    first, *others = (model.vocabulary for model in models)
    if any(other.fingerprint != first.fingerprint for other in others):
        sizes = ", ".join(f"{len(model.vocabulary):,}" for model in models)
        raise UserError(
            f"the models have different vocabularies (of {sizes} ids), so they cannot be mixed",
            next_step="choose models over one tokenizer, or give read_arpa the other's vocabulary",
        )
    return first


def start(models: Sequence[LanguageModel], n: int) -> States:
    """States of n streams at the start of a document."""
    return tuple(model.start(n) for model in models)


def advance(models: Sequence[LanguageModel], ids_B: np.ndarray, states: States) -> States:
    """States after one more id a stream; of more streams the first B go on."""
    ids_B1 = ids_B[:, None]
    return tuple(model.score(ids_B1, own)[1] for model, own in zip(models, states, strict=True))


def distributions(models: Sequence[LanguageModel], states: States) -> np.ndarray:
    """(K, B, V) ln p of the next id by each model."""
    return np.stack([model.distribution(own) for model, own in zip(models, states, strict=True)])


def raised(log_p_KBV: np.ndarray, weights_K: np.ndarray) -> np.ndarray:
    """(B, V) the weighted sum of logarithms; a weight of 0 leaves its model out, as 0^0 is 1."""
    used = weights_K > 0
    return np.tensordot(weights_K[used], log_p_KBV[used], axes=1)


def log_sum(log_BV: np.ndarray) -> np.ndarray:
    """(B,) ln of the sum of exponentials; -inf where there is nothing to add up."""
    largest_B = log_BV.max(axis=-1)
    shift_B = np.where(np.isfinite(largest_B), largest_B, 0.0)
    with np.errstate(divide="ignore"):
        sums_B: np.ndarray = np.log(np.exp(log_BV - shift_B[:, None]).sum(axis=-1)) + shift_B
    return sums_B
