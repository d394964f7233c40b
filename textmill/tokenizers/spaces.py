"""Whether a text is one that spaces cut into words."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.base.scripts import ALPHABETS, IDEOGRAPHS, share_of_letters
from textmill.tokenizers.counting import Text, blocks_of_text
from textmill.tokenizers.strings import SPACE, flat_bytes

MOST_CHARACTERS_A_WORD = 12
"""English has 5 between two spaces, Finnish and German 7; Chinese and Thai have whole clauses."""
MOST_OF_ALPHABETS, MOST_OF_IDEOGRAPHS = 8, 3
"""Where most letters are Thai, or Chinese: a line of verse is short. Texts that a program has cut
into words have 5, or 2, between two spaces."""
_SAMPLE = 1 << 20


def most_characters_a_word(text: Text) -> int:
    """How many characters a word has at most on average, by the letters that a text begins with."""
    sample = _beginning(text)
    if share_of_letters(sample, IDEOGRAPHS) > 0.5:
        return MOST_OF_IDEOGRAPHS
    if share_of_letters(sample, IDEOGRAPHS + ALPHABETS) > 0.5:
        return MOST_OF_ALPHABETS
    return MOST_CHARACTERS_A_WORD


def characters_a_word(text: Text) -> float:
    """Mean characters between two spaces or line ends; 0 for a text without any."""
    characters = spaces = with_text = 0
    for block in blocks_of_text(text):
        lengths = pc.utf8_length(block).to_numpy()
        characters += int(lengths.sum())
        with_text += int(np.count_nonzero(lengths))
        spaces += int(np.count_nonzero(flat_bytes(block)[0] == SPACE))
    return (characters - spaces) / (spaces + with_text) if with_text else 0.0


def _beginning(text: Text) -> pa.Array:
    blocks, size = list[pa.Array](), 0
    for block in blocks_of_text(text):
        blocks.append(block)
        size += len(flat_bytes(block)[0])
        if size >= _SAMPLE:
            break
    return pa.chunked_array(blocks, pa.large_string()).combine_chunks()


def warning_of_words(text: Text, name: str) -> str | None:
    """What to say where words are no unit of this text, and what to use; None where they are.

    name: the tokenizer's entry in params.yaml.
    """
    mean = characters_a_word(text)
    if mean <= most_characters_a_word(text):
        return None
    return (
        f"tokenizers.{name}: the training text has {mean:.0f} characters between two spaces, so "
        "whole lines become words, nearly every one of them unknown. A language written without "
        "spaces (Chinese, Japanese, Thai, ...) wants kind: char, subword or byte"
    )
