"""Writes ARPA files, strictly: one form for every number, tabs and blank lines where they belong.

Numbers are log10 with 7 decimals, rounded once; -99 stands for the logarithm of zero, as in
SRILM. Rows are in trie order. The bytes are made by compiled code, two blocks of rows at a time;
of a word eight bytes are written at once, which takes half as long as one by one.
A unigram that can neither be predicted nor continued is left out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from textmill.base.behind import FlushedBehind
from textmill.base.compiled import Kernel
from textmill.base.errors import UserError
from textmill.base.files import replacing
from textmill.ngram.arpa_names import names_of
from textmill.ngram.model import NgramModel
from textmill.ngram.packed_text import writing
from textmill.ngram.tables import OrderTable, unpack, words_of
from textmill.ngram.threads import in_order
from textmill.tokenizers.vocabulary import BEGIN

BLOCK = 1 << 14
"""Rows whose lines fit into a core's cache."""
SCALE = 10_000_000
DECIMALS = 7
NEVER = -99 * SCALE

Names = tuple[np.ndarray, np.ndarray, np.ndarray]
"""All names' bytes, where each begins, and eight bytes from there on as one number."""


def write_arpa(model: NgramModel, path: Path) -> int:
    """Write the model as text; compressed where the name ends in .gz. Whole or not at all.

    Returns how many n-grams the file has, `<s>` and `<unk>` among them.

    UserError for scores that are no probabilities.
    """
    if not model.gives_probabilities:
        raise UserError(
            f"{model.describe()} gives scores, and an ARPA file holds probabilities",
            next_step="choose another method",
        )
    tables = list(unpack(model.orders))
    names = with_eights(*names_of(model.vocabulary))
    with replacing(path) as temporary, writing(temporary, path.suffix) as file:
        return _write(file, tables, names)


def _write(file: BinaryIO | FlushedBehind, tables: list[OrderTable], names: Names) -> int:
    rows = [_rows(tables, n) for n in range(1, len(tables) + 1)]
    header = [f"ngram {n}={len(chosen)}\n" for n, chosen in enumerate(rows, start=1)]
    file.write(("\\data\\\n" + "".join(header)).encode())
    for n, chosen in enumerate(rows, start=1):
        file.write(f"\n\\{n}-grams:\n".encode())
        for block in in_order(lambda part: _block(tables, n, part, names), _parts(chosen)):  # noqa: B023
            file.write(block)
    file.write(b"\n\\end\\\n")
    return sum(map(len, rows))


def with_eights(data: np.ndarray, offsets: np.ndarray) -> Names:
    """Names to write. Of a shorter one the eight bytes end in others, which the next overwrite."""
    padded = np.append(data, np.zeros(8, np.uint8))
    eights = padded[offsets[:-1, None] + np.arange(8)].view("<u8").ravel()
    return data, offsets, eights.astype(np.uint64)


def _rows(tables: list[OrderTable], n: int) -> np.ndarray:
    if n > 1:
        return np.arange(len(tables[n - 1].words))
    wanted = tables[0].probabilities > 0
    wanted[BEGIN] = True
    if len(tables) > 1:
        wanted |= np.diff(tables[1].starts) > 0
    return np.flatnonzero(wanted)


def _parts(rows: np.ndarray) -> Iterator[np.ndarray]:
    for first in range(0, len(rows), BLOCK):
        yield rows[first : first + BLOCK]


def _block(tables: list[OrderTable], n: int, rows: np.ndarray, names: Names) -> memoryview:
    """The lines of some rows of order n, in ascending order."""
    table = tables[n - 1]
    words = words_of(tables, n, rows)
    logs = _scaled(table.probabilities[rows])
    backoffs = _scaled(table.backoffs[rows]) if n < len(tables) else np.zeros(0, np.int64)
    data, offsets, eights = names
    lengths = np.diff(offsets)
    size = int(lengths[words].sum()) + len(rows) * (n + 2 * (DECIMALS + 6))
    buffer = np.empty(size + 8, np.uint8)
    used = _format(words, logs, backoffs, data, offsets, eights, buffer)
    return buffer[:used].data


def _scaled(values: np.ndarray) -> np.ndarray:
    """log10 in steps of the last decimal, int64."""
    with np.errstate(divide="ignore"):
        scaled = np.rint(np.log10(values) * SCALE)
    return np.maximum(scaled, NEVER).astype(np.int64)


@Kernel
def _format(
    words: np.ndarray,
    logs: np.ndarray,
    backoffs: np.ndarray,
    data: np.ndarray,
    offsets: np.ndarray,
    eights: np.ndarray,
    buffer: np.ndarray,
) -> int:
    """Lines of number, tab, words and, where there are any, tab and backoff; how many bytes."""
    at = 0
    for row in range(len(logs)):
        at = _number(logs[row], buffer, at)
        for place in range(len(words)):
            buffer[at] = 32 if place else 9
            word = words[place, row]
            first, length = offsets[word], offsets[word + 1] - offsets[word]
            _eight(eights[word], buffer, at + 1)
            for more in range(8, length):
                buffer[at + 1 + more] = data[first + more]
            at += 1 + length
        if len(backoffs):
            buffer[at] = 9
            at = _number(backoffs[row], buffer, at + 1)
        buffer[at] = 10
        at += 1
    return at


@Kernel
def _eight(bytes_: int, buffer: np.ndarray, at: int) -> None:
    """Eight bytes from `at` on: the compiler makes one store of them."""
    for place in range(8):
        buffer[at + place] = (bytes_ >> np.uint64(8 * place)) & np.uint64(255)


@Kernel
def _number(scaled: int, buffer: np.ndarray, at: int) -> int:
    """A number of 7 decimals from `at` on; where it ends."""
    if scaled < 0:
        buffer[at] = 45
        at += 1
        scaled = -scaled
    # Unsigned 32-bit arithmetic: dividing by a constant is then a multiplication.
    whole = np.uint32(scaled // SCALE)
    rest = np.uint32(scaled - np.int64(whole) * SCALE)
    ten = np.uint32(10)
    if whole >= ten:
        buffer[at] = 48 + whole // ten
        at += 1
    buffer[at] = 48 + whole % ten
    buffer[at + 1] = 46
    at += 2
    for place in range(DECIMALS - 1, -1, -1):
        left = np.uint32(rest // ten)
        buffer[at + place] = 48 + np.uint32(rest - left * ten)
        rest = left
    return at + DECIMALS
