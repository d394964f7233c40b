"""The page of tokenizers: every number of the reports, and lines that are the fitted ones."""

import re

import numpy as np
import pytest

from textmill.reports.tokens.tables import Report
from textmill.reports.tokens.tokens import tokens_html
from textmill.tokenizers.zipf import fit_zipf, zipf_rows


def power_law(exponent: float, types: int = 3_000) -> np.ndarray:
    """Counts of at least one."""
    return np.maximum(np.rint(1e6 / np.arange(1, types + 1) ** exponent), 1).astype(np.int64)


def report(name: str, exponents: tuple[float, float, float] = (1.0, 0.8, 0.5)) -> Report:
    counts = [power_law(exponent) for exponent in exponents]
    zipf = [row for order, one in enumerate(counts, 1) for row in zipf_rows(order, one)]
    fits = {}
    for order, one in enumerate(counts, 1):
        fit = fit_zipf(one)
        assert fit is not None
        fits[f"order_{order}"] = {
            "types": len(one),
            "exponent": round(fit.exponent, 4),
            "r2": 0.999,
        }
    split = {"tokens": 123_456, "unknown": 5, "unknown_rate": 0.042, "lossy_lines": 0}
    summary = {"size": 4_321, "zipf": fits} | dict.fromkeys(("train", "valid", "test"), split)
    coverage = [{"log10_size": x, "valid": x / 4} for x in range(4)]
    lengths = [
        {"of": of, "length": x, "density": 0.1 * x}
        for of in ("tokens a line", "characters a token")
        for x in range(3)
    ]
    tables = {"zipf": zipf, "coverage": coverage, "lengths": lengths}
    as_text = {
        table: [{key: str(value) for key, value in row.items()} for row in rows]
        for table, rows in tables.items()
    }
    return Report(name, summary, as_text)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_dashed_line_is_the_law_that_the_counts_were_made_by(order: int) -> None:
    exponents = (1.0, 0.8, 0.5)
    x, y = report("word", exponents).line(order)
    assert x[0] == 0.0
    assert 10 ** y[0] == pytest.approx(1e6, rel=0.01)
    assert (y[0] - y[1]) / (x[1] - x[0]) == pytest.approx(exponents[order - 1], abs=0.01)


def test_without_a_fit_there_is_no_line() -> None:
    one = report("word")
    one.summary["zipf"]["order_3"].pop("exponent")
    assert one.line(3) == ([], [])
    assert "too few" in tokens_html("t", [one])


def test_the_page_tells_every_tokenizer_and_escapes_what_it_is_given() -> None:
    reports = [report("word"), report("<b>", (2.0, 1.5, 1.2))]
    page = tokens_html("A <title>", reports)
    assert page == tokens_html("A <title>", reports)
    assert "A &lt;title&gt;" in page
    assert "<title>A <title>" not in page
    assert "<b>" not in page
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", page, re.DOTALL)
    text = [re.sub(r"<[^>]*>|\s+", " ", row).split() for row in rows]
    assert text[0][:2] == ["word", "4,321"]
    assert text[0][2:6] == ["123,456", "4.2", "%", "4.2"]
    assert [row[7] for row in text] == ["1.00", "2.00"]
    assert page.count("<svg") == 2 + 1 + 2
    assert not re.search(r"src=|<script|@import|url\((?!#)", page)


def test_a_vocabulary_without_a_type_has_its_place_on_the_page():
    empty = report("verse")
    tables = {**empty.tables, "coverage": []}
    page = tokens_html("poems", [Report("verse", empty.summary, tables)])
    assert "verse" in page
    assert "Coverage of validation by vocabulary size" in page
