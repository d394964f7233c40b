"""Certainty on the leaderboard: from line scores to the distance of every model and every two."""

import dataclasses
from itertools import combinations

import pytest

from textmill.base.errors import UserError
from textmill.reports.certainty import with_certainty
from textmill.reports.leaderboard import build
from textmill.reports.ties import is_tied
from textmill.reports.view import View, behind
from textmill.scoring.significance import Bootstrap

KEY = "a" * 64
PLAN = Bootstrap(replicates=300)


def two_models(one_metrics, plays):
    metrics = {"ahead": one_metrics("ahead", 1.4), "after": one_metrics("after", 1.5)}
    return build([("ahead", "ngrams"), ("after", "ngrams")], metrics, KEY, plays)


def test_the_distance_is_the_difference_of_the_two_scores(full_board):
    best = full_board.models[0]
    assert best.behind is not None
    assert (best.behind.difference, best.behind.low, best.behind.high) == (0.0, 0.0, 0.0)
    for entry in full_board.models[1:]:
        expected = entry.bits_per_byte - best.bits_per_byte
        assert entry.behind.difference == pytest.approx(expected, abs=1e-9)
        assert entry.behind.low < expected < entry.behind.high
        assert behind(entry, View(full_board)).startswith(f"{expected:.3f} [")


def test_one_document_is_drawn_in_blocks_and_sixty_are_drawn_whole(one_metrics, plays, scored):
    board = two_models(one_metrics, plays)
    for documents, unit, drawn, lines in ((1, "block", 60, 2), (60, "document", 60, None)):
        tables = {"ahead": scored(1.4, 1, documents), "after": scored(1.5, 2, documents)}
        certainty = with_certainty(board, tables.__getitem__, PLAN).certainty
        assert (certainty.unit, certainty.drawn, certainty.lines) == (unit, drawn, lines)


def test_equal_lines_are_a_tie_at_exactly_zero(one_metrics, plays, scored):
    metrics = {name: one_metrics(name, 1.4) for name in ("one", "two")}
    board = build([("one", "ngrams"), ("two", "ngrams")], metrics, KEY, plays)
    board = with_certainty(board, lambda _: scored(1.4, 1), PLAN)
    second = board.models[1]
    assert dataclasses.astuple(second.behind) == (0.0, 0.0, 0.0)
    assert is_tied(second, board)
    assert behind(second, View(board)) == "0.000 [0.000, 0.000] tie"


def test_a_text_of_few_lines_has_no_intervals(one_metrics, plays, scored):
    board = two_models(one_metrics, plays)
    short = {"ahead": scored(1.4, 1).slice(0, 49), "after": scored(1.5, 2).slice(0, 49)}
    assert with_certainty(board, short.__getitem__, PLAN) == board


def test_every_two_models_are_compared_in_the_order_of_their_ranks(full_board):
    names = [entry.name for entry in full_board.models]
    scores = {entry.name: entry.bits_per_byte for entry in full_board.models}
    assert [(one.first, one.second) for one in full_board.pairs] == list(combinations(names, 2))
    for one in full_board.pairs:
        assert one.difference == scores[one.second] - scores[one.first] >= 0
        assert 1 / 2_001 <= one.p <= one.p_adjusted <= 1
    far = next(one for one in full_board.pairs if one.second == "uniform_char")
    close = next(
        one for one in full_board.pairs if one.second == "kn_word" and one.first[:2] == "kn"
    )
    assert (far.p, far.p_adjusted) == (1 / 2_001, pytest.approx(15 / 2_001))
    assert close.p_adjusted == close.p > 0.5
    assert (full_board.certainty.flipped, full_board.certainty.flips) == (60, 2_000)


def test_equal_models_have_p_one_in_the_leaderboard(one_metrics, plays, scored):
    board = with_certainty(two_models(one_metrics, plays), lambda _: scored(1.4, 1), PLAN)
    assert [(one.p, one.p_adjusted) for one in board.pairs] == [(1.0, 1.0)]


def test_scores_of_other_lines_are_refused_by_name(one_metrics, plays, scored):
    board = two_models(one_metrics, plays)
    tables = {"ahead": scored(1.4, 1), "after": scored(1.5, 2, documents=2)}
    with pytest.raises(UserError, match="after and ahead are not of the same lines"):
        with_certainty(board, tables.__getitem__, PLAN)


def test_no_ranked_model_needs_no_scores(plays):
    board = build([("missing", "ngrams")], {}, KEY, plays)
    assert with_certainty(board, {}.__getitem__) is board
