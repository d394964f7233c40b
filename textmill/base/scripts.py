"""Scripts that are written without spaces between words."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

IDEOGRAPHS = r"\p{Han}\p{Hiragana}\p{Katakana}"
ALPHABETS = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"


def share_of_letters(text: pa.Array, scripts: str) -> float:
    """The share of a column's letters that are of these scripts; 0 where there is no letter."""
    letters = _count(text, r"\p{L}")
    # The lengthening mark of kana is a letter of no script, some signs are of one and no letter.
    return min(_count(text, f"[{scripts}]") / letters, 1.0) if letters else 0.0


def _count(text: pa.Array, pattern: str) -> int:
    found: Any = pc.sum(pc.count_substring_regex(text, pattern)).as_py()
    return int(found or 0)
