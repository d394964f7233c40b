"""From a token column to an n-gram model: count, smooth, prune, pack.

What it costs stands in docs/ngrams.md, measured by benchmarks/ngram.py.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from textmill.base.errors import UserError
from textmill.ngram.config import IMPORTED, LEAST_MEMORY, NgramConfig
from textmill.ngram.count import OrderCounts, count_ngrams, sentence_stream
from textmill.ngram.memory import free
from textmill.ngram.model import NgramModel
from textmill.ngram.positions import rows_of_orders
from textmill.ngram.prune import prune
from textmill.ngram.scratch import Scratch, fits, piece_size
from textmill.ngram.smoothing.absolute import absolute_discounting
from textmill.ngram.smoothing.additive import additive
from textmill.ngram.smoothing.good_turing import good_turing
from textmill.ngram.smoothing.interpolation import Unigrams
from textmill.ngram.smoothing.jelinek_mercer import fit_weights, jelinek_mercer
from textmill.ngram.smoothing.kenlm_compat import flushed_rows
from textmill.ngram.smoothing.kneser_ney import kneser_ney
from textmill.ngram.smoothing.stupid_backoff import stupid_backoff
from textmill.ngram.smoothing.uniform import uniform
from textmill.ngram.smoothing.witten_bell import witten_bell
from textmill.ngram.storage import About, save_orders
from textmill.ngram.tables import OrderTable, PackedOrder, held, pack
from textmill.ngram.threads import THREADS
from textmill.tokenizers.vocabulary import Vocabulary

SHARE_OF_FREE = 0.8
"""Of the free memory; the rest is for what else the process holds."""

_log = logging.getLogger(__name__)

Text = tuple[np.ndarray, np.ndarray]
"""Flat ids of all lines, each ended by `</s>`, and where each line begins, and the end."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A text's counts, and what a method may ask for besides.

    stream: of `sentence_stream`; held_out: likewise of the validation text, or None.
    """

    size: int
    counts: list[OrderCounts]
    stream: np.ndarray
    held_out: np.ndarray | None
    scratch: Scratch


def estimate(
    tokens: np.ndarray,
    offsets: np.ndarray,
    vocabulary: Vocabulary,
    config: NgramConfig,
    *,
    held_out: Text | None = None,
) -> NgramModel:
    """Train the model that `config` asks for, in memory.

    tokens: flat ids of all lines, without `<s>`, each line ended by `</s>`.
    offsets: where each line begins in tokens, and the end (lines + 1); where `config` knows no
    sentence boundaries, each document.
    held_out: the same of the validation text, which jelinek_mercer fits its weights on.
    Without lines the result is uniform. Raises UserError where tokens do not fit the vocabulary.
    """
    orders, about = _estimated((tokens, offsets), vocabulary, config, held_out, Scratch())
    return _in_memory(list(orders), about)


def estimate_to(
    folder: Path,
    text: Text,
    vocabulary: Vocabulary,
    config: NgramConfig,
    *,
    scratch: Path,
    held_out: Text | None = None,
) -> None:
    """The same straight to a model's folder, an order at a time.

    scratch: a folder for long arrays, where they would take more than `config.memory_limit`; it is
    emptied before and removed after.
    """
    positions = len(text[0]) + len(text[1]) - 1
    order = useful_order(text[1], config.order)
    config = _within_what_is_free(config, positions, order)
    in_memory = fits(positions, order, config.memory_limit)
    with Scratch(None if in_memory else scratch) as place:
        orders, about = _estimated(text, vocabulary, config, held_out, place)
        save_orders(orders, about, folder)


def _within_what_is_free(config: NgramConfig, positions: int, order: int) -> NgramConfig:
    """Work in pieces where the memory that may be taken is not there; the model is the same."""
    there = max(SHARE_OF_FREE * free(), LEAST_MEMORY)
    if not fits(positions, order, config.memory_limit) or fits(positions, order, there):
        return replace(config, memory_limit=min(config.memory_limit, there))
    _log.warning(
        "memory_limit is %s bytes, and %s are free here: working in pieces within those",
        f"{config.memory_limit:,.0f}",
        f"{there:,.0f}",
    )
    return replace(config, memory_limit=there)


def _estimated(
    text: Text,
    vocabulary: Vocabulary,
    config: NgramConfig,
    held_out: Text | None,
    scratch: Scratch,
) -> tuple[Iterator[PackedOrder], About]:
    size = len(vocabulary)
    if config.method == IMPORTED:
        raise ValueError("what was read from an ARPA file is not estimated")
    if config.method == "uniform":
        return pack([uniform(size)], config.precision), About(config, vocabulary, (0,), ())
    counted = _counted(text, held_out, size, config, scratch)
    return _smoothed(counted, vocabulary, config)


def estimate_from_counts(
    counts: list[OrderCounts], vocabulary: Vocabulary, config: NgramConfig
) -> NgramModel:
    """A model of counts that were read from a file, of no higher order than theirs.

    UserError for a method that wants the text itself.
    """
    if config.method in ("uniform", IMPORTED, "jelinek_mercer") or config.kenlm_compat:
        raise UserError(
            f"{config.describe()} is not estimated from counts",
            next_step="choose another method, or train on the text",
        )
    counts = counts[: config.order]
    config = replace(config, order=len(counts))
    counted = Counted(len(vocabulary), counts, np.zeros(0, np.uint32), None, Scratch())
    orders, about = _smoothed(counted, vocabulary, config)
    return _in_memory(list(orders), about)


def _in_memory(orders: list[PackedOrder], about: About) -> NgramModel:
    return NgramModel(
        about.vocabulary,
        about.config,
        orders,
        ngrams=held(about.ngrams, [order.words.rows for order in orders]),
        discounts=about.discounts,
    )


def _smoothed(
    counted: Counted, vocabulary: Vocabulary, config: NgramConfig
) -> tuple[Iterator[PackedOrder], About]:
    tables, discounts = smooth(counted, config)
    if config.prune_threshold or config.prune_to:
        tables = prune(
            list(tables),
            vocabulary,
            threshold=config.prune_threshold or 0.0,
            size=config.prune_to or 0,
        )
    about = About(
        config,
        vocabulary,
        ngrams=tuple(table.seen() for table in counted.counts),
        discounts=tuple(tuple(amounts.tolist()) for amounts in discounts),
    )
    return pack(tables, config.precision), about


def _counted(
    text: Text, held_out: Text | None, size: int, config: NgramConfig, scratch: Scratch
) -> Counted:
    crosses = not config.sentence_boundaries
    stream = sentence_stream(*text, size, crosses_lines=crosses)
    order = useful_order(text[1], config.order)
    piece = None
    if scratch.is_on_disk:
        stream = scratch.keep(stream)
        piece = piece_size(len(stream), order, config.memory_limit, THREADS)
    counts = count_ngrams(stream, size, order, piece=piece, scratch=scratch)
    other = None
    if held_out is not None:
        other = sentence_stream(*held_out, size, crosses_lines=crosses)
    return Counted(size, counts, stream, other, scratch)


def useful_order(offsets: np.ndarray, order: int) -> int:
    """The order, but no more than the longest line holds with its `<s>`.

    Beyond that there is nothing to count and nothing changes: the longest n-grams all begin with
    `<s>`, so they keep their raw counts either way, and a longer history was never seen, however
    it is cut.
    """
    longest = int(np.diff(offsets).max(initial=0))
    return min(order, longest + 1)


def smooth(counted: Counted, config: NgramConfig) -> tuple[Iterator[OrderTable], list[np.ndarray]]:
    """Tables of orders 1 to N, and what was estimated for each order."""
    counts, size = counted.counts, counted.size
    match config.method:
        case "maximum_likelihood":
            return additive(counts, size, 0.0), []
        case "additive":
            assert config.k is not None
            return additive(counts, size, config.k), []
        case "stupid_backoff":
            assert config.alpha is not None
            return stupid_backoff(counts, config.alpha), []
        case "good_turing":
            assert config.reliable_count is not None
            assert config.event_space is not None
            reliable, events = config.reliable_count, config.event_space
            return good_turing(counts, reliable, events, counted.scratch)
    return _interpolated(counted, config)


def _interpolated(
    counted: Counted, config: NgramConfig
) -> tuple[Iterator[OrderTable], list[np.ndarray]]:
    assert config.event_space is not None
    unigrams = Unigrams(config.event_space, bool(config.interpolate_unigrams))
    counts, cutoffs = counted.counts, config.cutoffs or ()
    if config.method == "absolute_discounting":
        return absolute_discounting(counts, unigrams, cutoffs, counted.scratch)
    if config.method == "witten_bell":
        return witten_bell(counts, unigrams, cutoffs, counted.scratch), []
    if config.method == "jelinek_mercer":
        if counted.held_out is None:
            raise UserError(
                "jelinek_mercer fits its weights on validation text, and there is none",
                next_step="give the corpus a validation split, or choose another method",
            )
        found = rows_of_orders(counted.held_out, counts)
        weights = fit_weights(counts, unigrams, *found, cutoffs)
        tables = jelinek_mercer(counts, weights, unigrams, cutoffs, counted.scratch)
        return tables, list(weights[:, None])
    slipped = flushed_rows(counted.stream, counts, counted.size) if config.kenlm_compat else ()
    return kneser_ney(
        counts,
        unigrams,
        modified=bool(config.modified),
        cutoffs=cutoffs,
        slipped_rows=slipped,
        scratch=counted.scratch,
    )
