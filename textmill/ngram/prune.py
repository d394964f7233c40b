"""Entropy pruning (Stolcke 1998): leave out the n-grams whose loss the model feels least.

What an n-gram hw is worth is the relative entropy between the model and the model without it,

    D = -p(h) { p(w|h) (ln p(w|h') + ln a' - ln p(w|h)) + (ln a' - ln a) (1 - sum of p(v|h)) }

a is the weight that the events not seen after h share, a' the same without hw; p(h) is the chain
of the model's own probabilities, with `</s>` for `<s>`. Without it perplexity rises by the factor
exp(D). An n-gram that others continue stays as long as one of them does. Lower orders are taken as
they were; at the end all weights are made anew, from the lowest order up, so that sums are one.

Modified Kneser-Ney loses more by this than other methods, since its lower orders are no estimates
of p(h) (Chelba and others 2010). Everything is in memory.
"""

from collections.abc import Iterator

import numpy as np

from textmill.ngram.lower import lower_probabilities
from textmill.ngram.model import NgramModel
from textmill.ngram.smoothing.interpolation import sums_after, without_contexts
from textmill.ngram.tables import OrderTable, held, pack, unpack
from textmill.tokenizers.vocabulary import BEGIN, END, Vocabulary


def prune(
    tables: list[OrderTable], vocabulary: Vocabulary, *, threshold: float = 0.0, size: int = 0
) -> Iterator[OrderTable]:
    """Tables without the n-grams that raise perplexity by a share of less than `threshold`.

    size: or, where it is not 0, without the least n-grams until so many are left of all orders;
    unigrams always stay.
    """
    worth = _with_continuations(tables, worths(tables, vocabulary))
    if size:
        least = _least_of(size - len(tables[0].words), worth)
        kept = [values >= least for values in worth]
    else:
        kept = [np.expm1(values) >= threshold for values in worth]
    kept[0][:] = True
    left = [tables[0]]
    for table, keep, keep_below in zip(tables[1:], kept[1:], kept, strict=False):
        starts = without_contexts(table.starts, keep, keep_below)
        if not keep.any():
            break
        left.append(
            OrderTable(starts, table.words[keep], table.probabilities[keep], table.backoffs[keep])
        )
    yield from renormalised(left, vocabulary)


def pruned(model: NgramModel, *, threshold: float = 0.0, size: int = 0) -> NgramModel:
    """A finished model, estimated or read from a file, without what `prune` leaves out."""
    tables = prune(list(unpack(model.orders)), model.vocabulary, threshold=threshold, size=size)
    orders = list(pack(tables, model.config.precision))
    return NgramModel(
        model.vocabulary,
        model.config,
        orders,
        ngrams=held(model.ngrams, [order.words.rows for order in orders]),
        discounts=model.discounts[: len(orders)],
    )


def worths(tables: list[OrderTable], vocabulary: Vocabulary) -> list[np.ndarray]:
    """D of every n-gram, float64 (G) an order; infinite for unigrams."""
    joint = tables[0].probabilities.copy()
    joint[BEGIN] = joint[END]
    found = [np.full(len(tables[0].words), np.inf)]
    for n, table in enumerate(tables[1:], start=2):
        contexts = table.contexts()
        p, lower = table.probabilities, lower_probabilities(tables, n, vocabulary)
        left = 1 - sums_after(table.starts, p)[contexts]
        left_lower = 1 - sums_after(table.starts, lower)[contexts]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_weight = np.log(np.maximum(left + p, 0)) - np.log(np.maximum(left_lower + lower, 0))
            change = log_weight - np.log(tables[n - 2].backoffs[contexts])
            own = p * (np.log(lower) + log_weight - np.log(p))
            worth = -joint[contexts] * (own + np.where(left > 0, change * left, 0.0))
        # Without an alternative, or of no weight, an n-gram stays: nothing can stand in for it.
        found.append(np.where(np.isfinite(worth), np.maximum(worth, 0.0), np.inf))
        joint = joint[contexts] * p
    return found


def renormalised(tables: list[OrderTable], vocabulary: Vocabulary) -> Iterator[OrderTable]:
    """The same n-grams with weights that make every sum one."""
    done: list[OrderTable] = []
    for n, table in enumerate(tables, start=1):
        if n > 1:
            lower = lower_probabilities([*done, table], n, vocabulary)
            left = 1 - sums_after(table.starts, table.probabilities)
            left_lower = 1 - sums_after(table.starts, lower)
            followed = np.diff(table.starts) > 0
            weights = np.ones(len(followed))
            share = followed & (left_lower > 1e-12)
            weights[share] = np.maximum(left[share], 0.0) / left_lower[share]
            weights[followed & ~share] = 0.0
            last = done[-1]
            done[-1] = OrderTable(last.starts, last.words, last.probabilities, weights)
        done.append(
            OrderTable(table.starts, table.words, table.probabilities, np.ones(len(table.words)))
        )
    yield from done


def _with_continuations(tables: list[OrderTable], worth: list[np.ndarray]) -> list[np.ndarray]:
    """The largest worth of each n-gram and of all that continue it."""
    largest = [worth[-1]]
    for n in range(len(tables) - 1, 0, -1):
        starts, own = tables[n].starts, worth[n - 1].copy()
        followed = np.flatnonzero(np.diff(starts) > 0)
        if len(followed):
            best = np.maximum.reduceat(largest[0], starts[followed])
            own[followed] = np.maximum(own[followed], best)
        largest.insert(0, own)
    return largest


def _least_of(size: int, worth: list[np.ndarray]) -> float:
    """The worth from which on no more than `size` n-grams above order 1 are left."""
    everything = np.sort(np.concatenate([np.zeros(0), *worth[1:]]))[::-1]
    if size >= len(everything):
        return 0.0
    if size <= 0:
        return np.inf
    return float(np.nextafter(everything[size], np.inf))
