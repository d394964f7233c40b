"""Pictures: the page's colours, order and shape of what is drawn, room for names."""

import dataclasses
import re
from itertools import combinations

from textmill.reports.leaderboard import build
from textmill.reports.pictures.draw import draw
from textmill.reports.pictures.paper import NARROW, WIDE, edge, tokenizer_roles
from textmill.reports.pictures.sizes import frontier
from textmill.reports.view import View

KEY = "a" * 64


def test_letters_that_no_font_of_ours_has_are_drawn_without_a_warning(one_metrics, plays):
    name = "模型_🙂"
    board = build([(name, "ngrams")], {name: one_metrics(name, 1.5)}, KEY, plays)
    assert f">{name}</text>" in draw(View(board))["ranking"].wide


def test_pictures_use_only_colours_of_the_page(full_view):
    for picture in draw(full_view).values():
        for drawn in (picture.wide, picture.narrow):
            assert re.findall(r"#[0-9a-f]{6}", drawn) == []
            assert "var(--ink)" in drawn


def test_dots_stand_in_order_of_bits_per_byte_and_the_far_one_at_the_edge(full_view):
    drawn = draw(full_view)["ranking"].wide
    names = re.findall(r">([a-z]+_[a-z]+)</text>", drawn)
    assert names == [entry.name for entry in full_view.board.models]
    assert edge(full_view) < 6.6
    assert edge(full_view) > 1.9
    near = View(dataclasses.replace(full_view.board, models=full_view.board.models[:5]))
    assert edge(near) == float("inf")


def test_colours_follow_the_tokenizer_not_the_rank(full_view):
    roles = tokenizer_roles(full_view)
    assert roles == {"char": "series-0", "subword": "series-1", "word": "series-2"}
    board = dataclasses.replace(full_view.board, models=full_view.board.models[::-1])
    assert tokenizer_roles(View(board)) == roles


def test_frontier_is_what_no_smaller_model_beats(full_view):
    sizes = {
        "mix_subword": 50,
        "kn_subword": 30,
        "kn_word": 20,
        "lstm_subword": 20,
        "lstm_char": 10,
    }
    models = [
        dataclasses.replace(entry, bytes_on_disk=sizes[entry.name])
        for entry in full_view.board.models[:5]
    ]
    assert [entry.name for entry in frontier(models)] == [
        "lstm_char",
        "kn_word",
        "kn_subword",
        "mix_subword",
    ]


def test_long_names_are_cut_so_that_the_picture_keeps_its_room(one_metrics, plays):
    name = "n" * 300 + "e" * 300
    board = build([(name, "ngrams")], {name: one_metrics(name, 1.5)}, KEY, plays)
    for paper, drawn in zip((WIDE, NARROW), _layouts(View(board), "ranking"), strict=True):
        (shown,) = re.findall(r">(n+…e+)</text>", drawn)
        assert shown == paper.shown(name)
        assert 10 < len(shown) < 60
        assert paper.room([name]) < 0.5 * paper.width


def test_no_two_ranks_are_printed_over_each_other(many_models):
    """Of twelve pairs of models of one size whose scores hardly differ."""
    board = many_models(24)
    models = [
        dataclasses.replace(entry, bits_per_byte=1.4 + 0.03 * (n // 2) + 0.002 * (n % 2))
        for n, entry in enumerate(board.models)
    ]
    for drawn in _layouts(View(dataclasses.replace(board, models=tuple(models))), "sizes"):
        found = re.findall(r'<text [^>]*? x="([\d.]+)" y="([\d.]+)"[^>]*>\d+</text>', drawn)
        assert len(found) == 24
        for (x, y), (other_x, other_y) in combinations(found, 2):
            is_beside = abs(float(x) - float(other_x)) > 10
            assert is_beside or abs(float(y) - float(other_y)) > 8


def _layouts(view: View, name: str) -> tuple[str, str]:
    picture = draw(view)[name]
    return picture.wide, picture.narrow
