"""A checksum as fast as memory, so that a mapped model is checked whenever it is opened.

Four sums run side by side over the words of a file; each word is multiplied on by an odd number,
so that no change of a single word goes unseen and places matter. High bits come down in every step:
by products alone the highest would stay where it is, and two changes of it undo each other. It
guards against damage, not against malice: that a model is the one that was trained is what DVC's
hashes are for.
"""

from pathlib import Path

import numpy as np

from textmill.base.compiled import Kernel

FACTOR = 0x9E3779B97F4A7C15


def checksum(path: Path) -> str:
    """Of a file's bytes and length, as hexadecimal text. OSError where it cannot be read."""
    size = path.stat().st_size
    data = np.memmap(path, np.uint8, mode="r") if size else np.zeros(0, np.uint8)
    whole = size // 32 * 32
    rest = np.zeros(32, np.uint8)
    rest[: size - whole] = data[whole:]
    sums = np.full(4, size, np.uint64)
    for part in (data[:whole], rest):
        _sum(np.frombuffer(part, np.uint64), sums)
    return "".join(f"{value:016x}" for value in sums.tolist())


@Kernel
def _sum(words: np.ndarray, sums: np.ndarray) -> None:
    factor, half = np.uint64(FACTOR), np.uint64(32)
    a, b, c, d = sums
    for at in range(0, len(words), 4):
        a = (a + words[at]) * factor
        b = (b + words[at + 1]) * factor
        c = (c + words[at + 2]) * factor
        d = (d + words[at + 3]) * factor
        a, b, c, d = a ^ (a >> half), b ^ (b >> half), c ^ (c >> half), d ^ (d >> half)
    sums[0], sums[1], sums[2], sums[3] = a, b, c, d
