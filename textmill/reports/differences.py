"""Which models a text tells apart: in one line for every form, and as a triangle for the page.

The intervals hold each model against the best alone. Here every two are compared, by a permutation
test whose p-values are adjusted for all of them, so that a leaderboard of many models does not
find a difference somewhere by luck.
"""

from dataclasses import dataclass

from textmill.reports import ties, wording
from textmill.reports.records import Entry, Pair
from textmill.reports.view import View, how_certain
from textmill.scoring.permutation import MOST_MODELS

PAIRS_NAMED = 3


@dataclass(frozen=True, slots=True)
class Cell:
    """A difference in the triangle. A narrow screen leaves `zero` out."""

    zero: str
    digits: str
    is_same: bool
    """The test does not tell the two models apart, or not by a difference that shows."""
    p: str


@dataclass(frozen=True, slots=True)
class Row:
    """A model, and how much more it needs than each better one."""

    entry: Entry
    cells: tuple[Cell, ...]


def level(view: View) -> str:
    """`5 %`: the chance of any false difference among all pairs that is put up with."""
    certainty = view.board.certainty
    return f"{100 * (1 - certainty.confidence):g} %" if certainty else ""


def not_told_apart(view: View) -> tuple[Pair, ...]:
    """The pairs whose adjusted p-value is above the level, or whose difference is nothing."""
    return tuple(pair for pair in view.board.pairs if ties.is_same(pair, view.board))


def same_as(view: View) -> dict[str, list[Pair]]:
    """Those pairs by the name of the better model."""
    found: dict[str, list[Pair]] = {}
    for pair in not_told_apart(view):
        found.setdefault(pair.first, []).append(pair)
    return found


def in_a_line(view: View) -> str:
    """What the tests say of all pairs; empty where there is nothing to compare."""
    if not view.board.pairs:
        return ""
    among = f"among the best {MOST_MODELS} " if len(view.board.models) > MOST_MODELS else ""
    how = f"{among}on this text (permutation test, Holm, {level(view)})"
    same = not_told_apart(view)
    if not same:
        which = "Every two models" if len(view.board.pairs) > 1 else "The two models"
        return f"{which} are told apart {how}."
    named = [f"{pair.first} and {pair.second}" for pair in same[:PAIRS_NAMED]]
    more = len(same) - PAIRS_NAMED
    if more > 0:
        named.append(f"{more} more pairs" if more > 1 else "1 more pair")
    return f"Not told apart {how}: {'; '.join(named)}."


def why_both(view: View) -> str:
    """Why brackets and ties do not say the same; empty where they do."""
    board = view.board
    if not any(ties.do_disagree(entry, board) for entry in board.models[1:]):
        return ""
    if len(board.pairs) == 1:
        return "Brackets and test are two methods, which can disagree about a close pair."
    return (
        "Brackets are for one pair alone, ties (not told apart) for all "
        f"{len(board.pairs)} pairs at once: about a close pair they can disagree."
    )


def below(view: View) -> tuple[str, ...]:
    """What stands below the main table of a plain form: of intervals, of pairs, and of both."""
    return tuple(filter(None, (how_certain(view), in_a_line(view), why_both(view))))


def triangle(view: View) -> tuple[Row, ...]:
    """A row for every model but the best, a cell for every model before it."""
    found = {(pair.first, pair.second): pair for pair in view.board.pairs}
    models = view.board.models[:MOST_MODELS]
    return tuple(
        Row(
            entry,
            tuple(_cell(found[better.name, entry.name], view) for better in models[:rank]),
        )
        for rank, entry in enumerate(models)
        if rank > 0 and found
    )


def p_value(value: float) -> str:
    """`0.55`, `0.012`, `0.0002`: two digits."""
    return f"{value:.{3 if value >= 0.001 else 4}f}" if value < 0.095 else f"{value:.2f}"


def _cell(pair: Pair, view: View) -> Cell:
    shown, is_same = wording.bits_more(pair.difference), ties.is_same(pair, view.board)
    if pair.difference >= wording.LARGE:
        return Cell("", shown, is_same, _p(pair))
    if pair.difference >= 0.9995:
        return Cell("", f"{pair.difference:.2f}", is_same, _p(pair))
    return Cell(shown[:-4], shown[-4:], is_same, _p(pair))


def _p(pair: Pair) -> str:
    return f"p = {p_value(pair.p)}, adjusted {p_value(pair.p_adjusted)}"
