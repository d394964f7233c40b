"""Choose how a network adapts, on the first quarter of the validation text, and score with it.

With both methods dynamic evaluation is chosen first, then the cache over the states it gives. The
cache's weight is fitted to the quarter by bisection, as a mixture's is.
"""

import itertools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from textmill.adapting.cache import Cache, cache_nats
from textmill.adapting.config import AdaptedConfig, CacheConfig, DynamicConfig
from textmill.adapting.dynamic import gradient_rms, read_dynamically
from textmill.adapting.stream import Scored, read_stream
from textmill.base.errors import UserError
from textmill.base.progress import Progress
from textmill.neural.config import NetworkConfig
from textmill.neural.model import NetworkModel
from textmill.neural.network import Network
from textmill.neural.text import TrainingText
from textmill.scoring.mixture import fit_weight, mix
from textmill.shards.reader import Lines

_log = logging.getLogger(__name__)

GENTLER = "lower dynamic.learning_rates or raise dynamic.epsilon in params.yaml, then: dvc repro"
TUNED_ON = 4
"""One part in so many of the validation text decides."""


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """What was chosen for the cache."""

    window: int
    theta: float
    weight: float


@dataclass(frozen=True, slots=True)
class DynamicSettings:
    """What was chosen for dynamic evaluation."""

    learning_rate: float
    decay: float
    epsilon: float
    segment: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What was chosen; None for a method that is not used."""

    cache: CacheSettings | None
    dynamic: DynamicSettings | None

    def describe(self) -> str:
        """`neural cache (window 2,000, theta 0.3, weight 0.12)`, say."""
        words = []
        if self.dynamic:
            rate, decay = self.dynamic.learning_rate, self.dynamic.decay
            epsilon = self.dynamic.epsilon
            other = "" if epsilon == DynamicConfig().epsilon else f", epsilon {epsilon:g}"
            words.append(f"dynamic evaluation (learning rate {rate:g}, decay {decay:g}{other})")
        if self.cache:
            window, theta, weight = self.cache.window, self.cache.theta, self.cache.weight
            words.append(f"neural cache (window {window:,}, theta {theta:g}, weight {weight:.2f})")
        return " + ".join(words)

    def as_json(self) -> dict[str, Any]:
        """Plain values, for files; methods that are not used are left out."""
        return {name: values for name, values in asdict(self).items() if values is not None}


class Adapting:
    """A trained network and what it adapts by; each split is read from the trained state on."""

    def __init__(self, network: Network, rms: list[Tensor], settings: Settings) -> None:
        self._network = network
        self._rms = rms
        self.settings = settings

    def nats(self, lines: Lines) -> np.ndarray:
        """(T,) float64 nats of every token, each scored before it is learnt from."""
        return self.nats_without_and_with_cache(lines)[1]

    def nats_without_and_with_cache(self, lines: Lines) -> tuple[np.ndarray, np.ndarray]:
        """(T,) float64 nats of the network, dynamic where it is, and as they are with the cache.

        Both from one reading; they are the same where no cache is used.
        """
        chosen = self.settings.cache
        cache = Cache(chosen.window, chosen.theta) if chosen else None
        weight = chosen.weight if chosen else 0.0
        own, found = [np.empty(0)], [np.empty(0)]
        with Progress(len(lines.tokens), "tokens", "adapting") as progress:
            for segment in self.segments(lines):
                nats = segment.nats
                own.append(nats)
                found.append(mix(cache.nats(segment), nats, weight) if cache else nats)
                progress.advance(len(nats))
        return np.concatenate(own), np.concatenate(found)

    def segments(self, lines: Lines) -> Iterator[Scored]:
        """The network's own scores, under dynamic evaluation where it is used."""
        if self.settings.dynamic is None:
            return read_stream(self._network, lines)
        dynamic = asdict(self.settings.dynamic)
        return read_dynamically(self._network, self._rms, lines, **dynamic)


def tune(
    model: NetworkModel, network: NetworkConfig, config: AdaptedConfig, train: Lines, valid: Lines
) -> Adapting:
    """Choose among the values of `config` on the first quarter of `valid`.

    network: how the model was trained. train: where dynamic evaluation takes the gradients' size.
    """
    quarter = first_part(valid, TUNED_ON)
    rms: list[Tensor] = []
    dynamic, cache = None, None
    if config.dynamic:
        text = TrainingText(train, model.vocabulary, network.seed)
        segment = config.dynamic.segment
        rms = gradient_rms(model.network, text, segment=segment, seed=network.seed)
        dynamic = _tune_dynamic(model.network, rms, config.dynamic, quarter)
    if config.cache:
        without = Adapting(model.network, rms, Settings(None, dynamic))
        cache = _tune_cache(list(without.segments(quarter)), config.cache)
    adapting = Adapting(model.network, rms, Settings(cache, dynamic))
    _log.info("adapting by %s", adapting.settings.describe())
    return adapting


def check_whole(nats_T: np.ndarray, size: int) -> None:
    """UserError where the network came apart over the validation text, if not over its beginning.

    size: of the vocabulary; a guess among all its ids is the worst that any model should be.
    """
    mean, guess = float(nats_T.mean()), float(np.log(size))
    if not mean <= guess:
        raise UserError(
            f"over the whole validation text it comes to {mean:.4g} nats a token, and a guess "
            f"among all {size:,} ids to {guess:.4g}",
            where="adapting",
            next_step=GENTLER,
        )


def first_part(lines: Lines, parts: int) -> Lines:
    """The first lines that hold at least one part in `parts` of the tokens."""
    enough = -(-len(lines.tokens) // parts)
    n = int(np.searchsorted(lines.offsets, enough))
    columns = {
        name: getattr(lines, name)[:n]
        for name in ("doc", "n_bytes", "n_characters", "n_words", "n_unknown", "nats_spelling")
    }
    return Lines(tokens=lines.tokens[: lines.offsets[n]], offsets=lines.offsets[: n + 1], **columns)


def _tune_dynamic(
    network: Network, rms: list[Tensor], config: DynamicConfig, lines: Lines
) -> DynamicSettings:
    found = []
    for rate, decay in itertools.product(config.learning_rates, config.decays):
        settings = DynamicSettings(rate, decay, config.epsilon, config.segment)
        segments = read_dynamically(network, rms, lines, **asdict(settings))
        nats = float(np.concatenate([segment.nats for segment in segments]).mean())
        _log.info("learning rate %g, decay %g: %.4f nats a token", rate, decay, nats)
        found.append((nats, settings))
    best = _best(found)
    static = float(np.concatenate([one.nats for one in read_stream(network, lines)]).mean())
    if min(nats for nats, _ in found if np.isfinite(nats)) > static:
        _log.warning(
            "dynamic evaluation makes the network worse than its %.4f nats a token without: "
            "try lower learning_rates, or a larger epsilon, in params.yaml",
            static,
        )
    return best


def _tune_cache(segments: Sequence[Scored], config: CacheConfig) -> CacheSettings:
    static = np.concatenate([segment.nats for segment in segments])
    found = []
    for window, theta in itertools.product(config.windows, config.thetas):
        cached = cache_nats(segments, window, theta)
        weight = fit_weight(cached, static)
        nats = float(mix(cached, static, weight).mean())
        _log.info(
            "window %d, theta %g, weight %.3f: %.4f nats a token", window, theta, weight, nats
        )
        found.append((nats, CacheSettings(window, theta, weight)))
    return _best(found)


def _best(found: list[tuple[float, Any]]) -> Any:
    """The settings with the fewest nats, the first of equals. UserError where none has a number."""
    finite = [one for one in found if np.isfinite(one[0])]
    if not finite:
        raise UserError(
            "no setting that was tried gives the validation text a finite score",
            where="adapting",
            next_step=GENTLER,
        )
    return min(finite, key=lambda one: one[0])[1]
