"""Which models are a tie: one answer, which every form of the leaderboard gives.

An interval holds one model against the best as if no other pair had been looked at. A tie is what
the permutation tests do not tell apart once they are adjusted for all pairs, so a close model can
have an interval without zero and still be a tie.
"""

from textmill.reports.records import Entry, Leaderboard, Pair

SMALLEST = 0.0005
"""Bits per byte that the table shows. Less may be certain, and tells no model from another."""


def are_told_apart(difference: float, p_adjusted: float, confidence: float) -> bool:
    """Whether the adjusted p-value is at the level or below, and the difference one that shows."""
    return p_adjusted <= 1 - confidence and abs(difference) >= SMALLEST


def is_same(pair: Pair, board: Leaderboard) -> bool:
    """Whether the two of a pair are not told apart."""
    confidence = 0.0 if board.certainty is None else board.certainty.confidence
    return not are_told_apart(pair.difference, pair.p_adjusted, confidence)


def is_tied(entry: Entry, board: Leaderboard) -> bool:
    """Whether a model that is not the best is not told apart from it.

    Of many models only the best are tested; about the others the interval decides.
    """
    if entry.rank == 1 or entry.behind is None:
        return False
    pair = _with_best(entry, board)
    return entry.behind.low <= 0.0 if pair is None else is_same(pair, board)


def do_disagree(entry: Entry, board: Leaderboard) -> bool:
    """Whether the interval holds zero and the test tells it from the best, or the reverse."""
    pair = _with_best(entry, board)
    if pair is None or entry.behind is None:
        return False
    return (entry.behind.low > 0.0) != _is_significant(pair, board)


def _with_best(entry: Entry, board: Leaderboard) -> Pair | None:
    names = (board.models[0].name, entry.name)
    return next((pair for pair in board.pairs if (pair.first, pair.second) == names), None)


def _is_significant(pair: Pair, board: Leaderboard) -> bool:
    return board.certainty is None or pair.p_adjusted <= 1 - board.certainty.confidence
