"""The waterfall: every number of the books, examples escaped, nothing from elsewhere."""

import csv
import io
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.text.cleaning import PROFILES
from textmill.reports.cleaning.waterfall import waterfall_csv, waterfall_html
from textmill.text.catalogue import Corpus, ShareSplits
from textmill.text.cleaned import clean_corpus

TEXT = "\ufeffOne  line <b>bold</b> & more.\r\n\r\n" + "".join(
    f"Line {i} \x00of the tale.\n\n" for i in range(20)
)


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    corpus = Corpus(
        title="t",
        licence="l",
        splits=ShareSplits(by="share"),
        cleaning=("plain", {"line_length": {"min_words": 5, "max_words": 5}}),
        path="x",
        digest="0" * 64,
    )
    files = {"a.txt": TEXT.encode(), "b.txt": b"\n"}
    return clean_corpus(files, corpus, "x", PROFILES, tmp_path_factory.mktemp("clean"))


class Page(HTMLParser):
    """Rows of the first table, the text, and whether every element was closed."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.words: list[str] = []
        self.feed(content)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        assert not {"src", "href"} & {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th") and self.rows:
            self.rows[-1].append(data)
        self.words.append(data)


def test_the_plot_has_a_row_a_rule_and_its_books_chain_and_balance(summary) -> None:
    rows = list(csv.DictReader(io.StringIO(waterfall_csv(summary["waterfall"]))))
    assert [row["rule"][3:] for row in rows] == [one["rule"] for one in summary["waterfall"]]
    assert [row["step"] for row in rows] == [str(i) for i in range(1, len(rows) + 1)]
    assert len({row["rule"] for row in rows}) == len(rows)
    assert int(rows[0]["bytes_in"]) == len(TEXT.encode()) + 1
    assert int(rows[-1]["bytes_out"]) == sum(summary["bytes"].values())
    for unit in ("documents", "lines", "bytes"):
        for row in rows:
            came, went, fell = (int(row[f"{unit}_{side}"]) for side in ("in", "out", "dropped"))
            assert came == went + fell
        assert [row[f"{unit}_out"] for row in rows[:-1]] == [row[f"{unit}_in"] for row in rows[1:]]


def test_the_page_tells_every_rule_with_its_numbers_and_its_examples(summary) -> None:
    content = waterfall_html("x", "A <title> & more", summary)
    page = Page(content)
    assert page.open == []
    units, sides = ("documents", "lines", "bytes"), ("in", "dropped", "out")
    assert [cell.strip() for cell in page.rows[0] if cell.strip()] == ["rule", *units, "bytes left"]
    assert [cell.strip() for cell in page.rows[1] if cell.strip()] == [*sides] * 3
    table = {row[0]: row[1:10] for row in page.rows if len(row) >= 10}
    for record in summary["waterfall"]:
        numbers = [record[unit][side] for unit in units for side in sides]
        assert table[record["rule"]] == [f"{x:,}" for x in numbers]
    text = re.sub(r"\s+", " ", " ".join(page.words))
    assert "control characters: control character, 20 characters" in text
    for line in (3, 5, 7):
        assert f"a.txt: U+0000 in line {line}" in text
    assert "U+0000 in line 9" not in text
    assert "more than 5 words" not in text
    assert "fewer than 5 words, 1 line" not in text
    assert "A <title> & more" in text
    assert "<title> & more" not in content
    assert waterfall_html("x", "A <title> & more", summary) == content


def test_examples_from_a_text_are_escaped(summary) -> None:
    record = {
        "rule": "own:<i>rule</i>",
        **{unit: {"in": 3, "out": 2, "dropped": 1} for unit in ("documents", "lines", "bytes")},
        "reasons": {"<u>": {"documents": 1, "examples": ["<script>alert(1)</script>"]}},
    }
    content = waterfall_html("x", "t", summary | {"waterfall": [record]})
    assert "<script" not in content
    assert "<i>rule" not in content
    page = Page(content)
    assert "<script>alert(1)</script>" in page.words
    assert "<u>, 1 document" in "".join(page.words)


def test_the_overlap_stands_beside_its_split_and_warns_above_the_threshold(summary) -> None:
    overlap = {"unit": "words", "n": 13, "max": 0.01, "is_contaminated": True}
    overlap |= {"ngrams": {"valid": 0.25, "test": 0.5}, "lines": {"valid": None, "test": 0.125}}
    page = Page(waterfall_html("x", "t", summary | {"overlap": overlap}))
    rows = {row[0]: [cell.strip() for cell in row[4:]] for row in page.rows if len(row) > 3}
    assert rows["train"] == []
    assert rows["valid"] == ["25 %"]
    assert rows["test"] == ["50 %", "12 %"]
    assert "Contaminated: more than 1.0 % of the test text" in " ".join(page.words)
    assert "Contaminated" not in waterfall_html("x", "t", summary)
