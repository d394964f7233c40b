"""Bytes: the 256 values that UTF-8 is made of. Nothing is unknown and nothing is lost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from textmill.tokenizers.counting import Text, by_threads
from textmill.tokenizers.strings import flat_bytes
from textmill.tokenizers.tokenizer import Encoded
from textmill.tokenizers.vocabulary import Vocabulary, with_reserved

SCHEME = "byte: UTF-8"
VALUES = 256


@dataclass(frozen=True, slots=True)
class ByteConfig:
    """All 256 byte values, whether the text has them or not, and `reserved` names."""

    kind: Literal["byte"]
    reserved: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        with_reserved(self.reserved)


class ByteTokenizer:
    """One id a byte; a token's text is the byte's name, `<0x41>`."""

    kind = "byte"
    unit = "byte"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        values = [int(token[1:-1], 16) for token in vocabulary.tokens.to_pylist()]
        if sorted(values) != list(range(VALUES)):
            raise ValueError("a vocabulary of bytes holds each of the 256 once")
        self._first = len(vocabulary.reserved)
        self._value_of = np.array(values, dtype=np.uint8)
        self._id_of = np.empty(VALUES, dtype=vocabulary.dtype)
        self._id_of[self._value_of] = np.arange(self._first, len(vocabulary))

    def encode(self, lines: pa.Array) -> Encoded:
        """See `Tokenizer.encode`."""
        data, offsets = flat_bytes(lines)
        return Encoded(self._id_of[data], offsets, pa.array([], pa.string()), lossy_lines=0)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the bytes; reserved ids give nothing.

        A model may write what is not UTF-8: that shows as U+FFFD. Encoded text never does.
        """
        flat = np.asarray(ids, dtype=np.int64)
        values = self._value_of[flat[flat >= self._first] - self._first]
        return values.tobytes().decode(errors="replace")


def train_bytes(text: Text, config: ByteConfig) -> ByteTokenizer:
    """The tokenizer of a training text, which only decides the order of the ids."""
    counts = np.sum(by_threads(text, _count), axis=0)
    order = np.lexsort((np.arange(VALUES), -counts))
    reserved = with_reserved(config.reserved)
    vocabulary = Vocabulary(
        pa.array([f"<0x{value:02X}>" for value in order], pa.string()),
        np.concatenate([np.zeros(len(reserved), np.int64), counts[order]]),
        scheme=SCHEME,
        unknown="none",
        reserved=reserved,
    )
    return ByteTokenizer(vocabulary)


def _count(blocks: Iterator[pa.Array]) -> np.ndarray:
    counts = np.zeros(VALUES, dtype=np.int64)
    for block in blocks:
        counts += np.bincount(flat_bytes(block)[0], minlength=VALUES)
    return counts
