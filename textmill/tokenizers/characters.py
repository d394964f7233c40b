"""Characters: Unicode code points; the line end is `</s>`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from textmill.base.compiled import read_only
from textmill.tokenizers import kernels
from textmill.tokenizers.counting import Text, by_threads
from textmill.tokenizers.strings import blocks_of, flat_bytes
from textmill.tokenizers.tokenizer import Encoded, joined
from textmill.tokenizers.vocabulary import (
    UNKNOWN,
    Vocabulary,
    check_limits,
    from_counts,
    with_reserved,
)

SCHEME = "char: Unicode code points"
CODE_POINTS = 0x110000
_DECODABLE = 0x200000
"""What four bytes can hold, so that no text, however damaged, is looked up outside a table."""


@dataclass(frozen=True, slots=True)
class CharConfig:
    """Keep characters seen at least `minimum_frequency` times, at most `maximum_size` ids."""

    kind: Literal["char"]
    minimum_frequency: int = 1
    maximum_size: int | None = None
    reserved: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_limits(self.minimum_frequency, self.maximum_size, with_reserved(self.reserved))


class CharTokenizer:
    """One id a code point, by a table over all code points instead of a dictionary."""

    kind = "char"
    unit = "char"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        id_of = np.zeros(_DECODABLE, dtype=np.uint32)
        known = code_points("".join(vocabulary.tokens.to_pylist()).encode())
        id_of[known] = np.arange(len(vocabulary.reserved), len(vocabulary))
        self._id_of = read_only(id_of)

    def encode(self, lines: pa.Array) -> Encoded:
        """See `Tokenizer.encode`."""
        return joined([self._encode(block) for block in blocks_of(lines)], self.vocabulary)

    def _encode(self, lines: pa.Array) -> Encoded:
        data, bounds = flat_bytes(lines)
        ids, offsets = np.empty(len(data), np.uint32), np.empty(len(bounds), np.int64)
        ids = ids[: kernels.encode_characters(data, bounds, self._id_of, ids, offsets)]
        unknown = np.flatnonzero(ids == UNKNOWN)
        points = code_points(data.tobytes())[unknown] if len(unknown) else unknown
        ids = ids.astype(self.vocabulary.dtype)
        return Encoded(ids, offsets, _as_strings(points), lossy_lines=0)

    def decode(self, ids: Sequence[int]) -> str:
        """Characters one after the other."""
        return "".join(self.vocabulary.id_to_token(int(i)) for i in ids)


def train_characters(text: Text, config: CharConfig) -> tuple[CharTokenizer, pa.StringArray]:
    """The tokenizer of a training text and the characters that it maps to `<unk>`."""
    parts = by_threads(text, _count)
    counts = np.zeros(max(map(len, parts)), np.int64)
    for part in parts:
        counts[: len(part)] += part
    seen = np.flatnonzero(counts)
    vocabulary, dropped = from_counts(
        _as_strings(seen),
        counts[seen],
        scheme=SCHEME,
        minimum_frequency=config.minimum_frequency,
        maximum_size=config.maximum_size,
        reserved=with_reserved(config.reserved),
    )
    return CharTokenizer(vocabulary), dropped


def _count(blocks: Iterator[pa.Array]) -> np.ndarray:
    """How often each code point occurs, as far as the highest that does."""
    counts = np.zeros(_DECODABLE, dtype=np.int64)
    most = [kernels.count_characters(flat_bytes(block)[0], counts) for block in blocks]
    return counts[: max(most, default=0)]


def code_points(text: bytes) -> np.ndarray:
    """uint32 code points of UTF-8 bytes."""
    return np.frombuffer(text.decode().encode("utf-32-le"), dtype=np.uint32)


def _as_strings(points: np.ndarray) -> pa.StringArray:
    """Code points as a column of one character each."""
    types, rows = np.unique(points, return_inverse=True)
    return pa.array([chr(point) for point in types], pa.string()).take(pa.array(rows))
