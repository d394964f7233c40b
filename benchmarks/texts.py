"""Texts that several benchmarks read: the shared novels, or words drawn by Zipf's law."""

import lzma
import os
from itertools import pairwise
from pathlib import Path

import numpy as np

DATA = Path(os.environ.get("TEXTMILL_TEST_DATA", "../shared/data"))


def some_text(n_words: int) -> list[str]:
    """Lines of about 15 words between single spaces, lower case."""
    novels = DATA / "novels100.txt.xz"
    if novels.exists():
        with lzma.open(novels, "rt", encoding="utf-8", newline="\n") as file:
            words = file.read(n_words * 7).lower().split()[:n_words]
    else:
        names = np.array([f"w{i}" for i in range(50_000)])
        chances = 1 / np.arange(1, len(names) + 1)
        drawn = np.random.default_rng(0).choice(len(names), n_words, p=chances / chances.sum())
        words = names[drawn].tolist()
    lengths = np.random.default_rng(1).integers(1, 30, len(words) // 15)
    bounds = [0, *np.cumsum(lengths).tolist()]
    return [" ".join(words[i:j]) for i, j in pairwise(bounds) if j <= len(words)]


def write_four_times(lines: list[str], path: Path) -> None:
    """The lines and three copies; of each copy a fifth of the words is drawn from the unigrams."""
    words = np.array(" ".join(lines).split(" "), dtype=object)
    ends = np.cumsum([len(line.split(" ")) for line in lines])[:-1]
    random = np.random.default_rng(0)
    with path.open("w") as file:
        for copy in range(4):
            drawn = words.copy()
            if copy:
                anew = np.flatnonzero(random.random(len(words)) < 0.2)
                drawn[anew] = words[random.integers(0, len(words), len(anew))]
            for line in np.split(drawn, ends):
                file.write(" ".join(line) + "\n")
