r"""How tokens are named in ARPA files, whose fields are parted by spaces.

A token of the text that holds white space, a control character or a backslash, or is spelled like
a reserved name, has those characters (of a reserved name the first) as `\xHH`. Every other token
is written as it is, and `<unk>`, `<s>` and `</s>` are the reserved ids.
"""

import re

import numpy as np
import pyarrow as pa

from textmill.tokenizers.strings import as_column, flat_bytes, units_of
from textmill.tokenizers.vocabulary import UNKNOWN, Vocabulary

_ODD = re.compile(r"[\x00-\x20\x7f\\]")
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})")


def names_of(vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """The names of all ids as flat bytes (uint8) and where each begins, and the end."""
    texts = vocabulary.tokens.to_pylist()
    reserved = set(vocabulary.reserved)
    escaped = [
        _escape(text, is_reserved=text in reserved)
        if text in reserved or _ODD.search(text)
        else text
        for text in texts
    ]
    return flat_bytes(pa.array([*vocabulary.reserved, *escaped], pa.string()))


def name_of(id: int, vocabulary: Vocabulary) -> str:
    """The name of one id."""
    text = vocabulary.id_to_token(id)
    if id < len(vocabulary.reserved):
        return text
    return _escape(text, is_reserved=True) if text in vocabulary.reserved else escaped(text)


def escaped(text: str) -> str:
    r"""A text with `\xHH` for white space, control characters and backslashes."""
    return _escape(text, is_reserved=False)


def ids_of_names(names: pa.Array, vocabulary: Vocabulary) -> np.ndarray:
    """int64 ids; -1 where the vocabulary lacks a name. `<UNK>` is `<unk>`."""
    encoded = names.dictionary_encode()
    types = encoded.dictionary.to_pylist()
    found = vocabulary.ids_of(units_of(as_column([token_of(name) for name in types]))).astype(
        np.int64
    )
    found[found == UNKNOWN] = -1
    for row, name in enumerate(types):
        if name == "<UNK>" and found[row] < 0:
            found[row] = UNKNOWN
        elif name in vocabulary.reserved:
            found[row] = vocabulary.reserved.index(name)
    return found[encoded.indices.to_numpy(zero_copy_only=False)]


def token_of(name: str) -> str:
    """The token that a name stands for."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), name) if "\\" in name else name


def _escape(text: str, *, is_reserved: bool) -> str:
    if is_reserved:
        return f"\\x{ord(text[0]):02x}{text[1:]}"
    return _ODD.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
