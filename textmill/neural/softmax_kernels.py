"""Softmax over rows of float32 logits, compiled: a row is read while it lies in the cache.

torch passes over all logits for the bias, the maximum, exp, the sum and the division, each time
from memory; with its exp alone as fast as this (measured), a row at a time takes a third.

exp is Cephes' (Moshier): 2^n times a polynomial of degree five, right to 1.2e-7 of its value
between -20 and 20, and to 3e-7 elsewhere.
Maxima are taken of the bits as integers, since numba has no maximum of floats in vectors.

Suffixes: N positions, V vocabulary or a slice of it.
"""

from typing import Any

import numpy as np

from textmill.base.compiled import F32, I32, InVectors

_LOG2_E, _LN2, _LN2_REST = F32(1.4426950408889634), F32(0.693359375), F32(-2.12194440e-4)
_P0, _P1, _P2 = F32(1.9875691500e-4), F32(1.3981999507e-3), F32(8.3334519073e-3)
_P3, _P4, _P5 = F32(4.1665795894e-2), F32(1.6666665459e-1), F32(5.0000001201e-1)
_ZERO, _HALF, _ONE, _LEAST = F32(0), F32(0.5), F32(1), F32(-87)
_BIAS, _MANTISSA, _SIGN, _REST = I32(127), I32(23), I32(31), I32(0x7FFFFFFF)
_LOW, _ROUND = I32(16), I32(0x7FFF)


@InVectors
def exp(x: Any) -> Any:
    """E to the power of a number of at most 88; 0 below -87, NaN of NaN."""
    bounded = _LEAST if x < _LEAST else x
    n = np.floor(bounded * _LOG2_E + _HALF)
    r = bounded - n * _LN2 - n * _LN2_REST
    y = ((((_P0 * r + _P1) * r + _P2) * r + _P3) * r + _P4) * r + _P5
    power = (y * (r * r) + r + _ONE) * I32((I32(n) + _BIAS) << _MANTISSA).view(F32)
    return _ZERO if x < _LEAST else power


@InVectors
def _ordered(bits: Any) -> Any:
    """The bits of a float as an integer of the same order, and back."""
    return I32(bits ^ ((bits >> _SIGN) & _REST))


@InVectors
def _highest(row_V: np.ndarray, bias_V: np.ndarray) -> Any:
    """The largest of row + bias."""
    most = I32(-0x7FFFFFFF)
    for v in range(len(row_V)):
        most = max(most, _ordered(F32(row_V[v] + bias_V[v]).view(I32)))
    return I32(_ordered(most)).view(F32)


@InVectors
def to_errors(
    logits_NV: np.ndarray,
    bias_V: np.ndarray,
    targets_N: np.ndarray,
    nats_N: np.ndarray,
    bias_errors_V: np.ndarray,
) -> None:
    """Turn logits into softmax(logits + bias) minus one at the target, the loss's gradient.

    The loss goes into `nats_N`; the sum of the rows is added to `bias_errors_V`.
    """
    for n in range(len(logits_NV)):
        row_V, target = logits_NV[n], targets_N[n]
        highest, total = _highest(row_V, bias_V), _ZERO
        nats_N[n] = highest - (row_V[target] + bias_V[target])
        for v in range(len(row_V)):
            power = exp(row_V[v] + bias_V[v] - highest)
            row_V[v] = power
            total += power
        nats_N[n] += np.log(total)
        share = _ONE / total
        for v in range(len(row_V)):
            part = row_V[v] * share
            row_V[v] = part
            bias_errors_V[v] += part
        row_V[target] -= _ONE
        bias_errors_V[target] -= _ONE


@InVectors
def to_errors_of_bfloat16(
    bits_NV: np.ndarray,
    bias_V: np.ndarray,
    targets_N: np.ndarray,
    nats_N: np.ndarray,
    bias_errors_V: np.ndarray,
) -> None:
    """The same of logits in bfloat16, given as their bits (uint16); computed in float32."""
    scratch_1V = np.empty((1, len(bias_V)), np.float32)
    for n in range(len(bits_NV)):
        bits_V, row_V = bits_NV[n], scratch_1V[0]
        for v in range(len(bits_V)):
            row_V[v] = I32(I32(bits_V[v]) << _LOW).view(F32)
        one = slice(n, n + 1)
        to_errors(scratch_1V, bias_V, targets_N[one], nats_N[one], bias_errors_V)
        for v in range(len(bits_V)):
            bits = F32(row_V[v]).view(I32)
            bits_V[v] = (bits + _ROUND + ((bits >> _LOW) & I32(1))) >> _LOW
