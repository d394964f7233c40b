"""The page: self-contained, escaped, the same bytes for the same view, well formed."""

import dataclasses
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from textmill.reports.html import render_html
from textmill.reports.leaderboard import build
from textmill.reports.pictures.draw import draw
from textmill.reports.pictures.paper import NARROW, WIDE, edge, tokenizer_roles
from textmill.reports.pictures.sizes import frontier
from textmill.reports.records import SourceFile, to_json
from textmill.reports.view import View

KEY = "a" * 64
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Elements with their attributes, text, and elements that were never closed."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.misplaced: list[str] = []
        self.words: list[str] = []
        self.feed(content)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.misplaced.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"[ \n]+", " ", " ".join(self.words))

    def attributes(self, name: str) -> list[tuple[str, str]]:
        return [(tag, attrs[name] or "") for tag, attrs in self.elements if name in attrs]


@pytest.fixture(scope="module")
def page(full_view) -> Page:
    return Page(render_html(full_view))


def test_every_element_is_closed_in_order(page):
    assert page.open == []
    assert page.misplaced == []


def test_ids_are_unique_and_every_reference_within_the_page_has_a_target(page, full_view):
    ids = [value for _, value in page.attributes("id")]
    assert len(ids) == len(set(ids))
    content = render_html(full_view)
    targets = re.findall(r'(?:url\(|href=")#([^")]+)', content)
    assert len(targets) > 20
    assert set(targets) <= set(ids)


def test_nothing_is_loaded_from_elsewhere(page, full_view):
    assert [tag for tag, _ in page.elements if tag in ("script", "link", "iframe", "img")] == []
    assert page.attributes("src") == []
    outside = [(tag, value) for tag, value in page.attributes("href") if not value.startswith("#")]
    assert outside == [("a", "https://example.org/plays.txt")]
    content = render_html(full_view)
    assert "@import" not in content
    assert re.findall(r"url\((?!#)", content) == []
    assert re.findall(r"https?://[^\s\"<]+", content) == ["https://example.org/plays.txt"] * 2


def test_the_page_says_what_a_newcomer_needs(page):
    for words in (
        "mix_subword predicts the test text best",
        "1.400 bits",
        "18\N{NO-BREAK SPACE}% of its size",
        "10\N{NO-BREAK SPACE}% of its bill",
        "not of the training seed",
        "held only against others over the same tokens",
        "old_word : it was scored on another text",
        "public domain",
        "c" * 64,
        "pypi:plays==1.0",
        KEY,
    ):
        assert words in page.text


def test_every_ranked_model_has_a_row_with_its_numbers(full_view):
    content = render_html(full_view)
    table = content[content.index('<table class="ranking">') :]
    rows = re.findall(r"<tr.*?</tr>", table[: table.index("</table>")], flags=re.DOTALL)[1:]
    for row, entry in zip(rows, full_view.board.models, strict=True):
        text = " ".join(re.sub(r"<[^>]+>", " ", row).split())
        assert text.startswith(f"{entry.rank} {entry.name} {entry.kind} {entry.tokenizer}")
        assert f"{entry.bits_per_byte:.3f} {entry.bits_per_byte_valid:.3f}" in text


def test_times_are_shown_only_with_facts(full_view, timed_view):
    without, with_facts = render_html(full_view), render_html(timed_view)
    assert "training</th>" not in without
    assert "training</th>" in with_facts
    assert "3\N{NO-BREAK SPACE}min\N{NO-BREAK SPACE}20\N{NO-BREAK SPACE}s" in with_facts


def test_hostile_names_and_titles_are_only_text(one_metrics, plays):
    evil = '<script>alert("x")</script>&amp;$a_1$'
    text = dataclasses.replace(
        plays,
        title=evil,
        licence=evil,
        sources=("javascript:alert(1)", 'https://x.org/"><b>', f"https://x.org {evil}"),
        files=(SourceFile(evil),),
    )
    found = one_metrics(evil, 1.5, kind=evil, tokenizer_fingerprint=evil) | {"tokenizer": evil}
    other = one_metrics("other", 1.6)
    board = build(
        [(evil, "ngrams"), ("other", "ngrams"), (evil * 2, "ngrams")],
        {evil: found, "other": other},
        KEY,
        text,
    )
    page = Page(render_html(View(board)))
    assert {tag for tag, _ in page.elements} & {"script", "b"} == set()
    assert page.misplaced == []
    assert page.text.count(evil) >= 10
    links = [value for tag, value in page.attributes("href") if tag == "a"]
    assert links == ['https://x.org/"><b>']


def test_letters_that_no_font_of_ours_has_are_drawn_without_a_warning(one_metrics, plays):
    name = "模型_🙂"
    board = build([(name, "ngrams")], {name: one_metrics(name, 1.5)}, KEY, plays)
    assert f">{name}</text>" in draw(View(board))["ranking"].wide


def test_the_same_view_gives_the_same_bytes_in_another_process(full_view, tmp_path):
    board = tmp_path / "board.json"
    board.write_text(to_json(full_view.board), encoding="utf-8")
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 9\naxes.facecolor: red\n")
    code = (
        "import sys; from pathlib import Path\n"
        "from textmill.reports.html import render_html\n"
        "from textmill.reports.records import from_json\n"
        "from textmill.reports.view import View\n"
        f"page = render_html(View(from_json(Path({str(board)!r}).read_text(encoding='utf-8'))))\n"
        "sys.stdout.buffer.write(page.encode())"
    )
    environment = os.environ | {"MATPLOTLIBRC": str(tmp_path), "PYTHONHASHSEED": "7"}
    environment["SOURCE_DATE_EPOCH"] = "1000000000"
    elsewhere = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    here = render_html(View(full_view.board))
    assert elsewhere.stdout.decode() == here
    assert "matplotlib" not in here.lower()


def test_pages_with_little_to_show_leave_sections_out(one_metrics, plays):
    nothing = Page(render_html(View(build([("gone", "ngrams")], {}, KEY, plays))))
    assert "No model can be ranked yet" in nothing.text
    assert [tag for tag, _ in nothing.elements if tag == "svg"] == []
    metrics = {"only": one_metrics("only", 1.5, "subword")}
    single = Page(render_html(View(build([("only", "ngrams")], metrics, KEY, plays))))
    assert "only predicts the test text best" in single.text
    assert "too short for intervals" in single.text
    assert "Not ranked" not in single.text
    assert "no model met anything unknown" in single.text
    assert [tag for tag, _ in single.elements if tag == "svg"] == ["svg"] * 4


def test_a_tie_with_the_best_is_called_a_tie(full_view):
    first, second, *others = full_view.board.models
    close = dataclasses.replace(second.behind, low=-0.002)
    models = (first, dataclasses.replace(second, behind=close), *others)
    page = Page(render_html(View(dataclasses.replace(full_view.board, models=models))))
    assert "kn_subword, is too close to tell apart" in page.text
    assert "tie 0.100 [\N{MINUS SIGN}0.002," in page.text


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
