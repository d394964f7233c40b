"""Words with their punctuation split off, so that nothing is lost: not even the spaces.

A token is an optional space and then either a run of characters or one single punctuation mark or
symbol (Unicode's categories P and S). The space before a token belongs to it, and a line counts as
if one stood before it:

    He said, "no."   ->   ` He` ` said` `,` ` "` `no` `.` `"`

So putting tokens together again needs no rule about what a comma sticks to: they are written one
after the other, and the first space is dropped. A space that no other character follows is a
token. Every text comes back, double spaces and all; `don't` is three tokens.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from textmill.tokenizers.characters import CODE_POINTS, code_points
from textmill.tokenizers.counting import Text
from textmill.tokenizers.strings import SPACE, Units, blocks_of, flat_bytes, offsets_of
from textmill.tokenizers.tokenizer import Encoded, joined
from textmill.tokenizers.vocabulary import UNKNOWN, Vocabulary
from textmill.tokenizers.words import WordConfig, learn_vocabulary

SCHEME = (
    f"word: the space before, punctuation and symbols single, Unicode {unicodedata.unidata_version}"
)


class PieceTokenizer:
    """Words and single marks, each with the space before it; lossless on any text."""

    kind = "word"
    unit = "piece"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def encode(self, lines: pa.Array) -> Encoded:
        """See `Tokenizer.encode`."""
        return joined([self._encode(block) for block in blocks_of(lines)], self.vocabulary)

    def _encode(self, lines: pa.Array) -> Encoded:
        pieces, offsets = split_pieces(lines)
        ids = self.vocabulary.ids_of(pieces)
        unknown_texts = pieces.column(ids == UNKNOWN).cast(pa.string())
        return Encoded(ids, offsets, unknown_texts, lossy_lines=0)

    def decode(self, ids: Sequence[int]) -> str:
        """Tokens one after the other, without the space before the line."""
        return "".join(self.vocabulary.id_to_token(list(ids))).removeprefix(" ")


def train_pieces(text: Text, config: WordConfig) -> tuple[PieceTokenizer, pa.StringArray]:
    """The tokenizer of a training text and the pieces that it maps to `<unk>`."""
    vocabulary, dropped = learn_vocabulary(
        text, lambda lines: split_pieces(lines)[0], config, SCHEME
    )
    return PieceTokenizer(vocabulary), dropped


def split_pieces(lines: pa.Array) -> tuple[Units, np.ndarray]:
    """The pieces of a column of lines, and line offsets."""
    data, bounds = _with_space_before(*flat_bytes(lines))
    points, places = _characters(data)
    is_space = points == SPACE
    is_mark = _marks()[points]
    begins = is_space.copy()
    begins[1:] |= is_mark[1:] & ~is_space[:-1]
    begins[1:] |= is_mark[:-1] & ~is_space[1:]
    starts = np.flatnonzero(begins) if places is None else places[begins]
    edges = np.append(starts, len(data))
    return Units(data, edges[:-1], edges[1:]), np.searchsorted(starts, bounds)


def _with_space_before(data: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The bytes with a space before every line that is not empty."""
    lengths = np.diff(bounds)
    longer = offsets_of(lengths + (lengths > 0))
    spaced = np.empty(longer[-1], np.uint8)
    is_text = np.ones(len(spaced), dtype=bool)
    is_text[longer[:-1][lengths > 0]] = False
    spaced[~is_text] = SPACE
    spaced[is_text] = data
    return spaced, longer


def _characters(data: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Code points, and where each begins; None where every byte is one."""
    if len(data) == 0 or int(data.max()) < 0x80:
        return data, None
    return code_points(data.tobytes()), np.flatnonzero((data & 0xC0) != 0x80)


@cache
def _marks() -> np.ndarray:
    """Bool a code point: whether it is punctuation or a symbol."""
    return np.array([unicodedata.category(chr(point))[0] in "PS" for point in range(CODE_POINTS)])
