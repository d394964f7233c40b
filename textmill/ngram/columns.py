"""Columns of numbers in as few bits as they need, read where they lie.

Whole numbers take the bits of the largest; a probability or weight takes 64 bits (double), 31
(single precision without its sign, as KenLM stores them) or a code of 8 bits into a table of 256
values. A column is an array of uint64, so a file of them is mapped and shared, never unpacked.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from textmill.base.compiled import Kernel, U
from textmill.ngram import unary
from textmill.ngram.threads import over_ranges
from textmill.ngram.unary import UNARY, first_line, read

Precision = Literal["double", "single", "coded"]

DOUBLE, SINGLE, CODED = 64, 31, 8
BITS: dict[Precision, int] = {"double": DOUBLE, "single": SINGLE, "coded": CODED}
NO_CODES = np.empty(0, np.float64)


@dataclass(frozen=True, slots=True)
class Column:
    """`rows` numbers of `bits` bits each in `data` (uint64).

    codes: float64 (256), what the codes of a coded column stand for; otherwise empty.
    """

    data: np.ndarray
    bits: int
    rows: int
    codes: np.ndarray

    def parts(self) -> tuple[np.ndarray, int, np.ndarray]:
        """What compiled code takes: data, bits, codes; never to be written to, as if mapped."""
        data = self.data.view()
        data.flags.writeable = False
        return data, self.bits, self.codes

    def integers(self) -> np.ndarray:
        """int64 (rows)."""
        values = np.empty(self.rows, np.int64)
        data, bits, _ = self.parts()
        work = _unpack_ends if bits == UNARY else _unpack
        over_ranges(lambda first, end: work(first, end, data, bits, values), self.rows)
        return values

    def numbers(self) -> np.ndarray:
        """float64 (rows)."""
        if self.bits == DOUBLE:
            return self.data.view(np.float64)
        values = np.empty(self.rows, np.float64)
        parts = self.parts()
        over_ranges(lambda first, end: _decode(first, end, *parts, values), self.rows)
        return values


def of_integers(values: np.ndarray) -> Column:
    """Whole numbers from 0 up, in the bits of the largest."""
    bits = max(int(values.max(initial=0)).bit_length(), 1)
    return Column(_packed(values, bits), bits, len(values), NO_CODES)


def of_ends(values: np.ndarray, precision: Precision) -> Column:
    """Ascending whole numbers from 0 up: the smallest form where the others are coded too."""
    if precision != "coded":
        return of_integers(values)
    return Column(unary.written(values), UNARY, len(values), NO_CODES)


def of_numbers(values: np.ndarray, precision: Precision) -> Column:
    """Finite float64 from 0 up."""
    bits = BITS[precision]
    if precision == "double":
        data = np.ascontiguousarray(values, np.float64).view(np.uint64)
        return Column(data, bits, len(values), NO_CODES)
    if precision == "single":
        return Column(
            _packed(values.astype(np.float32).view(np.uint32), bits), bits, len(values), NO_CODES
        )
    codes, numbers = quantised(values)
    return Column(_packed(numbers, bits), bits, len(values), codes)


def quantised(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """256 values (float64) and the code of the nearest for each number (uint8), by ratio.

    0 and 1, which are exact in every model, keep codes of their own; the others are the geometric
    means of groups of equal size in the order of the numbers.
    """
    free = (1 << CODED) - 2
    inner = np.sort(values[(values > 0) & (values != 1)])
    different = np.unique(inner)
    if len(different) > free:
        logs = np.log(inner)
        bounds = np.linspace(0, len(inner), free + 1).astype(np.int64)
        different = np.unique(np.exp(np.add.reduceat(logs, bounds[:-1]) / np.diff(bounds)))
    codes = np.unique(np.concatenate([[0.0, 1.0], different]))
    with np.errstate(divide="ignore"):
        middles = np.sqrt(codes[1:] * codes[:-1])
    numbers = np.searchsorted(middles, values, side="right")
    numbers[values == 0] = 0
    numbers[(values > 0) & (numbers == 0)] = 1
    is_one = int(np.flatnonzero(codes == 1)[0])
    numbers[values == 1] = is_one
    padded = np.append(codes, np.ones((1 << CODED) - len(codes)))
    return padded, numbers.astype(np.uint8)


def _packed(values: np.ndarray, bits: int) -> np.ndarray:
    # One word more than the numbers fill, so that reading two words is always allowed.
    data = np.zeros(len(values) * bits // 64 + 2, np.uint64)
    _pack(values, bits, data)
    return data


@Kernel
def _pack(values: np.ndarray, bits: int, data: np.ndarray) -> None:
    for row in range(len(values)):
        at = row * bits
        place, shift = at >> 6, np.uint64(at & 63)
        value = np.uint64(values[row])
        data[place] |= value << shift
        if (at & 63) + bits > 64:
            data[place + 1] |= value >> (np.uint64(64) - shift)


@Kernel
def integer(data: np.ndarray, bits: int, row: int) -> np.uint64:
    """The number in a row of a column of fewer than 64 bits."""
    # Two words are read whether the number lies in both or not: a branch would be guessed wrong.
    # Places are unsigned: of a signed one numba looks whether it counts from the end.
    at = U(row) * U(bits)
    place, shift = at >> U(6), at & U(63)
    upper = (data[place + U(1)] << U(1)) << (U(63) - shift)
    value = (data[place] >> shift) | upper
    return value & ((U(1) << U(bits)) - U(1))


@Kernel
def number(data: np.ndarray, bits: int, codes: np.ndarray, row: int) -> float:
    """The float64 in a row, whatever its precision."""
    if bits == DOUBLE:
        return np.uint64(data[U(row)]).view(np.float64)
    code = integer(data, bits, row)
    if bits == SINGLE:
        return np.float64(np.uint32(code).view(np.float32))
    return codes[code]


@Kernel
def end(data: np.ndarray, bits: int, row: int) -> np.int64:
    """The number in a row of a column of ends."""
    if bits == UNARY:
        return read(data, row)
    return np.int64(integer(data, bits, row))


@Kernel
def end_place(data: np.ndarray, bits: int, row: int) -> np.int64:
    """The place in `data` where the number in a row of a column of ends is looked for first."""
    return first_line(data, row) if bits == UNARY else np.int64((row * bits) >> 6)


@Kernel
def _unpack_ends(first: int, end_row: int, data: np.ndarray, bits: int, values: np.ndarray) -> None:
    for row in range(first, end_row):
        values[row] = end(data, bits, row)


@Kernel
def _unpack(first: int, end: int, data: np.ndarray, bits: int, values: np.ndarray) -> None:
    for row in range(first, end):
        values[row] = integer(data, bits, row)


@Kernel
def _decode(
    first: int, end: int, data: np.ndarray, bits: int, codes: np.ndarray, values: np.ndarray
) -> None:
    for row in range(first, end):
        values[row] = number(data, bits, codes, row)
