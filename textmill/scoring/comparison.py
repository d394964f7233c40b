"""When two numbers may be compared: one key, and a bill for the same text.

Two numbers are ranked or compared only under one key: the same cleaned test bytes with the same
document bounds, scored by the same protocol.
"""

import hashlib
from typing import Any

PROTOCOL_VERSION = 1
"""Raised when the meaning of a score changes; numbers of different versions are never compared."""


SCORES_ONLY = "it gives scores, not probabilities"
"""Why a model such as stupid backoff has neither a perplexity nor a rank."""
ROUNDED = "its probabilities are rounded to 8 bits and do not sum to one"
"""Why a coded n-gram model has a perplexity, as KenLM's quantised ones, and no rank."""
IMPOSSIBLE = "it gives probability zero to a part of the text"


def comparison_key(test_sha256: str) -> str:
    """Key of a test split, from the sha256 of its cleaned bytes with their document bounds."""
    return hashlib.sha256(f"{test_sha256} protocol {PROTOCOL_VERSION}".encode()).hexdigest()


def why_not_byte_comparable(
    *, lossy_lines: int, unknown_units: int, learnt_unknown: bool
) -> str | None:
    """Why a model's bits per byte would be the bill for another text, or None."""
    if lossy_lines:
        return (
            f"the tokenizer does not give back {lossy_lines:,} of the lines, "
            "as char, byte and subword would"
        )
    if unknown_units and not learnt_unknown:
        return f"{unknown_units:,} unknown units, and training showed the model none"
    return None


def comparable(numbers: dict[str, Any], why_not: str | None) -> dict[str, Any]:
    """The numbers of a text without those that would be compared with another text's bill.

    why_not: why bits per byte may not be compared, or None. Word perplexity is the same bill by the
    word; scores have no perplexity of any kind.
    """
    withheld = ["bits_per_byte", "bits_per_character", "word_perplexity"] if why_not else []
    if why_not == SCORES_ONLY:
        withheld += [name for name in numbers if "perplexity" in name]
    return numbers | dict.fromkeys(withheld)
