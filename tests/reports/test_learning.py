"""The picture of learning curves: where the best look is marked and what is cut off above."""

import re

import pytest

from textmill.reports.curves import Curve
from textmill.reports.pictures.draw import draw
from textmill.reports.pictures.learning import ceiling, from_above
from textmill.reports.view import View

STEEP = Curve("lstm_char", "char", (1.0, 2.0, 3.0), (9.0, 2.2, 2.0))
TURNING = Curve("lstm_subword", "subword", (1.0, 2.0, 3.0, 4.0), (1.9, 1.6, 1.7, 1.8))


def described(view: View) -> str:
    return re.search(r'aria-label="([^"]+)"', draw(view)["learning"].wide)[1]


def test_the_level_of_a_network_is_its_best_look_and_not_its_last(full_board):
    said = described(View(full_board, (TURNING,)))
    assert said.startswith("Bits per byte on validation while training. At best: ")
    assert "lstm_subword 1.600" in said


def test_only_what_begins_above_the_picture_is_said_to_come_from_above(full_board):
    view = View(full_board, (STEEP, TURNING))
    assert ceiling(view) == pytest.approx(2.0 + 0.6 * 1.49)
    assert from_above(view) == (STEEP,)
    assert from_above(View(full_board, (TURNING,))) == ()


def rings_and_arrows(view: View) -> tuple[int, int]:
    """Marks filled with the colour of the paper, and three-cornered ones."""
    picture = draw(view)["learning"].wide
    rings = re.findall(r"<use [^>]*fill: var\(--paper\)", picture)
    corners = re.findall(r'<path id="[^"]*" d="([^"]+)"', picture)
    return len(rings), sum(path.count("L") == 2 and "z" in path for path in corners)


def test_every_network_has_one_ring_and_only_the_cut_one_an_arrow(full_board):
    assert rings_and_arrows(View(full_board, (STEEP, TURNING))) == (2, 1)
    assert rings_and_arrows(View(full_board, (TURNING,))) == (1, 0)
