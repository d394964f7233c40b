"""From a token column to an n-gram model: count, smooth, assemble.

3 million characters at order 7 or 700,000 subwords at order 5 take a few seconds on one core.
"""

import numpy as np

from textmill.ngram.config import NgramConfig
from textmill.ngram.count import OrderCounts, count_ngrams, sentence_stream
from textmill.ngram.model import NgramModel, OrderTable
from textmill.ngram.smoothing.additive import additive
from textmill.ngram.smoothing.kenlm_compat import flushed_rows
from textmill.ngram.smoothing.kneser_ney import kneser_ney
from textmill.ngram.smoothing.uniform import uniform
from textmill.tokenizers.vocabulary import Vocabulary


def estimate(
    tokens: np.ndarray, offsets: np.ndarray, vocabulary: Vocabulary, config: NgramConfig
) -> NgramModel:
    """Train the model that `config` asks for.

    tokens: flat ids of all lines, without `<s>`, each line ended by `</s>`.
    offsets: where each line begins in tokens, and the end (lines + 1).
    Without lines the result is uniform. Raises UserError where tokens do not fit the vocabulary.
    """
    size = len(vocabulary)
    if config.method == "uniform":
        return NgramModel(vocabulary, config, uniform(size), ngrams=(0,))
    stream = sentence_stream(tokens, offsets, size)
    counts = count_ngrams(stream, size, _useful_order(offsets, config))
    tables, discounts = _smooth(stream, counts, size, config)
    return NgramModel(
        vocabulary,
        config,
        tables,
        ngrams=tuple(table.seen() for table in counts),
        discounts=tuple(tuple(amounts.tolist()) for amounts in discounts),
    )


def _useful_order(offsets: np.ndarray, config: NgramConfig) -> int:
    """The order, but no more than the longest line holds with its `<s>`.

    Beyond that Kneser-Ney has nothing to count and changes nothing: the longest n-grams all begin
    with `<s>`, so they keep their raw counts either way.
    """
    if config.method != "kneser_ney":
        return config.order
    longest = int(np.diff(offsets).max(initial=0))
    return min(config.order, longest + 1)


def _smooth(
    stream: np.ndarray, counts: list[OrderCounts], size: int, config: NgramConfig
) -> tuple[list[OrderTable], list[np.ndarray]]:
    if config.method == "additive":
        assert config.k is not None
        return additive(counts, size, config.k), []
    assert config.event_space is not None
    return kneser_ney(
        counts,
        size,
        event_space=config.event_space,
        interpolate_unigrams=bool(config.interpolate_unigrams),
        slipped_rows=flushed_rows(stream, counts, size) if config.kenlm_compat else (),
    )
