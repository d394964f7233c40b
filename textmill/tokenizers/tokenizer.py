"""What every tokenizer gives: ids for a column of lines, and the way back.

A tokenizer maps a line (text without its line end) to one canonical token sequence. There is one
encoder, over a column of lines; one string is a column of one, so training, evaluation and
queries can never split words differently. A line that the ids cannot give back is counted as
lossy, and a model over a lossy tokenization is not compared in bits per byte.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from textmill.base.compiled import read_only
from textmill.tokenizers import kernels
from textmill.tokenizers.strings import as_column, offsets_of
from textmill.tokenizers.vocabulary import END, Vocabulary


@dataclass(frozen=True, slots=True)
class Encoded:
    """Ids of a column of lines, without `<s>` and `</s>`.

    ids: flat, in the vocabulary's dtype. offsets: int64, line i is ids[offsets[i]:offsets[i+1]].
    unknown_texts: what stands behind each `<unk>`, in order.
    lossy_lines: how many lines decode(ids) would not give back, unknown units spelled out.
    """

    ids: np.ndarray
    offsets: np.ndarray
    unknown_texts: pa.StringArray
    lossy_lines: int


class Tokenizer(Protocol):
    """One way to split text."""

    kind: str
    unit: str
    """What an unknown unit is, for the spelling model (a key of its `SEPARATORS`)."""
    vocabulary: Vocabulary

    def encode(self, lines: pa.Array) -> Encoded:
        """Ids of a column of lines (string or large_string)."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The line of a token sequence; reserved ids give their names."""
        ...


def joined(blocks: Sequence[Encoded], vocabulary: Vocabulary) -> Encoded:
    """Blocks of a column, encoded one after the other, as one."""
    lengths = [np.zeros(0, np.int64), *(np.diff(block.offsets) for block in blocks)]
    texts = [pa.array([], pa.string()), *(block.unknown_texts for block in blocks)]
    ids = [np.zeros(0, vocabulary.dtype), *(block.ids for block in blocks)]
    lossy_lines = sum(block.lossy_lines for block in blocks)
    offsets = offsets_of(np.concatenate(lengths))
    return Encoded(np.concatenate(ids), offsets, pa.concat_arrays(texts), lossy_lines)


def encode_line(tokenizer: Tokenizer, line: str) -> list[int]:
    """Ids of one line: a column of one."""
    return tokenizer.encode(as_column([line])).ids.tolist()


def with_line_ends(ids: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put `</s>` at the end of every line of a flat column of ids (uint16 or uint32)."""
    longer = np.empty(len(ids) + len(offsets) - 1, ids.dtype)
    ends = np.empty(len(offsets), np.int64)
    kernels.append_to_lines(read_only(ids), read_only(offsets), END, longer, ends)
    return longer, ends
