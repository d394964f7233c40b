"""A word corpus as the token columns that estimation takes, and a model trained on it."""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pytest

from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.model import NgramModel
from textmill.tokenizers.tokenizer import with_line_ends
from textmill.tokenizers.vocabulary import Vocabulary
from textmill.tokenizers.words import WordConfig, WordTokenizer, train_words

Encoded = tuple[np.ndarray, np.ndarray, Vocabulary]


def encode_lines(lines: Iterable[str], vocabulary: Vocabulary | None = None) -> Encoded:
    column = pa.array(lines, pa.large_string())
    if vocabulary is None:
        tokenizer, _ = train_words(column, WordConfig("word"))
    else:
        tokenizer = WordTokenizer(vocabulary)
    encoded = tokenizer.encode(column)
    return *with_line_ends(encoded.ids, encoded.offsets), tokenizer.vocabulary


def train_model(
    lines: Iterable[str], vocabulary: Vocabulary | None = None, **options: object
) -> NgramModel:
    config = NgramConfig(tokenizer="word", **options)
    *text, vocabulary = encode_lines(lines, vocabulary)
    if not config.sentence_boundaries:
        text[1] = text[1][[0, -1]]
    return estimate(*text, vocabulary, config, held_out=tuple(text))


@pytest.fixture(scope="session")
def encode() -> Callable[..., Encoded]:
    """encode(lines, vocabulary=None) -> tokens, offsets, vocabulary."""
    return encode_lines


@pytest.fixture(scope="session")
def train() -> Callable[..., NgramModel]:
    """train(lines, vocabulary=None, method=..., ...) -> model; the lines give the vocabulary."""
    return train_model


@pytest.fixture(scope="session")
def probability() -> Callable[..., float]:
    """probability(model, "b", "a") -> p(b | <s> a); the history may hold `</s>`."""

    def lookup(model: NgramModel, word: str, history: str = "") -> float:
        ids = {model.vocabulary.id_to_token(i): i for i in range(len(model.vocabulary))}
        stream = np.array([[ids.get(token, 0) for token in [*history.split(), word]]])
        nats, _ = model.score(stream, model.start(1))
        return float(np.exp(-nats[0, -1]))

    return lookup
