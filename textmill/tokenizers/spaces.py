"""Whether a text is one that spaces cut into words."""

import numpy as np
import pyarrow.compute as pc

from textmill.tokenizers.counting import Text, blocks_of_text
from textmill.tokenizers.strings import SPACE, flat_bytes

MOST_CHARACTERS_A_WORD = 12
"""English has 5 between two spaces, Finnish and German 7; Chinese and Thai have whole clauses."""


def characters_a_word(text: Text) -> float:
    """Mean characters between two spaces or line ends; 0 for a text without any."""
    characters = spaces = with_text = 0
    for block in blocks_of_text(text):
        lengths = pc.utf8_length(block).to_numpy()
        characters += int(lengths.sum())
        with_text += int(np.count_nonzero(lengths))
        spaces += int(np.count_nonzero(flat_bytes(block)[0] == SPACE))
    return (characters - spaces) / (spaces + with_text) if with_text else 0.0


def warning_of_words(text: Text, name: str) -> str | None:
    """What to say where words are no unit of this text, and what to use; None where they are.

    name: the tokenizer's entry in params.yaml.
    """
    mean = characters_a_word(text)
    if mean <= MOST_CHARACTERS_A_WORD:
        return None
    return (
        f"tokenizers.{name}: the training text has {mean:.0f} characters between two spaces, so "
        "whole lines become words, nearly every one of them unknown. A language written without "
        "spaces (Chinese, Japanese, Thai, ...) wants kind: char, subword or byte"
    )
