"""What defines a network and its training: one frozen object, parsed from an entry of parameters.

Every budget is in steps (one step: `batch` columns of `bptt` tokens), never in seconds, and the
thread count and the precision are parameters too, so that one machine gives one result. There is
an option only where small data needs it: regularisation decides there, not size. This module
imports no torch, so that a step which only reads parameters starts fast.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["float32", "bfloat16"]

MOST_THREADS = 1024
LARGEST_FLOAT = 1e30
LARGEST_INTEGER = (1 << 63) - 1
"""Beyond them float32 overflows and no integer fits 64 bits."""

_POSITIVE = (
    "embedding",
    "hidden",
    "layers",
    "bptt",
    "batch",
    "learning_rate",
    "clip",
    "steps",
    "evaluate_every",
    "threads",
)
_NOT_NEGATIVE = ("weight_decay", "warmup", "patience", "seed")
_DROPOUTS = ("dropout", "embedding_dropout")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkConfig:
    """An LSTM language model with tied output, and how it is trained.

    tokenizer: name of the tokenizer whose shards it reads.
    embedding, hidden, layers: sizes; with hidden != embedding a projection leads to the output.
    dropout: of the embeddings, between layers and before the output, one mask per chunk (Gal and
        Ghahramani 2016, "locked"). embedding_dropout: of whole rows of the embedding.
    bptt, batch: tokens and columns of a chunk; state is carried over, gradients are not.
    learning_rate: the peak, after `warmup` steps; a cosine leads from there to 2 % at `steps`.
    weight_decay: of matrices, decoupled (AdamW). clip: largest norm of the gradient.
    evaluate_every: steps between looks at the validation split.
    patience: looks without a new best before training stops; 0: never stops early. With patience
        a text that is read through in fewer steps than `evaluate_every` is looked at every epoch.
    precision: of the matrix products in training; evaluation is always float32.
    """

    tokenizer: str
    embedding: int
    hidden: int
    layers: int = 1
    dropout: float = 0.0
    embedding_dropout: float = 0.0
    bptt: int = 64
    batch: int = 32
    learning_rate: float = 2e-3
    warmup: int = 100
    weight_decay: float = 0.01
    clip: float = 1.0
    steps: int
    evaluate_every: int
    patience: int = 0
    seed: int = 0
    threads: int = 2
    device: Device = "auto"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        for name in _POSITIVE:
            _check(getattr(self, name) > 0, name, "must be greater than 0", getattr(self, name))
        for name in _NOT_NEGATIVE:
            _check(getattr(self, name) >= 0, name, "must not be negative", getattr(self, name))
        for name in _DROPOUTS:
            _check(0 <= getattr(self, name) < 1, name, "must lie in [0, 1)", getattr(self, name))
        for name in _POSITIVE + _NOT_NEGATIVE:
            value = getattr(self, name)
            most = LARGEST_FLOAT if isinstance(value, float) else LARGEST_INTEGER
            _check(value <= most, name, f"must be at most {most}", value)
        _check(
            self.threads <= MOST_THREADS, "threads", f"must be {MOST_THREADS} or less", self.threads
        )
        _check(self.warmup < self.steps, "warmup", "must be less than steps", self.warmup)
        _check(
            self.evaluate_every <= self.steps,
            "evaluate_every",
            "must not exceed steps",
            self.evaluate_every,
        )

    def describe(self) -> str:
        """What the network is, in words."""
        return f"LSTM, {self.layers} x {self.hidden}"

    def as_json(self) -> Mapping[str, Any]:
        """Plain values, for files and comparison."""
        return asdict(self)


def _check(holds: bool, name: str, rule: str, value: object) -> None:
    if not holds:
        raise ValueError(f"{name} {rule}, not {value}")
