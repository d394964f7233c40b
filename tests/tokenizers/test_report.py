"""Coverage, lengths and unknown rates by hand."""

import pytest

from textmill.tokenizers import store
from textmill.tokenizers.byte_values import ByteConfig
from textmill.tokenizers.report import VocabularyReport
from textmill.tokenizers.strings import as_column
from textmill.tokenizers.words import WordConfig

TRAIN = ["a a a bb bb", "", "a ccc bb dddd", "a  eeeee"]
VALID = ["a zz ccc"]


@pytest.fixture(scope="module")
def report():
    tokenizer, _ = store.train(as_column(TRAIN), WordConfig("word", minimum_frequency=2))
    made = VocabularyReport(tokenizer)
    for piece in (TRAIN[:2], TRAIN[2:]):
        made.add("train", tokenizer.encode(as_column(piece)))
    made.add("valid", tokenizer.encode(as_column(VALID)))
    return made


def test_unknown_units_of_each_split(report):
    summary = report.summary()
    assert summary["size"] == 5
    # 11 words and 4 line ends; ccc, dddd and eeeee are seen once; one line has two spaces.
    assert summary["train"] == {
        "tokens": 11, "unknown": 3, "unknown_rate": 3 / 15, "lossy_lines": 1,
    }  # fmt: skip
    assert summary["valid"] == {
        "tokens": 3, "unknown": 2, "unknown_rate": 2 / 4, "lossy_lines": 0,
    }  # fmt: skip
    assert summary["zipf"] == {
        "order_1": {"types": 3}, "order_2": {"types": 6}, "order_3": {"types": 5},
    }  # fmt: skip


def test_coverage_is_the_share_of_the_running_tokens(report):
    assert report.coverage() == [
        {"size": 1, "log10_size": 0.0, "train": pytest.approx(5 / 11, abs=1e-6), "valid": pytest.approx(1 / 3, abs=1e-6)},
        {"size": 2, "log10_size": 0.301, "train": pytest.approx(8 / 11, abs=1e-6), "valid": pytest.approx(1 / 3, abs=1e-6)},
    ]  # fmt: skip


def test_lengths_are_counted_over_train(report):
    rows = report.lengths()
    lines = {row["length"]: row["count"] for row in rows if row["of"] == "tokens a line"}
    tokens = {row["length"]: row["count"] for row in rows if row["of"] == "characters a token"}
    assert lines == {0: 1, 2: 1, 4: 1, 5: 1}
    assert tokens == {1: 5, 2: 3, 3: 1, 4: 1, 5: 1}
    assert {row["density"] for row in rows if row["of"] == "tokens a line"} == {0.25}


def test_wide_bins_hold_a_density():
    """A hundred lines of 100 to 199 bytes each once: one a length, so 0.01 wherever they lie."""
    lines = as_column(["x" * length for length in range(100, 200)])
    tokenizer, _ = store.train(lines, ByteConfig("byte"))
    report = VocabularyReport(tokenizer)
    report.add("train", tokenizer.encode(lines))
    rows = [row for row in report.lengths() if row["of"] == "tokens a line"]
    assert sum(row["count"] for row in rows) == 100
    assert len(rows) < 12
    assert max(row["density"] for row in rows) == pytest.approx(0.01)
    assert [row for row in report.lengths() if row["of"] == "characters a token"] == [
        {"of": "characters a token", "length": 1, "count": 14950, "density": 1.0}
    ]
