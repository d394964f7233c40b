r"""Reads ARPA files, tolerantly: what other toolkits write, where its meaning is plain.

Taken: spaces or tabs anywhere between fields, a tab or spaces around the counts of the header,
CRLF, missing or extra blank lines, text before `\data\`, `\2-ngrams:` beside `\2-grams:`, an
empty highest order, no backoff column at any order, `-inf`, a decimal comma, `<UNK>` where there
is no `<unk>`. A context that is not listed is put in with the probability that its own backoff
gives it. Refused, with the line: a header that counts something else than follows, a word that is
no unigram, a positive logarithm, a missing `<s>` or `</s>`, an n-gram that is there twice, an order
without n-grams below one with some, the end of the file before `\end\`. Where `</s>` stands inside
n-grams the model is one without sentence boundaries. Probabilities that sum to more than 1 are
taken with a warning: KenLM takes them too, and many a file made by hand has such.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa

from textmill.base.errors import UserError
from textmill.ngram.arpa_names import ids_of_words, name_of, token_of, unknown_name
from textmill.ngram.arpa_sums import too_much
from textmill.ngram.arpa_tables import Listed, ListedTwiceError, repeated, tables_of
from textmill.ngram.config import IMPORTED, NgramConfig
from textmill.ngram.model import NgramModel
from textmill.ngram.packed_text import reading
from textmill.ngram.tables import pack
from textmill.tokenizers.vocabulary import END, RESERVED, UNKNOWN, Vocabulary

_log = logging.getLogger(__name__)

_COUNT = re.compile(r"ngram\s+(\d+)\s*=\s*(\d+)\s*$")
_SECTION = re.compile(r"\\(\d+)-n?grams:\s*$")
ANEW = "write the file anew with the toolkit that made it"
BLOCK = 1 << 20
"""Characters to read at a time."""
NEVER = -99.0
"""Logarithms from here down stand for zero."""


def read_arpa(path: Path, vocabulary: Vocabulary | None = None) -> NgramModel:
    """The model of a file, plain or compressed (.gz, .bz2, .xz, .zst by name).

    vocabulary: whose ids the words are; None: one of the file's own unigrams, in their order.
    UserError naming the line and the word where the file is damaged or does not fit.
    """
    with reading(path) as file:
        return _Reader(path, vocabulary).read(file)


@dataclass(frozen=True, slots=True)
class _Rows:
    """n-grams of one order: their words, one n-gram after the other, and their lines."""

    n: int
    words: list[str]
    places: list[int]

    def ngram(self, row: int) -> str:
        return " ".join(self.words[row * self.n : (row + 1) * self.n])


class _Reader:
    """One pass over the lines of a file."""

    def __init__(self, path: Path, vocabulary: Vocabulary | None) -> None:
        self._path = path
        self._vocabulary = vocabulary
        self._ids: dict[str, int] = {}
        self._line = 0

    def read(self, file: TextIO) -> NgramModel:
        lines = self._lines(file)
        counts, heading = self._header(lines)
        orders: list[Listed] = []
        for n, count in enumerate(counts, start=1):
            if count == 0 and n == len(counts) and heading.startswith("\\end"):
                break
            self._expect(heading, n)
            if count and len(orders) < n - 1:
                raise self._wrong(f"order {n} has n-grams, and order {len(orders) + 1} has none")
            listed, heading = self._order(lines, n, count)
            if count:
                orders.append(listed)
            if n == 1:
                self._check_bounds()
        if not heading.startswith("\\end"):
            raise self._wrong(f"there is {heading!r} where \\end\\ should be")
        assert self._vocabulary is not None
        try:
            tables = tables_of(orders, len(self._vocabulary))
        except ListedTwiceError as error:
            ngram = " ".join(name_of(word, self._vocabulary) for word in error.words)
            raise self._wrong(f"{ngram!r} is there twice", error.line) from None
        crosses = any(np.any(listed.words[:-1] == END) for listed in orders)
        config = NgramConfig("", IMPORTED, len(tables), sentence_boundaries=not crosses)
        model = NgramModel(
            self._vocabulary,
            config,
            list(pack(tables, config.precision)),
            ngrams=tuple(len(listed.log_p) - (n == 0) for n, listed in enumerate(orders)),
        )
        if what := too_much(model, tables):
            _log.warning("%s: %s, so its perplexities are too low", self._path, what)
        return model

    def _lines(self, file: TextIO) -> Iterator[str]:
        """Lines that are not blank."""
        for lines in _whole_lines(file):
            for line in lines:
                self._line += 1
                stripped = line.strip(" \r")
                if stripped:
                    yield stripped
        raise self._wrong("the file ends before \\end\\")

    def _header(self, lines: Iterator[str]) -> tuple[list[int], str]:
        try:
            while next(lines) != "\\data\\":
                pass
        except UserError:
            raise UserError(
                "no line of it is \\data\\, so it is no ARPA file",
                where=str(self._path),
                next_step="name a file in ARPA's format",
            ) from None
        counts: list[int] = []
        for line in lines:
            match = _COUNT.match(line)
            if not match:
                if not counts:
                    raise self._wrong(f"{line!r} is no count like 'ngram 1=100'")
                return counts, line
            if int(match[1]) != len(counts) + 1:
                raise self._wrong(f"the count of order {len(counts) + 1} should be here")
            counts.append(int(match[2]))
        raise AssertionError

    def _expect(self, heading: str, n: int) -> None:
        match = _SECTION.match(heading)
        if not match or int(match[1]) != n:
            raise self._wrong(f"there is {heading!r} where \\{n}-grams: should be")

    def _order(self, lines: Iterator[str], n: int, count: int) -> tuple[Listed, str]:
        words: list[str] = []
        places: list[int] = []
        numbers: list[str] = []
        backoffs: list[str] = []
        first = self._line + 1
        for line in lines:
            fields = _fields(line)
            extra = len(fields) - n
            if extra not in (1, 2):
                if line.startswith("\\"):
                    break
                raise self._wrong(f"{line!r} is no {n}-gram with its numbers")
            numbers.append(fields[0])
            backoffs.append(fields[-1] if extra == 2 else "0")
            words += fields[1 : n + 1]
            places.append(self._line)
        if len(places) != count:
            what = f"the header counts {count:,} {n}-grams, and here are {len(places):,}"
            raise self._wrong(what, first)
        rows = _Rows(n, words, places)
        log_p = self._logarithms(numbers, rows, most=0.0)
        log_backoff = self._logarithms(backoffs, rows, most=np.inf)
        ids = self._unigram_ids(rows) if n == 1 else self._word_ids(rows)
        return Listed(ids, log_p, log_backoff, np.array(places, np.int64)), line

    def _logarithms(self, fields: list[str], rows: _Rows, *, most: float) -> np.ndarray:
        """float64, -inf from `NEVER` down; `most`: no number may be above it, nor infinite."""
        try:
            values = pa.array(fields, pa.string()).cast(pa.float64()).to_numpy().copy()
        except pa.ArrowInvalid:  # a form that Python may know, such as a decimal comma
            numbers = [self._number(field, rows, row) for row, field in enumerate(fields)]
            values = np.array(numbers, np.float64)
        wrong = np.isnan(values) | (values > most) | (values == np.inf)
        if np.any(wrong):
            row = int(np.argmax(wrong))
            what = f"{fields[row]} is no logarithm of a probability"
            raise self._wrong(f"{what}, beside {rows.ngram(row)!r}", rows.places[row])
        values[values <= NEVER] = -np.inf
        return values

    def _number(self, field: str, rows: _Rows, row: int) -> float:
        try:
            # Python takes 1_000 for a number, and nobody else does.
            return float(field.replace(",", ".").replace("_", "?"))
        except ValueError:
            what = f"{field!r} is no number, beside {rows.ngram(row)!r}"
            raise self._wrong(what, rows.places[row]) from None

    def _unigram_ids(self, rows: _Rows) -> np.ndarray:
        words, places = rows.words, rows.places
        unknown = unknown_name(words, self._vocabulary)
        if self._vocabulary is None:
            names = (word for word in words if word not in (unknown, *RESERVED[1:]))
            own = [*dict.fromkeys(map(token_of, names))]
            counts = np.zeros(len(RESERVED) + len(own), np.int64)
            self._vocabulary = Vocabulary(pa.array(own, pa.string()), counts, scheme="arpa")
        reserved = (unknown, *self._vocabulary.reserved[1:])
        ids = ids_of_words(words, self._vocabulary)
        for row, word in enumerate(words):
            if word in reserved:
                ids[row] = reserved.index(word)
            elif ids[row] == UNKNOWN:
                raise self._wrong(f"{word!r} is not in the vocabulary", places[row])
            self._ids[word] = int(ids[row])
        twice = repeated(ids)
        if twice is not None:
            what = f"{words[twice]!r} is there twice among the unigrams"
            raise self._wrong(what, places[twice])
        return ids[None, :]

    def _word_ids(self, rows: _Rows) -> np.ndarray:
        known = self._ids
        try:
            flat = [known[word] for word in rows.words]
        except KeyError:
            at = next(at for at, word in enumerate(rows.words) if word not in known)
            what = f"{rows.words[at]!r} is none of the unigrams"
            raise self._wrong(what, rows.places[at // rows.n]) from None
        return np.array(flat, np.int64).reshape(-1, rows.n).T

    def _check_bounds(self) -> None:
        for name in ("<s>", "</s>"):
            if name not in self._ids:
                raise self._wrong(f"{name} is none of the unigrams, so no line can begin or end")

    def _wrong(self, what: str, line: int | None = None) -> UserError:
        return UserError(
            what,
            where=f"{self._path}, line {line or self._line:,}",
            next_step=ANEW,
        )


def _whole_lines(file: TextIO) -> Iterator[list[str]]:
    """Many lines at a time, with spaces for tabs."""
    rest = ""
    while block := file.read(BLOCK):
        *whole, rest = (rest + block.replace("\t", " ")).split("\n")
        yield whole
    yield [rest] if rest else []


def _fields(line: str) -> list[str]:
    """What stands between spaces: str.split() alone would part at U+001C and U+00A0 too."""
    fields = line.split(" ")
    return [field for field in fields if field] if "  " in line else fields
