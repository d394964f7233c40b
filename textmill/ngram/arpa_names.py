r"""How tokens are named in ARPA files, whose fields are parted by spaces.

A token of the text that holds white space, a control character or a backslash, or is spelled like
a reserved name or `<UNK>`, has those characters (of a name the first) as `\xHH`. Every other token
is written as it is, and `<unk>`, `<s>` and `</s>` are the reserved ids.
"""

import re
from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from textmill.tokenizers.strings import as_column, flat_bytes, units_of
from textmill.tokenizers.vocabulary import RESERVED, UNKNOWN, Vocabulary

UNKNOWN_ELSEWHERE = "<UNK>"
"""Another name of `<unk>`, which KenLM takes for it even in a file that has both."""

_ODD = re.compile(r"[\x00-\x20\x7f\\]")
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})")


def names_of(vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """The names of all ids as flat bytes (uint8) and where each begins, and the end."""
    reserved = vocabulary.reserved
    named = [_named(text, reserved) for text in vocabulary.tokens.to_pylist()]
    return flat_bytes(pa.array([*reserved, *named], pa.string()))


def name_of(id: int, vocabulary: Vocabulary) -> str:
    """The name of one id."""
    text = vocabulary.id_to_token(id)
    return text if id < len(vocabulary.reserved) else _named(text, vocabulary.reserved)


def escaped(text: str) -> str:
    r"""A text with `\xHH` for white space, control characters and backslashes."""
    return _ODD.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def ids_of_names(names: pa.Array, vocabulary: Vocabulary) -> np.ndarray:
    """int64 ids; -1 where the vocabulary lacks a name."""
    encoded = names.dictionary_encode()
    types = encoded.dictionary.to_pylist()
    found = ids_of_words(types, vocabulary)
    found[found == UNKNOWN] = -1
    unknown = unknown_name(types, vocabulary)
    for row, name in enumerate(types):
        if name == unknown:
            found[row] = UNKNOWN
        elif name in vocabulary.reserved:
            found[row] = vocabulary.reserved.index(name)
    return found[encoded.indices.to_numpy(zero_copy_only=False)]


def ids_of_words(names: Sequence[str], vocabulary: Vocabulary) -> np.ndarray:
    """int64 ids of names that are not reserved; UNKNOWN where the vocabulary lacks one."""
    tokens = [token_of(name, vocabulary.reserved) for name in names]
    return vocabulary.ids_of(units_of(as_column(tokens))).astype(np.int64)


def unknown_name(names: Collection[str], vocabulary: Vocabulary | None = None) -> str:
    """What the unknown word is called among the names of a file.

    `<UNK>` where there is no `<unk>`, unless `vocabulary` has it as a word; else it is a word.
    """
    knows = "<unk>" in names or (vocabulary is not None and UNKNOWN_ELSEWHERE in vocabulary)
    return RESERVED[UNKNOWN] if knows else UNKNOWN_ELSEWHERE


def token_of(name: str, reserved: Collection[str] = RESERVED) -> str:
    r"""The token that a name stands for: itself, unless it was escaped as names are here.

    No other toolkit escapes, and `\x41` of its file is a word of its text.
    """
    if "\\" not in name:
        return name
    token = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), name)
    return token if _named(token, reserved) == name else name


def _named(text: str, reserved: Collection[str]) -> str:
    if text in reserved or text == UNKNOWN_ELSEWHERE:
        return f"\\x{ord(text[0]):02x}{escaped(text[1:])}"
    return escaped(text) if _ODD.search(text) else text
