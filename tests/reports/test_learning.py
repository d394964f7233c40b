"""The picture of learning curves: where the best look is marked and what is cut off above."""

import re
from itertools import pairwise

import pytest

from textmill.reports.curves import Curve
from textmill.reports.pictures.draw import draw
from textmill.reports.pictures.learning import ceiling, from_above, looks_of
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


def test_a_first_look_that_is_not_far_off_is_shown_whole(full_board):
    near = Curve("lstm_char", "char", (1.0, 2.0), (3.4, 2.0))
    assert ceiling(View(full_board, (near,))) == 3.4
    assert from_above(View(full_board, (near,))) == ()
    far = Curve("lstm_char", "char", (1.0, 2.0), (3.6, 2.0))
    assert from_above(View(full_board, (far,))) == (far,)


def of_one_tokenizer(count: int) -> tuple[Curve, ...]:
    return tuple(
        Curve(f"net_{number:02d}", "word", (1.0, 2.0, 3.0), (2.5, 1.8, 1.6 + number / 1000))
        for number in range(count)
    )


def test_networks_of_one_tokenizer_differ_by_dash_and_mark(full_board):
    curves = of_one_tokenizer(20)
    looks = looks_of(View(full_board, curves))
    assert len({(looks[one.name].dashes, looks[one.name].marker) for one in curves}) == 20
    assert len({looks[one.name].paint for one in curves}) == 1
    again = looks_of(View(full_board, curves[::-1]))
    assert again == looks


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_names_of_many_networks_do_not_touch(full_board, layout):
    picture = getattr(draw(View(full_board, of_one_tokenizer(24)))["learning"], layout)
    found = re.findall(r'<text [^>]*? y="([\d.]+)"[^>]*>net_\d+</text>', picture)
    tops = [float(height) for height in found]
    assert len(tops) == 24
    assert all(after - before > 12 for before, after in pairwise(sorted(tops)))
