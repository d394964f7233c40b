"""A few models held against one another: what `textmill compare` shows.

The leaderboard adjusts its p-values for all of its pairs, so every further model makes each of them
larger. Who asks about two or three models in particular asks about their pairs alone.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from textmill.base.errors import UserError
from textmill.base.files import read_record, read_table
from textmill.lineage.chain import check_model
from textmill.reports import wording
from textmill.reports.certainty import line_scores
from textmill.reports.ties import are_told_apart
from textmill.repository import layout
from textmill.scoring.permutation import MOST_MODELS, every_pair
from textmill.scoring.significance import Bootstrap, behind, cut


@dataclass(frozen=True, slots=True)
class Difference:
    """Two models, the better one first.

    difference: bits per byte that `worse` needs more; low, high: its interval, as if nothing else
    were asked. p: of a paired permutation test. p_adjusted: by Holm, for the pairs that were asked.
    told_apart: as on the leaderboard, a difference that does not show there is none.
    """

    better: str
    worse: str
    better_bits_per_byte: float
    worse_bits_per_byte: float
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    told_apart: bool


def compare(names: Sequence[str], root: Path = Path()) -> tuple[Difference, ...]:
    """Every two of these models on the test text, the best pairs first.

    UserError for fewer than two, for models without scores, of different texts or without bits per
    byte, and for a text that is too short.
    """
    chosen = list(dict.fromkeys(names))
    if len(chosen) < 2:
        raise UserError("it takes two models", next_step="textmill compare MODEL MODEL ...")
    if len(chosen) > MOST_MODELS:
        raise UserError(
            f"{len(chosen)} models are too many to hold against one another",
            next_step=f"name {MOST_MODELS} at most",
        )
    bits = {name: _bits_per_byte(name, root) for name in chosen}
    if len({_summary(name, root)["comparison_key"] for name in chosen}) > 1:
        raise UserError("their scores are not of one test text", next_step="dvc repro")
    ranked = sorted(chosen, key=lambda name: (bits[name], name))
    plan = Bootstrap()
    doc_L, bytes_L, nats_LM = line_scores(
        ranked, lambda name: read_table(root / layout.scores(name) / "test.arrow")
    )
    _check_sums(bytes_L, nats_LM, ranked, bits)
    pieces, compared = cut(doc_L, bytes_L, nats_LM, plan), every_pair(doc_L, nats_LM)
    if pieces is None or compared is None:
        raise UserError(
            f"lines of the test text: {len(doc_L):,}, too few to say how certain a difference is",
            next_step=f"choose a corpus with {plan.least_pieces} lines of test text or more",
        )
    intervals = [behind(pieces, column, plan) for column in range(len(ranked))]
    return tuple(
        Difference(
            better=ranked[pair.first],
            worse=ranked[pair.second],
            better_bits_per_byte=bits[ranked[pair.first]],
            worse_bits_per_byte=bits[ranked[pair.second]],
            difference=interval.difference,
            low=interval.low,
            high=interval.high,
            p=pair.p,
            p_adjusted=pair.p_adjusted,
            told_apart=are_told_apart(interval.difference, pair.p_adjusted, plan.confidence),
        )
        for pair in compared.pairs
        for interval in [intervals[pair.first][pair.second]]
    )


def _check_sums(
    bytes_L: np.ndarray, nats_LM: np.ndarray, names: Sequence[str], bits: Mapping[str, float]
) -> None:
    """UserError where the scores of the lines are not those that the summary is of."""
    found_M = nats_LM.sum(0) / (bytes_L.sum() * math.log(2))
    for name, found in zip(names, found_M, strict=True):
        if not math.isclose(found, bits[name], rel_tol=1e-9):
            raise UserError(
                f"they give {found:.4f} bits per byte, and their summary says {bits[name]:.4f}",
                where=str(layout.scores(name)),
                next_step=f"dvc checkout {layout.scores(name)}   (not in the cache: dvc repro)",
            )


def table(found: Sequence[Difference]) -> Table:
    """For a terminal: a line for every two models."""
    drawn = Table(box=None, pad_edge=False)
    for heading, justify in (
        ("better", "left"), ("worse", "left"), ("bits/byte", "right"), ("difference", "left"),
        ("p (Holm)", "right"), ("apart", "left"),
    ):  # fmt: skip
        is_name = heading in ("better", "worse")  # which fold where the terminal is narrow
        drawn.add_column(heading, justify=justify, no_wrap=not is_name, overflow="fold")  # type: ignore[arg-type]
    for one in found:
        drawn.add_row(
            one.better,
            one.worse,
            f"{wording.bits(one.better_bits_per_byte)} {wording.bits(one.worse_bits_per_byte)}",
            f"{wording.bits_more(one.difference)} {wording.bits_range(one.low, one.high)}",
            f"{one.p_adjusted:.4f}",
            "yes" if one.told_apart else "no",
        )
    return drawn


def _summary(name: str, root: Path) -> Mapping[str, Any]:
    check_model(name, root)
    path = root / layout.summary(name)
    if not path.exists():
        raise UserError(f"{name} has not been scored yet", next_step="dvc repro")
    return read_record(path, "comparison_key", "why_not", "test")


def _bits_per_byte(name: str, root: Path) -> float:
    summary = _summary(name, root)
    bits = summary["test"].get("bits_per_byte")
    if summary["why_not"] or bits is None or not math.isfinite(bits):
        raise UserError(
            f"{name} has no bits per byte to compare: "
            f"{summary['why_not'] or 'a part of the text is impossible to it'}",
            next_step="leave it out",
        )
    return float(bits)
