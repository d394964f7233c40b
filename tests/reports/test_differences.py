"""Which models are told apart, in one line and as a triangle."""

import dataclasses

import pytest

from textmill.reports.differences import (
    in_a_line,
    not_told_apart,
    p_value,
    same_as,
    triangle,
    why_both,
)
from textmill.reports.ties import is_tied
from textmill.reports.view import View


def test_a_pair_is_told_apart_up_to_the_level_and_not_above(full_board, with_p):
    view = with_p(full_board, [0.049, 0.051, 0.0001, 0.9])
    assert [pair.p_adjusted for pair in not_told_apart(view)] == [0.051, 0.9]
    stricter = dataclasses.replace(full_board.certainty, confidence=0.99)
    view = View(dataclasses.replace(view.board, certainty=stricter))
    assert [pair.p_adjusted for pair in not_told_apart(view)] == [0.049, 0.051, 0.9]
    assert "Holm, 1 %" in in_a_line(view)


def test_the_line_says_all_names_few_and_counts_the_rest(full_board, with_p):
    assert in_a_line(with_p(full_board, [])) == (
        "Every two models are told apart on this text (permutation test, Holm, 5 %)."
    )
    three = in_a_line(with_p(full_board, [0.1, 0.1, 0.1]))
    assert three.endswith(
        ": mix_subword and kn_subword; mix_subword and kn_word; mix_subword and lstm_subword."
    )
    assert in_a_line(with_p(full_board, [0.1] * 4)).endswith("lstm_subword; 1 more pair.")
    assert in_a_line(with_p(full_board, [0.1] * 15)).endswith("lstm_subword; 12 more pairs.")


def test_pairs_are_grouped_by_the_better_model(full_board, with_p):
    found = same_as(with_p(full_board, [0.1, 0.2, 0.001, 0.001, 0.001, 0.3]))
    assert {
        first: [(one.second, one.p_adjusted) for one in pairs] for first, pairs in found.items()
    } == {
        "mix_subword": [("kn_subword", 0.1), ("kn_word", 0.2)],
        "kn_subword": [("kn_word", 0.3)],
    }


def test_brackets_are_held_against_ties_only_where_they_disagree(full_board, with_p):
    assert why_both(with_p(full_board, [])) == ""
    assert why_both(with_p(full_board, [0.051])).startswith("Brackets are for one pair alone")
    first, second, *others = full_board.models
    wide = dataclasses.replace(second, behind=dataclasses.replace(second.behind, low=-0.1))
    holding = dataclasses.replace(full_board, models=(first, wide, *others))
    assert why_both(with_p(holding, [0.051])) == ""
    assert "all 15 pairs at once" in why_both(with_p(holding, [0.049]))
    two = dataclasses.replace(full_board, models=full_board.models[:2], pairs=full_board.pairs[:1])
    assert why_both(with_p(two, [0.2])).startswith("Brackets and test are two methods")


def test_a_tie_is_what_the_test_does_not_tell_from_the_best(full_board, with_p):
    board = with_p(full_board, [0.049, 0.051]).board
    assert [is_tied(entry, board) for entry in board.models] == [
        False, False, True, False, False, False,
    ]  # fmt: skip


def test_of_models_that_are_not_tested_the_interval_decides(full_board):
    second = full_board.models[1]
    untested = dataclasses.replace(full_board, pairs=())
    assert not is_tied(second, untested)
    low = dataclasses.replace(second, behind=dataclasses.replace(second.behind, low=0.0))
    assert is_tied(low, untested)


def test_a_difference_that_rounds_to_zero_tells_nothing_apart(full_board):
    """However certain it is: two models of one bill differ by 1e-13, always in one direction."""
    pairs = [
        dataclasses.replace(pair, difference=1e-13 if place == 1 else 0.01, p_adjusted=1e-4)
        for place, pair in enumerate(full_board.pairs)
    ]
    view = View(dataclasses.replace(full_board, pairs=tuple(pairs)))
    assert not_told_apart(view) == (pairs[1],)
    assert "mix_subword and kn_word" in in_a_line(view)


def test_two_models_and_no_pairs_at_all(full_board, with_p):
    two = dataclasses.replace(full_board, models=full_board.models[:2], pairs=full_board.pairs[:1])
    assert in_a_line(with_p(two, [])).startswith("The two models are told apart")
    none = View(dataclasses.replace(full_board, pairs=(), certainty=None))
    assert in_a_line(none) == ""
    assert triangle(none) == ()


def test_the_triangle_has_a_row_for_each_but_the_best_and_a_cell_for_each_better_one(full_view):
    rows = triangle(full_view)
    models = full_view.board.models
    assert [row.entry for row in rows] == list(models[1:])
    for rank, row in enumerate(rows, 1):
        assert len(row.cells) == rank
        for better, cell in zip(models, row.cells, strict=False):
            expected = row.entry.bits_per_byte - better.bits_per_byte
            assert float(cell.zero + cell.digits) == pytest.approx(expected, abs=0.0051)
            assert len(cell.digits) == 4
            assert cell.is_same == ({row.entry.name, better.name} == {"kn_word", "kn_subword"})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1.00"),
        (0.553, "0.55"),
        (0.0999, "0.10"),
        (0.0949, "0.095"),
        (0.0123, "0.012"),
        (0.00099, "0.0010"),
        (0.0001, "0.0001"),
    ],
)
def test_p_values_keep_what_matters(value, shown):
    assert p_value(value) == shown
