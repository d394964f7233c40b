"""What a model says of a text that is no part of the corpus: every token, and the totals.

The text is one document. Beside the numbers of the leaderboard stand two that other toolkits
print: perplexity without the tokens that are unknown (or impossible) to the model, left out of sum
and count alike, and the same without line ends in the count. SRILM calls them ppl and ppl1; the
first is KenLM's "excluding OOVs".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from textmill.scoring.comparison import (
    IMPOSSIBLE,
    ROUNDED,
    SCORES_ONLY,
    comparable,
    why_not_byte_comparable,
)
from textmill.scoring.likelihood import token_nats
from textmill.scoring.protocol import LanguageModel
from textmill.scoring.units import finite, measure, perplexity, scores_table
from textmill.shards.lines import TextLines
from textmill.shards.reader import lines_of_table
from textmill.shards.writer import Codec, table_of
from textmill.tokenizers.strings import as_column
from textmill.tokenizers.vocabulary import END, UNKNOWN

NO_SPELLING = "no model spells its unknown words"
STREAMS_OF_A_TEXT = 1


@dataclass(frozen=True, slots=True)
class TextScores:
    """Scores of L lines and T tokens.

    tokens: (T,) ids, each line ended by `</s>`. line: (T,) number of each one's line, from 1.
    nats: (T,) float64, -ln p. unknown_texts: what stands behind each `<unk>`, in order.
    numbers: the totals, by name; None where there is no such number. why_not: why there are no bits
    per byte, or None.
    """

    tokens: np.ndarray
    line: np.ndarray
    nats: np.ndarray
    unknown_texts: list[str]
    numbers: dict[str, Any]
    why_not: str | None


def score_text(
    model: LanguageModel,
    codec: Codec,
    lines: Sequence[str],
    *,
    spells: bool = True,
    learnt_unknown: bool = True,
    gives_probabilities: bool = True,
    is_rounded: bool = False,
) -> TextScores:
    """Score the lines, at least one, as one document.

    spells: whether the bill of `codec` is one. learnt_unknown: whether the model can have learnt
    the probability of `<unk>`. gives_probabilities: whether its scores after a history sum to one;
    is_rounded: whether they would, if they were not rounded to 8 bits.
    """
    column = TextLines(as_column(lines), np.zeros(len(lines), np.int32))
    encoded = codec.tokenizer.encode(column.text)
    read = lines_of_table(table_of(column, encoded, codec.bill))
    nats = token_nats(model, read, streams=STREAMS_OF_A_TEXT)
    why_not = why_not_byte_comparable(
        lossy_lines=encoded.lossy_lines,
        unknown_units=len(encoded.unknown_texts),
        learnt_unknown=learnt_unknown,
    )
    if len(encoded.unknown_texts) and not spells:
        why_not = NO_SPELLING
    if is_rounded:
        why_not = ROUNDED
    if not np.all(np.isfinite(nats)):
        why_not = IMPOSSIBLE
    if not gives_probabilities:
        why_not = SCORES_ONLY
    numbers = measure(scores_table(read, nats)) | _as_srilm(read.tokens, nats)
    return TextScores(
        tokens=read.tokens,
        line=np.repeat(np.arange(1, len(lines) + 1), np.diff(read.offsets)),
        nats=nats,
        unknown_texts=encoded.unknown_texts.to_pylist(),
        numbers={"lines": len(lines)} | comparable(numbers, why_not),
        why_not=why_not,
    )


def _as_srilm(tokens: np.ndarray, nats: np.ndarray) -> dict[str, Any]:
    impossible = ~np.isfinite(nats)
    counted = ~impossible & (tokens != UNKNOWN)
    ends = tokens[counted] == END
    total = float(nats[counted].sum())
    ppl, ppl1 = srilm_perplexities(total, int((~ends).sum()), int(ends.sum()))
    return {
        "perplexity_without_unknown": finite(ppl),
        "perplexity_without_line_ends": finite(ppl1),
        "impossible": int(impossible.sum()),
    }


def srilm_perplexities(nats: float, tokens: int, line_ends: int) -> tuple[float, float]:
    """(ppl, ppl1) of SRILM, from the tokens and line ends that are neither unknown nor impossible.

    nats: the sum over both; tokens: how many, line ends not counted. Infinite where there is none.
    """
    counts = tokens + line_ends, tokens
    with_ends, without = (perplexity(nats, count) if count else np.inf for count in counts)
    return with_ends, without
