"""Characters: Unicode code points; the line end is `</s>`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.tokenizers.tokenizer import Encoded, flat_text, offsets_of
from textmill.tokenizers.vocabulary import UNKNOWN, Vocabulary, from_counts

SCHEME = "char: Unicode code points"
CODE_POINTS = 0x110000


@dataclass(frozen=True, slots=True)
class CharConfig:
    """Keep characters seen at least `minimum_frequency` times."""

    kind: Literal["char"]
    minimum_frequency: int = 1

    def __post_init__(self) -> None:
        if self.minimum_frequency < 1:
            raise ValueError("minimum_frequency must be 1 or more")


class CharTokenizer:
    """One id a code point, by a table over all code points (4 MB) instead of a dictionary."""

    kind = "char"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._id_of = np.full(CODE_POINTS, UNKNOWN, dtype=vocabulary.dtype)
        known = code_points("".join(vocabulary.tokens.to_pylist()).encode())
        self._id_of[known] = np.arange(len(vocabulary.reserved), len(vocabulary))

    def encode(self, lines: pa.Array) -> Encoded:
        """See `Tokenizer.encode`."""
        points, offsets = split_characters(lines)
        ids = self._id_of[points]
        unknown = points[ids == UNKNOWN]
        texts = pa.array([chr(point) for point in unknown], pa.string())
        return Encoded(ids, offsets, texts, lossy_lines=0)

    def decode(self, ids: Sequence[int]) -> str:
        """Characters one after the other."""
        return "".join(self.vocabulary.id_to_token(int(i)) for i in ids)


def train_characters(lines: pa.Array, config: CharConfig) -> tuple[CharTokenizer, pa.StringArray]:
    """The tokenizer of a training text and the characters that it maps to `<unk>`."""
    points, _ = split_characters(lines)
    counts = np.bincount(points, minlength=1)
    seen = np.flatnonzero(counts)
    vocabulary, dropped = from_counts(
        pa.array([chr(point) for point in seen], pa.string()),
        counts[seen],
        scheme=SCHEME,
        minimum_frequency=config.minimum_frequency,
    )
    return CharTokenizer(vocabulary), dropped


def split_characters(lines: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Flat code points (uint32) of a column of lines, and line offsets."""
    lines = lines.cast(pa.large_string())
    lengths = pc.utf8_length(lines).to_numpy()
    return code_points(flat_text(lines)), offsets_of(lengths)


def code_points(text: bytes) -> np.ndarray:
    """uint32 code points of UTF-8 bytes."""
    return np.frombuffer(text.decode().encode("utf-32-le"), dtype=np.uint32)
