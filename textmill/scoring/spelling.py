"""What an unknown unit costs: a model of how strings outside the vocabulary are spelled.

A closed vocabulary gives `<unk>` a probability, which says only "some string outside V". To pay
for the text itself, P(w|h) = P(unk|h) * q(w), with q(w) = q0(w) / (1 - sum of q0 over the
ordinary tokens of V). q0 is a character n-gram model with an end symbol over the non-empty
strings of Unicode scalar values without a separator; a character that it has never seen gets its
share of the unknown character's mass, spread evenly over all such scalar values.

For a character tokenizer the strings have length one: the end symbol costs nothing and only the
line feed is a separator. Source: the definitions in docs/scoring.md.
"""

import logging
import math
from pathlib import Path

import numpy as np
import pyarrow as pa

from textmill.base.files import read_sealed, write_sealed
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.model import NgramModel
from textmill.ngram.smoothing.discounts import notices_for_debugging
from textmill.ngram.storage import load as load_ngram
from textmill.ngram.storage import save as save_ngram
from textmill.scoring.protocol import LanguageModel
from textmill.scoring.units import sums_by_line
from textmill.tokenizers import store
from textmill.tokenizers.characters import CharConfig, CharTokenizer, train_characters
from textmill.tokenizers.tokenizer import with_line_ends
from textmill.tokenizers.vocabulary import END, UNKNOWN, Vocabulary

_log = logging.getLogger(__name__)

SCALAR_VALUES = 0x110000 - 0x800
"""Unicode code points without the surrogates."""
ORDER = 5
SEPARATORS = {"word": 2, "piece": 1, "char": 1}
"""Space and line feed part words; the line feed alone parts characters, and pieces of words, which
hold the space before them."""


class Spelling:
    """q over the strings outside a vocabulary."""

    def __init__(self, tokenizer: CharTokenizer, model: NgramModel, kind: str) -> None:
        self._tokenizer = tokenizer
        self._model = model
        self._kind = kind
        self._log_outside = 0.0
        self._log_non_empty = _log_non_empty(model)
        unseen = SCALAR_VALUES - SEPARATORS[kind] - len(tokenizer.vocabulary.tokens)
        self._nats_to_choose_unseen = math.log(unseen)

    def close(self, vocabulary: Vocabulary) -> None:
        """Take the mass of the ordinary tokens of `vocabulary` away from q0."""
        inside = math.fsum(np.exp(-self.q0_nats(vocabulary.tokens)))
        self._log_outside = math.log1p(-inside)

    def nats(self, texts: pa.StringArray) -> np.ndarray:
        """Nats, -ln q of each of a column of unknown texts, float64; each type is scored once."""
        encoded = texts.dictionary_encode()
        types = self.q0_nats(encoded.dictionary) + self._log_outside
        return types[encoded.indices.to_numpy(zero_copy_only=False)]

    def q0_nats(self, texts: pa.StringArray) -> np.ndarray:
        """Nats, -ln q0 of each text, float64."""
        if len(texts) == 0:
            return np.zeros(0)
        encoded = self._tokenizer.encode(texts.cast(pa.large_string()))
        ids, offsets = with_line_ends(encoded.ids, encoded.offsets)
        nats, _ = self._model.score(ids[None, :], self._model.start(1))
        nats[0] += np.where(ids == UNKNOWN, self._nats_to_choose_unseen, 0.0)
        if self._kind == "char":
            nats[0, offsets[1:] - 1] = 0.0
        return sums_by_line(nats[0], offsets) + self._log_non_empty

    def save(self, folder: Path) -> None:
        """Write the model into `folder`, which is made."""
        folder.mkdir()
        store.save(self._tokenizer, CharConfig("char"), folder)
        save_ngram(self._model, folder / "model")
        content = {"kind": self._kind, "log_outside": self._log_outside}
        write_sealed(folder / "spelling.json", content)


def train_spelling(types: list[str], vocabulary: Vocabulary, kind: str) -> Spelling:
    """Learn from the types that training maps to `<unk>`, or else from the tokens of count one.

    kind: `word`, `piece` or `char`, what the unknown units are.
    """
    singletons = vocabulary.tokens.filter(
        pa.array(vocabulary.counts[len(vocabulary.reserved) :] == 1)
    )
    texts = pa.array(types, pa.large_string()) if types else singletons.cast(pa.large_string())
    _log.info("learning to spell unknown %ss from %s types", kind, f"{len(texts):,}")
    tokenizer, _ = train_characters(texts, CharConfig("char"))
    encoded = tokenizer.encode(texts)
    ids, offsets = with_line_ends(encoded.ids, encoded.offsets)
    order = 2 if kind == "char" else ORDER
    config = NgramConfig(tokenizer="char", method="kneser_ney", order=order)
    with notices_for_debugging():
        model = estimate(ids, offsets, tokenizer.vocabulary, config)
    spelling = Spelling(tokenizer, model, kind)
    spelling.close(vocabulary)
    return spelling


def load_spelling(folder: Path) -> Spelling:
    """Read what `Spelling.save` wrote."""
    about = read_sealed(folder / "spelling.json", "kind", "log_outside")
    tokenizer = store.load(folder)
    assert isinstance(tokenizer, CharTokenizer)
    spelling = Spelling(
        tokenizer, load_ngram(folder / "model", tokenizer.vocabulary), about["kind"]
    )
    spelling._log_outside = about["log_outside"]
    return spelling


def no_bill(texts: pa.StringArray) -> np.ndarray:
    """For a tokenizer without unknown units."""
    if len(texts):
        raise ValueError("a tokenizer with byte fallback has no unknown units")
    return np.zeros(0)


def _log_non_empty(model: LanguageModel) -> float:
    """The ln of the mass of the non-empty strings: all but the end symbol in first place."""
    return math.log1p(-math.exp(model.distribution(model.start(1))[0, END]))
