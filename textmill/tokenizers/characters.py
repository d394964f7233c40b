"""Characters: Unicode code points; the line end is `</s>`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.tokenizers.strings import flat_bytes, offsets_of
from textmill.tokenizers.tokenizer import Encoded
from textmill.tokenizers.vocabulary import UNKNOWN, Vocabulary, from_counts, with_reserved

SCHEME = "char: Unicode code points"
CODE_POINTS = 0x110000
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class CharConfig:
    """Keep characters seen at least `minimum_frequency` times."""

    kind: Literal["char"]
    minimum_frequency: int = 1
    reserved: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.minimum_frequency < 1:
            raise ValueError("minimum_frequency must be 1 or more")
        with_reserved(self.reserved)


class CharTokenizer:
    """One id a code point, by a table over all code points (4 MB) instead of a dictionary."""

    kind = "char"
    unit = "char"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._id_of = np.full(CODE_POINTS, UNKNOWN, dtype=vocabulary.dtype)
        known = code_points("".join(vocabulary.tokens.to_pylist()).encode())
        self._id_of[known] = np.arange(len(vocabulary.reserved), len(vocabulary))

    def encode(self, lines: pa.Array) -> Encoded:
        """See `Tokenizer.encode`."""
        offsets = character_offsets(lines)
        ids = np.empty(offsets[-1], dtype=self.vocabulary.dtype)
        filled, unknown = 0, [np.zeros(0, np.uint32)]
        for points in blocks_of_code_points(lines):
            block = self._id_of[points]
            ids[filled : filled + len(points)] = block
            filled += len(points)
            unknown.append(points[block == UNKNOWN])
        return Encoded(ids, offsets, _as_strings(np.concatenate(unknown)), lossy_lines=0)

    def decode(self, ids: Sequence[int]) -> str:
        """Characters one after the other."""
        return "".join(self.vocabulary.id_to_token(int(i)) for i in ids)


def train_characters(lines: pa.Array, config: CharConfig) -> tuple[CharTokenizer, pa.StringArray]:
    """The tokenizer of a training text and the characters that it maps to `<unk>`."""
    counts = np.zeros(CODE_POINTS, dtype=np.int64)
    for points in blocks_of_code_points(lines):
        found = np.bincount(points)
        counts[: len(found)] += found
    seen = np.flatnonzero(counts)
    vocabulary, dropped = from_counts(
        _as_strings(seen),
        counts[seen],
        scheme=SCHEME,
        minimum_frequency=config.minimum_frequency,
        reserved=with_reserved(config.reserved),
    )
    return CharTokenizer(vocabulary), dropped


def character_offsets(lines: pa.Array) -> np.ndarray:
    """int64 offsets of a column of lines in code points."""
    return offsets_of(pc.utf8_length(lines).to_numpy())


def blocks_of_code_points(lines: pa.Array) -> Iterator[np.ndarray]:
    """The code points (uint8, or uint32 where one is not ASCII) of all lines, in blocks.

    A block is at most `BLOCK` bytes of text, so that memory does not grow with the text.
    """
    data, _ = flat_bytes(lines)
    start = 0
    while start < len(data):
        stop = min(start + BLOCK, len(data))
        while stop < len(data) and data[stop] & 0xC0 == 0x80:  # never inside a character
            stop -= 1
        block = data[start:stop]
        yield block if int(block.max()) < 0x80 else code_points(block.tobytes())
        start = stop


def code_points(text: bytes) -> np.ndarray:
    """uint32 code points of UTF-8 bytes."""
    return np.frombuffer(text.decode().encode("utf-32-le"), dtype=np.uint32)


def _as_strings(points: np.ndarray) -> pa.StringArray:
    """Code points as a column of one character each."""
    types, rows = np.unique(points, return_inverse=True)
    return pa.array([chr(point) for point in types], pa.string()).take(pa.array(rows))
