"""Counts as text, as SRILM writes them: the words of an n-gram, a tab, how often it occurred.

All orders stand in one file, the lowest first, compressed where its name ends in .gz; names are
those of ARPA files (`arpa_names`). What
is read may come in any order and from another toolkit, but must be whole: the beginning of every
n-gram and its end are n-grams too, and `<s>` stands in first place or nowhere.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.base.errors import UserError
from textmill.base.files import replacing
from textmill.ngram.arpa_names import ids_of_names, names_of, token_of, unknown_name
from textmill.ngram.arpa_tables import find, sorted_columns
from textmill.ngram.count import OrderCounts
from textmill.ngram.packed_text import reading, writing
from textmill.ngram.tables import words_of
from textmill.tokenizers.vocabulary import BEGIN, END, RESERVED, Vocabulary, from_counts

BLOCK = 1 << 18
MOST = 1 << 53
"""Of all counts together: up to there float64 holds every whole number."""
EXPORT = "write the counts of a model: textmill export MODEL word.counts.gz"
SPACE, TAB = (pa.scalar(text, pa.large_string()) for text in (" ", "\t"))


def write_counts(counts: list[OrderCounts], vocabulary: Vocabulary, path: Path) -> None:
    """Write every n-gram that occurred; whole or not at all; compressed as the name says."""
    data, offsets = names_of(vocabulary)
    names = pa.LargeStringArray.from_buffers(
        len(offsets) - 1, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)
    )
    with replacing(path) as temporary, writing(temporary, path.suffix) as file:
        for n, table in enumerate(counts, start=1):
            for first in range(0, len(table.words), BLOCK):
                rows = np.arange(first, min(first + BLOCK, len(table.words)))
                rows = rows[table.counts[rows] > 0]
                words = [names.take(pa.array(column)) for column in words_of(counts, n, rows)]
                occurrences = pa.array(table.counts[rows]).cast(pa.large_string())
                ngrams = pc.binary_join_element_wise(*words, SPACE)
                lines = pc.binary_join_element_wise(ngrams, occurrences, TAB)
                file.write("".join(f"{line}\n" for line in lines.to_pylist()).encode())


def read_counts(
    path: Path, vocabulary: Vocabulary | None = None
) -> tuple[list[OrderCounts], Vocabulary]:
    """Counts of orders 1 to N, of a file as it is or compressed (.gz, .bz2, .xz by name).

    vocabulary: whose ids the words are; None: one of the file's own unigrams, by falling count.
    UserError naming the line, or the n-gram that lacks another.
    """
    with reading(path) as file:
        lines = file.read().split("\n")
    ngrams, occurrences, places = _fields([line.removesuffix("\r") for line in lines], path)
    if not ngrams:
        raise UserError("it holds no n-gram", where=str(path), next_step=EXPORT)
    words = pc.split_pattern(pa.array(ngrams, pa.large_string()), " ")
    lengths = pc.list_value_length(words).to_numpy()
    if vocabulary is None:
        vocabulary = _own_vocabulary(
            words.filter(pa.array(lengths == 1)), occurrences[lengths == 1]
        )
    ids = ids_of_names(words.flatten(), vocabulary)
    if np.any(ids < 0):
        outside = int(np.argmax(ids < 0))
        row = int(np.repeat(np.arange(len(lengths)), lengths)[outside])
        raise UserError(
            f'"{ngrams[row]}" holds a word that is no unigram: {words.flatten()[outside]}',
            where=f"{path}, line {places[row]:,}",
            next_step="count all orders from 1 on, over one vocabulary",
        )
    orders = []
    ends = np.cumsum(lengths)
    for n in range(1, int(lengths.max(initial=0)) + 1):
        rows = np.flatnonzero(lengths == n)
        at = (ends[rows] - n)[None, :] + np.arange(n)[:, None]
        orders.append((ids[at], occurrences[rows]))
    return _tables(orders, vocabulary, path), vocabulary


def crosses_lines(counts: list[OrderCounts]) -> bool:
    """Whether they are of a text without sentence boundaries: something follows `</s>`."""
    return len(counts) > 1 and bool(counts[1].starts[END + 1] > counts[1].starts[END])


def _own_vocabulary(unigrams: pa.Array, occurrences: np.ndarray) -> Vocabulary:
    """Of all unigrams that are no reserved names."""
    counts = Counter[str]()
    names = unigrams.flatten().to_pylist()
    reserved = (*RESERVED, unknown_name(names))
    for name, count in zip(names, occurrences.tolist(), strict=True):
        if name not in reserved:
            counts[token_of(name)] += count
    types = pa.array(counts.keys(), pa.string())
    return from_counts(types, np.array([*counts.values()], np.int64), scheme="counts")[0]


def _fields(lines: list[str], path: Path) -> tuple[list[str], np.ndarray, list[int]]:
    """n-grams, how often each occurred, and the number of its line."""
    ngrams, occurrences, places, total = [], [], [], 0
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        ngram, _, count = line.rpartition("\t")
        if not ngram or not count.strip().isascii() or not count.strip().isdigit():
            is_arpa = line.strip() == "\\data\\"
            raise UserError(
                "it is a language model in ARPA's format, not counts"
                if is_arpa
                else f'"{line[:80]}" is no n-gram, a tab and a whole number',
                where=f"{path}, line {number:,}",
                next_step=EXPORT,
            )
        digits = count.strip()
        total += int(digits) if len(digits) < len(str(MOST)) + 1 else MOST + 1
        if total > MOST:
            raise UserError(
                f"the counts up to {line!r} add up to more than {MOST:,}",
                where=f"{path}, line {number:,}",
                next_step="divide all counts",
            )
        ngrams.append(ngram)
        occurrences.append(int(digits))
        places.append(number)
    return ngrams, np.array(occurrences, np.int64), places


def _tables(
    orders: list[tuple[np.ndarray, np.ndarray]], vocabulary: Vocabulary, path: Path
) -> list[OrderCounts]:
    size = len(vocabulary)
    unigrams = np.zeros(size, np.int64)
    if orders:
        np.add.at(unigrams, orders[0][0][0], orders[0][1])
    ids = np.arange(size, dtype=np.uint32)
    tables = [OrderCounts(1, np.array([0, size]), ids, unigrams, (BEGIN, BEGIN + 1))]
    below = np.arange(size)[None, :]
    for words, occurrences in orders[1:]:
        rows = sorted_columns(words)
        counts = np.zeros(rows.shape[1], np.int64)
        np.add.at(counts, find(words, rows), occurrences)
        _check_whole(rows, below, tables[-1], vocabulary, path)
        contexts = find(rows[:-1], below)
        starts = np.searchsorted(contexts, np.arange(below.shape[1] + 1))
        low, high = tables[-1].after_begin
        after_begin = (int(starts[low]), int(starts[high]))
        last = rows[-1].astype(np.uint32)
        tables.append(OrderCounts(len(rows), starts, last, counts, after_begin))
        below = rows
    return tables


def _check_whole(
    rows: np.ndarray,
    below: np.ndarray,
    counts_below: OrderCounts,
    vocabulary: Vocabulary,
    path: Path,
) -> None:
    for name, part in (("beginning", rows[:-1]), ("end", rows[1:])):
        there = np.zeros(rows.shape[1], dtype=bool)
        if below.shape[1]:
            at = np.maximum(find(part, below), 0)
            there = np.all(below[:, at] == part, axis=0) & (counts_below.counts[at] > 0)
        wrong = ~there | np.any(rows[1:] == BEGIN, axis=0)
        if np.any(wrong):
            ngram = " ".join(vocabulary.id_to_token(rows[:, int(np.argmax(wrong))].tolist()))
            raise UserError(
                f"{ngram!r} is listed, and its {name} is not, or <s> is not in first place",
                where=str(path),
                next_step="export the counts of all orders from 1 on",
            )
