"""The page: self-contained, escaped, the same bytes for the same view, well formed."""

import dataclasses
import os
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from textmill.reports.curves import Curve
from textmill.reports.html import render_html
from textmill.reports.leaderboard import build
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
    docs = [value for _, value in outside if value.startswith("../docs/")]
    assert set(docs) == {"../docs/scoring.md", "../docs/models.md"}
    assert [one for one in outside if one[1] not in docs] == [
        ("a", "https://example.org/plays.txt")
    ]
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
    links = [link for link in links if not link.startswith("../docs/")]
    assert links == ['https://x.org/"><b>']


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


def test_a_tie_with_the_best_is_called_a_tie_and_its_interval_explained(full_view, with_p):
    view = with_p(full_view.board, [0.3])
    page = Page(render_html(view))
    said = "kn_subword, needs 0.100 more, too little to tell the two apart on this text."
    assert said in page.text
    assert page.text.count("tie 0.100 [") == 1
    assert view.board.models[1].behind.low > 0
    assert "Brackets are for one pair alone, ties (not told apart) for all 15 pairs" in page.text


def test_where_nothing_is_a_tie_the_page_has_no_mark_and_no_caveat(full_view):
    page = Page(render_html(full_view))
    assert "kn_subword, needs 0.100 more." in page.text
    assert "tie 0." not in page.text
    assert "Brackets are" not in page.text


def test_the_documents_that_the_page_links_to_are_in_the_checkout(page, root):
    links = {value for _, value in page.attributes("href") if value.startswith("../")}
    assert len(links) == 2
    assert all((root / "reports" / link).resolve().is_file() for link in links)


def test_the_triangle_holds_every_difference_and_marks_what_is_not_told_apart(full_view):
    content = render_html(full_view)
    table = content[content.index('<table class="triangle"') :]
    rows = re.findall(r"<tr>.*?</tr>", table[: table.index("</table>")], flags=re.DOTALL)[1:]
    shown = [re.sub(r"<[^>]+>", "", row).split() for row in rows]
    assert shown[0] == ["2", "kn_subword", "0.100"]
    assert shown[1] == ["3", "kn_word", "0.100", "0.000", "not", "told", "apart"]
    assert shown[2] == ["4", "lstm_subword", "0.200", "0.100", "0.100"]
    assert shown[4] == ["6", "uniform_char", "5.20", "5.10", "5.10", "5.00", "4.70"]
    assert table.count(" not told apart</span>") == 1
    assert "not told apart on this text: 1 of 15 pairs." in Page(content).text
    assert "kn_subword and kn_word p = 0.99 Each p is adjusted for all 15 pairs." in named(content)


def named(content: str) -> str:
    """The words of the list of pairs that are not told apart."""
    start = content.index("<details")
    return Page(content[start : content.index("</details>")] + "</details>").text


def test_many_pairs_are_listed_by_the_better_model_and_folded(full_view, with_p):
    few, many = (render_html(with_p(full_view.board, [0.1] * n)) for n in (6, 7))
    assert '<details class="pairs" open>' in few
    assert '<details class="pairs">' in many
    assert "not told apart on this text: 7 of 15 pairs." in Page(many).text
    assert named(many).count("mix_subword and kn_subword p = 0.10 , kn_word p = 0.10 ,") == 1
    assert named(many).count(" p = 0.10") == 7


@pytest.mark.parametrize(("models", "scrolls", "dense"), [(11, 0, 0), (14, 1, 1), (24, 1, 1)])
def test_a_table_of_many_columns_is_compact_and_says_that_it_scrolls(
    many_models, models, scrolls, dense
):
    content = render_html(View(many_models(models)))
    assert content.count("it scrolls sideways") == scrolls
    assert content.count('<div class="scroll boxed dense"') == dense
    assert content.count('<th class="name" scope="row">') == models - 1
    assert Page(content).misplaced == []


def test_two_models_that_are_told_apart_need_no_table(full_board):
    two = dataclasses.replace(full_board, models=full_board.models[:2], pairs=full_board.pairs[:1])
    content = render_html(View(two))
    assert "told apart on this text" in content
    assert '<table class="triangle"' not in content
    assert "Holm" not in content


def test_the_page_explains_the_methods_that_appear_and_no_others(full_view, full_board):
    page = Page(render_html(full_view)).text
    assert "Why a mixture wins" in page
    assert "mix_subword is 0.55 kn_subword + 0.45 lstm_subword" in page
    assert "of order 5, predicts a token from the 4 before it" in page
    assert "2 x 300 : layers and numbers in each" in page
    assert "Add-k" not in page
    networks = [entry for entry in full_board.models if entry.group == "networks"]
    page = Page(render_html(View(dataclasses.replace(full_board, models=networks, pairs=())))).text
    assert "LSTM" in page
    for absent in ("Kneser", "A mixture", "Uniform", "N-gram models", "what stands between"):
        assert absent not in page, absent


def learnt(content: str) -> tuple[str, list[str]]:
    """The words above the curves, and those of the legend."""
    above, legend = content[content.index("<h2>How the networks") :].split('<ul class="legend">')[
        :2
    ]
    return Page(above).text, Page(legend.split("</ul>")[0]).text.split()


def test_the_legend_of_curves_names_only_tokenizers_of_networks(full_view):
    words, legend = learnt(render_html(full_view))
    assert legend == ["char", "subword", "best", "look,", "kept"]
    assert "from above" not in words


@pytest.mark.parametrize(
    ("curves", "said"),
    [(2, "net0 from 9.000, net1 from 9.500."), (4, "4 of them, from 9.000 to 10.500.")],
)
def test_few_curves_from_above_are_named_and_many_are_counted(full_board, curves, said):
    drawn = [Curve(f"net{n}", "char", (1.0, 2.0), (9 + n / 2, 1.8)) for n in range(curves)]
    words, legend = learnt(render_html(View(full_board, tuple(drawn))))
    assert said in words.replace(" ,", ",")
    assert legend[-2:] == ["from", "above"]


def test_what_is_worth_noticing_stands_on_the_page(full_view):
    assert "Every network was still learning" in Page(render_html(full_view)).text
    assert '<ul class="remarks">' not in render_html(View(full_view.board))
