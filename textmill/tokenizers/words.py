"""Words: runs of characters between spaces (U+0020)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.tokenizers.counting import count_types
from textmill.tokenizers.splitting import split_words
from textmill.tokenizers.strings import blocks_of, offsets_of
from textmill.tokenizers.tokenizer import Encoded, joined
from textmill.tokenizers.vocabulary import UNKNOWN, Vocabulary, from_counts, with_reserved

SCHEME = "word: runs between U+0020"


@dataclass(frozen=True, slots=True)
class WordConfig:
    """Keep words seen at least `minimum_frequency` times, at most `maximum_size` ids in all.

    punctuation: `keep` leaves it on its word; `split` makes each mark a token (see `pieces`).
    reserved: names of further ids that no text can produce.
    """

    kind: Literal["word"]
    minimum_frequency: int = 1
    maximum_size: int | None = None
    punctuation: Literal["keep", "split"] = "keep"
    reserved: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.minimum_frequency < 1:
            raise ValueError("minimum_frequency must be 1 or more")
        names = with_reserved(self.reserved)
        if self.maximum_size is not None and self.maximum_size <= len(names):
            raise ValueError(
                f"maximum_size counts {', '.join(names[:-1])} and {names[-1]}, "
                f"so it must be {len(names) + 1} or more"
            )


class WordTokenizer:
    """Words between spaces; canonical lines (single spaces, none at the ends) are lossless."""

    kind = "word"
    unit = "word"

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def encode(self, lines: pa.Array) -> Encoded:
        """See `Tokenizer.encode`."""
        return joined([self._encode(block) for block in blocks_of(lines)], self.vocabulary)

    def _encode(self, lines: pa.Array) -> Encoded:
        words, offsets = split_words(lines)
        ids = self.vocabulary.ids_of(words)
        unknown_texts = words.filter(pa.array(ids == UNKNOWN)).cast(pa.string())
        return Encoded(ids, offsets, unknown_texts, _lossy_lines(lines, words, offsets))

    def decode(self, ids: Sequence[int]) -> str:
        """Words joined by one space."""
        return " ".join(self.vocabulary.id_to_token(int(i)) for i in ids)


def train_words(lines: pa.Array, config: WordConfig) -> tuple[WordTokenizer, pa.StringArray]:
    """The tokenizer of a training text and the words that it maps to `<unk>`."""
    words = (split_words(block)[0] for block in blocks_of(lines))
    vocabulary, dropped = learn_vocabulary(words, config, SCHEME)
    return WordTokenizer(vocabulary), dropped


def learn_vocabulary(
    tokens: Iterable[pa.Array], config: WordConfig, scheme: str
) -> tuple[Vocabulary, pa.StringArray]:
    """The vocabulary of a running text, given in pieces, and the types that it leaves out."""
    return from_counts(
        *count_types(tokens),
        scheme=scheme,
        minimum_frequency=config.minimum_frequency,
        maximum_size=config.maximum_size,
        reserved=with_reserved(config.reserved),
    )


def _lossy_lines(lines: pa.Array, words: pa.Array, offsets: np.ndarray) -> int:
    """Lines whose bytes are not those of their words and single spaces between them."""
    word_bytes = offsets_of(pc.binary_length(words).to_numpy())
    n_words = np.diff(offsets)
    expected = np.diff(word_bytes[offsets]) + np.maximum(n_words - 1, 0)
    return int(np.sum(expected != pc.binary_length(lines).to_numpy()))
