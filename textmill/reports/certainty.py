"""How sure the differences are, from the scores of every line: intervals, and tests of all pairs.

The models were scored on the same lines in the same order; that is checked, because a paired
interval over lines that do not match would be a small number about nothing.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from textmill.base.errors import UserError
from textmill.reports.records import Certainty, Entry, Leaderboard, Pair
from textmill.scoring.permutation import Comparison, Permutation, every_pair
from textmill.scoring.significance import Bootstrap, Floats, Integers, behind, cut

NEEDED = {"doc", "bytes", "nats_tokens", "nats_spelling"}


def with_certainty(
    board: Leaderboard,
    scores: Callable[[str], pa.Table],
    plan: Bootstrap | None = None,
    test: Permutation | None = None,
) -> Leaderboard:
    """The leaderboard with every model's distance to the best, and every two models compared.

    `scores(name)` is a model's table on the test split, a row a line. A text of fewer lines than
    pieces are needed leaves the leaderboard without either.
    """
    plan, test = plan or Bootstrap(), test or Permutation()
    if not board.models:
        return board
    doc_L, bytes_L, nats_LM = line_scores([entry.name for entry in board.models], scores)
    pieces, compared = cut(doc_L, bytes_L, nats_LM, plan), every_pair(doc_L, nats_LM, test)
    if pieces is None or compared is None:
        return board
    intervals = behind(pieces, 0, plan)
    return dataclasses.replace(
        board,
        models=tuple(
            dataclasses.replace(entry, behind=interval)
            for entry, interval in zip(board.models, intervals, strict=True)
        ),
        certainty=Certainty(
            unit=pieces.unit,
            drawn=pieces.drawn,
            lines=pieces.lines,
            replicates=plan.replicates,
            confidence=plan.confidence,
            seed=plan.seed,
            flipped=compared.pieces,
            flips=compared.draws,
        ),
        pairs=tuple(_pair(board.models, one) for one in compared.pairs),
    )


def _pair(models: tuple[Entry, ...], found: Comparison) -> Pair:
    first, second = models[found.first], models[found.second]
    return Pair(
        first=first.name,
        second=second.name,
        difference=second.bits_per_byte - first.bits_per_byte,
        p=found.p,
        p_adjusted=found.p_adjusted,
    )


def line_scores(
    names: list[str], scores: Callable[[str], pa.Table]
) -> tuple[Integers, Integers, Floats]:
    """Document, bytes and each model's nats of every line."""
    tables = [_with_columns(scores(name), name) for name in names]
    doc_L, bytes_L = tables[0]["doc"].to_numpy(), tables[0]["bytes"].to_numpy()
    nats_LM = np.empty((len(doc_L), len(names)))
    for column, (name, table) in enumerate(zip(names, tables, strict=True)):
        _refuse_other_lines(table, doc_L, bytes_L, f"{name} and {names[0]}")
        nats_LM[:, column] = table["nats_tokens"].to_numpy() + table["nats_spelling"].to_numpy()
    return doc_L, bytes_L, nats_LM


def _with_columns(table: pa.Table, name: str) -> pa.Table:
    if missing := sorted(NEEDED - set(table.column_names)):
        raise UserError(f"the scores of {name} lack {', '.join(missing)}", next_step="dvc repro")
    return table


def _refuse_other_lines(
    table: pa.Table, doc_L: np.ndarray, bytes_L: np.ndarray, whose: str
) -> None:
    same = np.array_equal(table["doc"].to_numpy(), doc_L) and np.array_equal(
        table["bytes"].to_numpy(), bytes_L
    )
    if not same:
        raise UserError(f"the scores of {whose} are not of the same lines", next_step="dvc repro")
