"""What a leaderboard holds, as frozen records: written to JSON as they are and read back.

The JSON is the whole leaderboard, so a command can show it again, with the training times of
this machine beside it, without scoring or drawing bootstrap samples anew.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from textmill.base.errors import UserError
from textmill.scoring.significance import Interval


@dataclass(frozen=True, slots=True)
class Entry:
    """One ranked model. Numbers are of the test split unless the name says otherwise."""

    rank: int
    name: str
    group: str
    kind: str
    tokenizer: str
    tokenizer_fingerprint: str
    bits_per_byte: float
    bits_per_byte_valid: float | None
    behind: Interval | None
    """Bits per byte more than the best model; None where the text is too short to say."""
    bits_per_character: float | None
    perplexity: float | None
    word_perplexity: float | None
    unknown_rate: float
    """Unknown tokens of all tokens."""
    spelling_share: float
    """Nats spent on spelling unknown units, of all nats."""
    parameters: int | None
    ngrams: int | None
    bytes_on_disk: int
    parts: tuple[str, ...]
    """The two models of a mixture, else none."""
    weight: float | None
    """Weight of the first part."""
    adapts: bool
    """Whether it, or a part of it, learns from the test text while it is scored on it."""


@dataclass(frozen=True, slots=True)
class Unranked:
    """A declared model that is not ranked, and why."""

    name: str
    group: str
    reason: str


@dataclass(frozen=True, slots=True)
class Perplexity:
    """A model's perplexity per token, ranked among the models of one tokenization."""

    rank: int
    name: str
    perplexity: float
    perplexity_valid: float | None
    adapts: bool


@dataclass(frozen=True, slots=True)
class Tokenization:
    """The models that share a tokenizer fingerprint: their perplexities are one scale."""

    tokenizer: str
    tokenizer_fingerprint: str
    tokens: int
    unknown_rate: float
    models: tuple[Perplexity, ...]


@dataclass(frozen=True, slots=True)
class SplitFacts:
    """Size of one split of the cleaned text."""

    documents: int
    lines: int
    words: int
    characters: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that the text came in. An archive pinned by its members has no hash of its own."""

    name: str
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Overlap:
    """Shares of the test text that stand in train, and what the corpus allows."""

    unit: str
    n: int
    ngrams: float | None
    lines: float | None
    max: float
    is_contaminated: bool


@dataclass(frozen=True, slots=True)
class Text:
    """The text that every model is scored on, and where it came from."""

    corpus: str
    title: str
    licence: str
    sources: tuple[str, ...]
    files: tuple[SourceFile, ...]
    splits: Mapping[str, SplitFacts]
    overlap: Overlap | None = None
    """None where the cleaning did not measure it."""

    @property
    def is_contaminated(self) -> bool:
        """Whether so much of test stands in train that no score on it can be trusted."""
        return self.overlap is not None and self.overlap.is_contaminated


@dataclass(frozen=True, slots=True)
class Certainty:
    """How the intervals and tests were made: what was drawn, how often, with what confidence."""

    unit: str
    drawn: int
    lines: int | None
    replicates: int
    confidence: float
    seed: int
    flipped: int
    """Disjoint pieces whose labels the permutation tests swap."""
    flips: int
    """Draws of the permutation tests."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ranked models, the better one first: how far apart, and whether chance could do it."""

    first: str
    second: str
    difference: float
    """Bits per byte that `second` needs more than `first`."""
    p: float
    """Of a paired permutation test, two-sided."""
    p_adjusted: float
    """The same, adjusted by Holm for all pairs of the leaderboard."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Every declared model: ranked under one comparison key, or listed with the reason."""

    text: Text
    comparison_key: str
    models: tuple[Entry, ...]
    unranked: tuple[Unranked, ...]
    tokenizations: tuple[Tokenization, ...]
    certainty: Certainty | None
    pairs: tuple[Pair, ...] = ()
    """Every two ranked models in the order of their ranks; empty where the text is too short."""


def to_json(board: Leaderboard) -> str:
    """The leaderboard as JSON with a final line end; no NaN or infinity can occur in it."""
    return json.dumps(asdict(board), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(content: str | bytes, where: str = "reports/leaderboard.json") -> Leaderboard:
    """Read back what `to_json` wrote. Anything else is a UserError that names `where`."""
    try:
        return TypeAdapter(Leaderboard).validate_json(content)
    except ValidationError as error:
        problem: Any = error.errors(include_url=False)[0]
        path = ".".join(str(part) for part in problem["loc"])
        what = f"{path}: {problem['msg']}" if path else problem["msg"]
        raise UserError(
            f"not a leaderboard of this version ({what})",
            where=where,
            next_step="dvc repro compare",
        ) from None
