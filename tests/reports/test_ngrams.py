"""The table of n-gram models: all of them, with the figures that each has."""

import csv
import io

import pytest

from textmill.reports.leaderboard import build
from textmill.reports.ngrams import COLUMNS, render_ngrams
from textmill.scoring.comparison import ROUNDED, SCORES_ONLY

FIGURES = COLUMNS[4:10]
ENTRIES = {
    "kn3": {"tokenizer": "word", "method": "kneser_ney", "order": 3},
    "kn2": {"tokenizer": "word", "method": "kneser_ney", "order": 2},
    "coded": {"tokenizer": "word", "method": "kneser_ney", "order": 3, "precision": "coded"},
    "stupid": {"tokenizer": "word", "method": "stupid_backoff", "order": 2},
    "old": {"tokenizer": "word", "method": "witten_bell", "order": 2},
    "new": {"tokenizer": "char", "method": "good_turing", "order": 9},
    "flat": {"tokenizer": "char", "method": "uniform"},
}


@pytest.fixture
def table(one_metrics, plays):
    """Rows by name, in the order of the file; `new` was not scored, `old` on another text."""
    metrics = {
        "kn3": one_metrics("kn3", 1.5, "word"),
        "kn2": one_metrics("kn2", 1.75, "word"),
        "coded": one_metrics("coded", 1.5, "word"),
        "stupid": one_metrics("stupid", 1.5, "word"),
        "old": one_metrics("old", 1.0, "word", comparison_key="b" * 64),
        "flat": one_metrics("flat", 6.0, "char"),
    }
    for size, one in enumerate(metrics.values(), start=1):
        one |= {"ngrams": 10 * size, "bytes_on_disk": 100 * size}
    for name, why_not, withheld in (
        ("coded", ROUNDED, ("bits_per_byte",)),
        ("stupid", SCORES_ONLY, ("bits_per_byte", "perplexity")),
    ):
        metrics[name] |= {"byte_comparable": False, "why_not": why_not}
        for split in ("valid", "test"):
            metrics[name][split] = metrics[name][split] | dict.fromkeys(withheld)
    declared = [(name, "ngrams") for name in ENTRIES]
    board = build(declared, metrics, metrics["kn3"]["comparison_key"], plays)
    content = render_ngrams(board, ENTRIES, metrics)
    return metrics, {row["name"]: row for row in csv.DictReader(io.StringIO(content))}


def test_every_model_has_a_row_by_tokenizer_order_and_bits(table):
    _, rows = table
    assert [*rows] == ["flat", "new", "kn2", "old", "stupid", "kn3", "coded"]
    assert [rows[name]["order"] for name in rows] == ["0", "9", "2", "2", "2", "3", "3"]
    assert {name: rows[name]["method"] for name in rows} == {
        name: entry["method"] for name, entry in ENTRIES.items()
    }


def test_ranked_models_have_all_figures_and_no_reason(table):
    metrics, rows = table
    for name in ("kn3", "kn2", "flat"):
        one = metrics[name]
        assert [float(rows[name][column]) for column in FIGURES] == [
            one["ngrams"], one["bytes_on_disk"], one["test"]["perplexity"],
            one["valid"]["perplexity"], one["test"]["bits_per_byte"], one["valid"]["bits_per_byte"],
        ]  # fmt: skip
        assert rows[name]["not_ranked"] == ""


def test_the_others_have_what_is_theirs_and_the_reason(table):
    metrics, rows = table
    coded, stupid = rows["coded"], rows["stupid"]
    assert (coded["ngrams"], coded["bytes_on_disk"]) == ("30", "300")
    assert float(coded["perplexity"]) == metrics["coded"]["test"]["perplexity"]
    assert (coded["bits_per_byte"], coded["not_ranked"]) == ("", ROUNDED)
    assert (stupid["ngrams"], stupid["bytes_on_disk"]) == ("40", "400")
    assert (stupid["perplexity"], stupid["not_ranked"]) == ("", SCORES_ONLY)
    for name, reason in (("old", "another text"), ("new", "not been scored yet")):
        assert [rows[name][column] for column in FIGURES] == [""] * len(FIGURES)
        assert reason in rows[name]["not_ranked"]
