"""What defines a network and its training: one frozen object, parsed from an entry of parameters.

Every budget is in steps or tokens, never in seconds, and thread count, processes and precision are
parameters too, so that one machine gives one result. An option belongs to a choice (`window` to
two architectures, `cutoffs` to one head) and is refused beside another one. This module imports no
torch, so that a step which only reads parameters starts fast.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from textmill.neural.options import settled

Architecture = Literal["lstm", "gru", "rnn", "feed_forward", "attention_lstm"]
Implementation = Literal["library", "reference"]
Nonlinearity = Literal["tanh", "relu"]
Head = Literal["full", "chunked", "compiled", "adaptive"]
Optimiser = Literal["adamw", "sgd"]
Schedule = Literal["cosine", "constant", "step", "plateau"]
BatchOrder = Literal["sequential", "random"]
Truncation = Literal["fixed", "variable", "random"]
Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["float32", "bfloat16"]

MOST = 1024
LARGEST_FLOAT = 1e30
LARGEST_INTEGER = (1 << 63) - 1
"""Beyond them float32 overflows and no integer fits 64 bits."""
LARGEST_SIZE = (1 << 31) - 1
DEFAULT_WARMUP = 100
CLUSTER_DIVISOR = 2
"""Each further cluster of an adaptive softmax has half the width of the one before."""
DEFAULT_CUTS = (16, 4)
"""Of so many ids one is in the first cluster, and in the first two: the frequent ones."""
FIRST_CUTOFF = 2
"""The least there is: `<s>`, which is never predicted, belongs to the frequent ids."""
_SIZES = ("embedding", "hidden", "window", "bptt", "batch")

_POSITIVE = (
    "embedding",
    "hidden",
    "layers",
    "window",
    "bptt",
    "batch",
    "learning_rate",
    "clip",
    "steps",
    "tokens",
    "evaluate_every",
    "decay_every",
    "threads",
    "processes",
)
_NOT_NEGATIVE = (
    "activation_penalty",
    "temporal_activation_penalty",
    "weight_decay",
    "warmup",
    "patience",
    "seed",
)
_BELOW_ONE = (
    "dropout",
    "input_dropout",
    "output_dropout",
    "embedding_dropout",
    "weight_drop",
    "momentum",
)
_BETWEEN = ("decay", "continuation", "beta2")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkConfig:
    """A neural language model and how it is trained (docs/networks.md has the formulas).

    tokenizer: name of the tokenizer whose shards it reads.
    architecture: lstm, gru, rnn, feed_forward (Bengio et al. 2003), attention_lstm (an LSTM with
        additive attention over its past states).
    embedding, hidden, layers: sizes; with a tied output and hidden != embedding a projection leads
        to the output.
    implementation: of recurrent layers. reference: the cells of `cells.py`, many times slower.
    nonlinearity: of rnn. window: tokens that feed_forward sees; past states that attention sees.
    dropout: of the embeddings, between layers and before the output, one mask per chunk (Gal and
        Ghahramani 2016, "locked"); input_dropout and output_dropout: of the first and of the last
        of these alone. embedding_dropout: of whole rows of the embedding.
    weight_drop: of recurrent weights. activation_penalty, temporal_activation_penalty: of the last
        layer's outputs and of their steps in time (Merity et al. 2017, alpha and beta).
    head: full softmax; chunked, the same without ever holding all logits; compiled, the same by
        torch.compile; adaptive (Grave et al. 2017) with `cutoffs` between clusters of falling
        frequency; left out, they are at a sixteenth and a quarter of the ids.
    tied: the output shares the embedding's matrix; with the adaptive head both have tables by
        cluster (Baevski and Auli 2019).
    batches: sequential, contiguous columns whose state is carried over; random, windows from
        anywhere with a fresh state.
    bptt, batch: tokens and columns of a chunk. truncation: fixed; variable (around bptt, at most
        10 more, the rate in proportion); random, going on over each end of bptt tokens with
        probability `continuation`, weighted so that the gradient is unbiased.
    optimiser: adamw, whose second moment forgets by `beta2`, or sgd with `momentum`.
    learning_rate: the peak, after `warmup`.
    schedule: cosine down to 2 %; constant; step, times `decay` every `decay_every`; plateau, times
        `decay` after a look without a new best.
    weight_decay: of matrices. clip: largest norm of the gradient.
    steps or tokens: the budget, one of them; warmup, evaluate_every and decay_every count the same.
        warmup is 100 steps by default, or their tokens, but no more than a tenth of all.
    evaluate_every: between looks at the validation split.
    patience: looks without a new best before training stops; 0: never stops early. With patience
        a text that is read through sooner than `evaluate_every` is looked at every epoch.
    init_from, init_from_sha256: folder of a model to begin with, and of its weights.safetensors.
    processes: that share the columns of every chunk. threads: of each of them.
    precision: of the matrix products in training; evaluation is always float32.
    deterministic: CUDA kernels that repeat to the bit, slower ones. A CPU always does.
    """

    tokenizer: str
    architecture: Architecture = "lstm"
    embedding: int
    hidden: int
    layers: int = 1
    implementation: Implementation | None = None
    nonlinearity: Nonlinearity | None = None
    window: int | None = None
    dropout: float = 0.0
    input_dropout: float = cast(float, None)  # `dropout` unless they are given: settled below
    output_dropout: float = cast(float, None)
    embedding_dropout: float = 0.0
    weight_drop: float | None = None
    activation_penalty: float | None = None
    temporal_activation_penalty: float | None = None
    head: Head = "full"
    tied: bool | None = None
    cutoffs: tuple[int, ...] | None = None
    batches: BatchOrder = "sequential"
    bptt: int = 64
    batch: int = 32
    truncation: Truncation | None = None
    continuation: float | None = None
    optimiser: Optimiser = "adamw"
    momentum: float | None = None
    beta2: float | None = None
    learning_rate: float = 2e-3
    schedule: Schedule = "cosine"
    warmup: int = cast(int, None)  # it depends on the budget's unit: settled below
    decay: float | None = None
    decay_every: int | None = None
    weight_decay: float = 0.01
    clip: float = 1.0
    steps: int | None = None
    tokens: int | None = None
    evaluate_every: int
    patience: int = 0
    init_from: str | None = None
    init_from_sha256: str | None = None
    seed: int = 0
    threads: int = 2
    processes: int = 1
    device: Device = "auto"
    precision: Precision = "float32"
    deterministic: bool = False

    def __post_init__(self) -> None:
        for name, value in settled(asdict(self)).items():
            object.__setattr__(self, name, value)
        for name in ("input_dropout", "output_dropout"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self.dropout)
        if cast(int | None, self.warmup) is None:
            object.__setattr__(self, "warmup", self._default_warmup())
        self._check_bounds()
        self._check_cutoffs()
        self._check_budget()
        if self.batch % self.processes:
            raise ValueError(f"batch must be a multiple of processes ({self.processes})")
        if (self.init_from is None) != (self.init_from_sha256 is None):
            raise ValueError("init_from and init_from_sha256 belong together")

    def _default_warmup(self) -> int:
        """Of steps, or the tokens of as many; of those no more than a tenth of all."""
        if self.tokens is None:
            return DEFAULT_WARMUP
        return min(DEFAULT_WARMUP * self.batch * self.bptt, self.tokens // 10)

    @property
    def budget(self) -> int:
        """Steps or tokens, whichever is given."""
        return self.steps or self.tokens or 0

    @property
    def in_tokens(self) -> bool:
        """Whether budget, warm-up, looks and decay count tokens."""
        return self.tokens is not None

    def cutoffs_of(self, size: int) -> tuple[int, ...]:
        """The cutoffs over a vocabulary of `size` ids: those given, or shares of it."""
        if self.cutoffs is not None:
            return self.cutoffs
        least = range(FIRST_CUTOFF, FIRST_CUTOFF + len(DEFAULT_CUTS))
        cuts = [max(size // part, low) for part, low in zip(DEFAULT_CUTS, least, strict=True)]
        return tuple(cut for cut in cuts if cut < size)

    def describe(self) -> str:
        """What the network is, in words."""
        words = {
            "lstm": "LSTM",
            "gru": "GRU",
            "rnn": f"RNN ({self.nonlinearity})",
            "feed_forward": f"feed-forward over {self.window} tokens",
            "attention_lstm": f"LSTM with attention over {self.window} states",
        }
        return f"{words[self.architecture]}, {self.layers} x {self.hidden}"

    def as_json(self) -> Mapping[str, Any]:
        """Plain values, for files and comparison."""
        return {**asdict(self), "cutoffs": list(self.cutoffs) if self.cutoffs else None}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "NetworkConfig":
        """What `as_json` gave."""
        return cls(**{**values, "cutoffs": tuple(values["cutoffs"] or ()) or None})

    def _check(self, name: str, rule: str, holds: Any) -> None:
        value = getattr(self, name)
        if value is not None and not holds(value):
            raise ValueError(f"{name} {rule}, not {value}")

    def _check_bounds(self) -> None:
        for name in _POSITIVE:
            self._check(name, "must be greater than 0", lambda value: value > 0)
        for name in _NOT_NEGATIVE:
            self._check(name, "must not be negative", lambda value: value >= 0)
        for name in _POSITIVE + _NOT_NEGATIVE:
            most = LARGEST_FLOAT if isinstance(getattr(self, name), float) else LARGEST_INTEGER
            self._check(name, f"must be at most {most}", lambda value, most=most: value <= most)
        for name in _BELOW_ONE:
            self._check(name, "must lie in [0, 1)", lambda value: 0 <= value < 1)
        for name in _BETWEEN:
            self._check(name, "must lie between 0 and 1", lambda value: 0 < value < 1)
        for name in _SIZES:
            self._check(name, f"must be at most {LARGEST_SIZE}", lambda n: n <= LARGEST_SIZE)
        for name in ("threads", "processes", "layers"):
            self._check(name, f"must be {MOST} or less", lambda n: n <= MOST)

    def _check_cutoffs(self) -> None:
        if self.head != "adaptive":
            return
        given = self.cutoffs
        if given is not None and (not given or given[0] < 1 or list(given) != sorted({*given})):
            raise ValueError(f"cutoffs must be rising numbers above 0, not {list(given)}")
        cuts = len(DEFAULT_CUTS if given is None else given)
        field = "embedding" if self.tied else "hidden"
        least = CLUSTER_DIVISOR**cuts
        if getattr(self, field) < least:
            raise ValueError(
                f"{field} must be at least {least} with {cuts} cutoffs, not "
                f"{getattr(self, field)}: each cluster of rarer ids halves the width"
            )

    def _check_budget(self) -> None:
        if (self.steps is None) == (self.tokens is None):
            raise ValueError("steps or tokens must be given, one of them")
        unit = "tokens" if self.in_tokens else "steps"
        if self.warmup >= self.budget:
            unset = f" ({DEFAULT_WARMUP} unless it is set)"
            raise ValueError(f"warmup must be less than {unit}, not {self.warmup}{unset}")
        if self.evaluate_every > self.budget:
            raise ValueError(f"evaluate_every must not exceed {unit}, not {self.evaluate_every}")
