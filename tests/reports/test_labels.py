"""Labels: apart, near what they name, none over another."""

import random
from itertools import pairwise

import pytest

from textmill.reports.pictures.labels import Box, beside, spread


def test_labels_that_meet_move_apart_about_their_mean():
    assert spread([1.0, 1.0], 1.0, -9.0, 9.0) == [0.5, 1.5]
    assert spread([0.0, 5.0, 5.2, 9.0], 1.0, -9.0, 20.0) == pytest.approx([0.0, 4.6, 5.6, 9.0])


def test_pools_that_grow_into_each_other_move_as_one():
    assert spread([0.0, 0.0, 1.0], 1.0, -9.0, 9.0) == pytest.approx([-2 / 3, 1 / 3, 4 / 3])


def test_labels_stay_between_both_ends_and_keep_their_distance():
    heights = spread([0.0] * 5 + [10.0] * 3, 1.0, 0.0, 10.0)
    assert heights == pytest.approx([0.0, 1.0, 2.0, 3.0, 4.0, 8.0, 9.0, 10.0])
    full = spread([3.0] * 11, 1.0, 0.0, 10.0)
    assert full == pytest.approx([float(place) for place in range(11)])
    assert spread([], 1.0, 0.0, 1.0) == []


def test_what_overlaps_is_an_area():
    assert Box(0, 0, 4, 4).overlap(Box(3, 2, 4, 4)) == 1 * 2
    assert Box(0, 0, 4, 4).overlap(Box(4, 0, 4, 4)) == 0


def test_a_lone_label_stands_above_to_the_right():
    (place,) = beside([Box(50, 50, 8, 8)], [(6, 6)], Box(50, 50, 100, 100))
    assert (place.x, place.y) == (50 + 7 + 1, 50 + 7)


def test_a_label_stays_inside_the_frame():
    (place,) = beside([Box(98, 98, 8, 8)], [(6, 6)], Box(50, 50, 100, 100))
    assert place.x < 98
    assert place.y < 98


def test_no_label_covers_a_mark_or_another_label():
    draw = random.Random(1)
    marks = [Box(draw.uniform(20, 580), draw.uniform(20, 280), 8, 8) for _ in range(24)]
    marks += [Box(300 + 5 * n, 150 + 5 * n, 8, 8) for n in range(4)]
    places = beside(marks, [(12, 9)] * len(marks), Box(300, 150, 600, 300))
    for number, place in enumerate(places):
        taken = [*marks, *places[:number]]
        assert sum(place.overlap(other) for other in taken) < 1e-9
    assert all(one != other for one, other in pairwise(places))
