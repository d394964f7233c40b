"""Pictures: the page's colours, order and shape of what is drawn, room for names."""

import dataclasses
import re

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
    name = "n" * 300
    board = build([(name, "ngrams")], {name: one_metrics(name, 1.5)}, KEY, plays)
    for paper, drawn in zip((WIDE, NARROW), _both(View(board)), strict=True):
        (shown,) = re.findall(r">(n+…)</text>", drawn)
        assert shown == paper.shown(name)
        assert 10 < len(shown) < 60
        assert paper.room([name]) < 0.5 * paper.width


def _both(view: View) -> tuple[str, str]:
    picture = draw(view)["ranking"]
    return picture.wide, picture.narrow
