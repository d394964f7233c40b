"""What an entry of the group `adapted` says: which network, by which methods, which values to try.

Every value to try is a list; what is best on the first quarter of the validation text is taken, so
a list of one fixes it. This module imports no torch, so that whatever only reads parameters starts
fast.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from textmill.base.errors import UserError

MOST = 1e6
"""No window of tokens, no steepness and no rate is larger."""
LEAST_EPSILON = 1e-6
"""A weight that never had a gradient would leap without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheConfig:
    """Neural cache (Grave, Joulin and Usunier 2016).

    windows: how many tokens back the cache reaches. thetas: how steeply it prefers the tokens that
    came after a similar hidden state; 0 counts them all alike. The cache's weight needs no list: it
    is fitted.
    """

    windows: tuple[int, ...] = (500, 2000)
    thetas: tuple[float, ...] = (0.3, 1.0, 3.0)

    def __post_init__(self) -> None:
        _check_values("windows", self.windows, least=1)
        _check_values("thetas", self.thetas)


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicConfig:
    """Dynamic evaluation (Krause et al. 2017): gradients scaled by their RMS, decay to the start.

    learning_rates: of the step after each segment. decays: how far each step draws the weights back
    to the trained ones. epsilon: what is added to each weight's RMS, in mean RMS; the smaller, the
    more the steps of weights differ. segment: tokens that are scored before they are learnt from
    together.
    """

    learning_rates: tuple[float, ...] = (0.003, 0.02)
    decays: tuple[float, ...] = (0.001,)
    epsilon: float = 100.0
    segment: int = 20

    def __post_init__(self) -> None:
        _check_values("learning_rates", self.learning_rates)
        _check_values("decays", self.decays)
        _check_values("epsilon", (self.epsilon,), least=LEAST_EPSILON)
        _check_values("segment", (self.segment,), least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptedConfig:
    """A trained network that adapts, by a cache, by dynamic evaluation, or by both.

    With both the cache looks at the hidden states of the network as it changes. tokenizer: the
    network's, named again because DVC takes this entry's dependencies from it.
    """

    model: str
    tokenizer: str
    cache: CacheConfig | None = None
    dynamic: DynamicConfig | None = None

    def __post_init__(self) -> None:
        if self.cache is None and self.dynamic is None:
            raise ValueError("it adapts by nothing: give it cache: {} or dynamic: {}, or both")


def check_tokenizer(config: AdaptedConfig, network_tokenizer: str, where: str) -> None:
    """UserError where the entry names another tokenizer than its network's."""
    if config.tokenizer != network_tokenizer:
        raise UserError(
            f"{config.model} is over {network_tokenizer} tokens, not {config.tokenizer}",
            where=where,
            next_step=f"write there: tokenizer: {network_tokenizer}",
        )


def _check_values(name: str, values: Sequence[float], least: float = 0) -> None:
    if not values:
        raise ValueError(f"{name} is empty: give it one value at least")
    for value in values:
        if not (math.isfinite(value) and least <= value <= MOST):
            raise ValueError(f"{name} must lie between {least} and {MOST:.0f}, not {value}")
