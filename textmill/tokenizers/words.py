"""Words: runs of characters between spaces (U+0020)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from textmill.tokenizers.counting import Text, count_types
from textmill.tokenizers.splitting import split_words
from textmill.tokenizers.strings import Units, blocks_of
from textmill.tokenizers.tokenizer import Encoded, joined
from textmill.tokenizers.vocabulary import (
    UNKNOWN,
    Vocabulary,
    check_limits,
    from_counts,
    with_reserved,
)

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
        check_limits(self.minimum_frequency, self.maximum_size, with_reserved(self.reserved))


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
        words = split_words(lines)
        ids = self.vocabulary.ids_of(words.units)
        unknown_texts = words.units.column(ids == UNKNOWN).cast(pa.string())
        return Encoded(ids, words.offsets, unknown_texts, words.lossy_lines)

    def decode(self, ids: Sequence[int]) -> str:
        """Words joined by one space."""
        return " ".join(self.vocabulary.id_to_token(int(i)) for i in ids)


def train_words(text: Text, config: WordConfig) -> tuple[WordTokenizer, pa.StringArray]:
    """The tokenizer of a training text and the words that it maps to `<unk>`."""
    vocabulary, dropped = learn_vocabulary(
        text, lambda lines: split_words(lines).units, config, SCHEME
    )
    return WordTokenizer(vocabulary), dropped


def learn_vocabulary(
    text: Text, split: Callable[[pa.Array], Units], config: WordConfig, scheme: str
) -> tuple[Vocabulary, pa.StringArray]:
    """The vocabulary of a training text's tokens, and the types that it leaves out."""
    return from_counts(
        *count_types(text, split),
        scheme=scheme,
        minimum_frequency=config.minimum_frequency,
        maximum_size=config.maximum_size,
        reserved=with_reserved(config.reserved),
    )
