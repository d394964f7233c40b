"""Which methods the page has to explain: those of the models on it, and no others.

A model says what it is in words (`modified Kneser-Ney, order 5`, `LSTM, 1 x 512`); the page
explains those words. A method whose words are not known here is not explained.
"""

import re

from textmill.reports.records import Entry
from textmill.reports.view import View

METHODS = {
    "kneser_ney": r"modified Kneser-Ney, order \d+",
    "additive": r"add-[\d.e+-]+, order \d+",
    "uniform": r"uniform",
    "lstm": r"LSTM, \d+ x \d+",
    "cache": r".+neural cache \(.+\)",
    "dynamic": r".+dynamic evaluation \(.+\).*",
}
MIXTURE = "mixture"
TOKENS = ("char", "subword", "word")
"""Tokenizers that are named by what they do."""


def methods(view: View) -> dict[str, Entry | None]:
    """For every method the best model that uses it, None where there is none."""
    found: dict[str, Entry | None] = dict.fromkeys([*METHODS, MIXTURE])
    for entry in reversed(view.board.models):
        for method, words in METHODS.items():
            if re.fullmatch(words, entry.kind):
                found[method] = entry
        if entry.parts:
            found[MIXTURE] = entry
    return found


def tokens(view: View) -> set[str]:
    """The kinds of tokens that the page explains."""
    return {entry.tokenizer for entry in view.board.models} & set(TOKENS)


def order(entry: Entry) -> int | None:
    """The n of an n-gram model."""
    match = re.search(r"order (\d+)$", entry.kind)
    return int(match[1]) if match else None


def is_counting_and_learning(mixture: Entry, view: View) -> bool:
    """Whether one part of a mixture is an n-gram model and the other a network."""
    groups = {entry.name: entry.group for entry in view.board.models}
    return {groups.get(part) for part in mixture.parts} == {"ngrams", "networks"}
