"""The page, the JSON and the CSV of diagnosed models."""

import csv
import dataclasses
import io
import json
import re

import pytest

from textmill.diagnosis.records import (
    Bin,
    Diagnosis,
    Exposure,
    Gate,
    Matrix,
    factor_a_token,
    to_csv,
    to_json,
)
from textmill.reports.diagnosis.page import diagnosis_html, row
from textmill.reports.diagnosis.pictures import span
from textmill.reports.wording import ABSENT

LSTM = Diagnosis(
    name="lstm", kind="LSTM, 1 x 2", corpus="plays", title="Plays <all>", tokenizer="word",
    gradients={"h": (0.8, 0.4, 0.2), "c": (0.9, 0.81, 0.729)},
    matrices=(Matrix(1, "forget", 1.25, True, ((1.0, 0.0), (0.0, 1.0)), True, 0.7, 1.0),),
    gates=(Gate(1, (0.5, 0.9)),),
    exposure=Exposure((2.0, 1.0, 0.0), (3.0, 2.0, 1.0), 0.125),
    positions=(Bin(1, 1, 4, 5.0), Bin(2, 3, 8, 4.0)),
    frequencies=(Bin(0, 0, 2, 9.0), Bin(1, 9, 3, 7.0), Bin(10, 99, 7, 2.0)),
)  # fmt: skip
MIXTURE = dataclasses.replace(
    LSTM, name="mix<1>", kind="0.5 a + 0.5 b", gradients={}, matrices=(), gates=(), exposure=None
)


def test_a_line_says_what_was_found():
    found = row(LSTM)
    assert (found["h"], found["c"]) == (
        "\N{MULTIPLICATION SIGN} 0.50",
        "\N{MULTIPLICATION SIGN} 0.90",
    )
    assert (found["radius"], found["kept"]) == ("1.25", "0.70")
    assert (found["own"], found["forced"], found["error"]) == ("2.72", "7.39", "12 %")
    assert {row(MIXTURE)[key] for key in ("h", "c", "radius", "kept", "own", "error")} == {ABSENT}


def test_the_factor_is_the_geometric_mean_of_the_steps():
    assert factor_a_token((8.0, 1.0, 2.0)) == pytest.approx(0.5)
    assert factor_a_token((0.0, 0.0)) == 0


def test_the_page_is_whole_escaped_and_the_same_again():
    page = diagnosis_html([LSTM, MIXTURE])
    assert page == diagnosis_html([LSTM, MIXTURE])
    assert "mix<1>" not in page
    assert "mix&lt;1&gt;" in page
    for heading in ("How far back a loss is felt", "Recurrent matrices", "On its own text"):
        assert heading in page
        assert heading not in diagnosis_html([MIXTURE])
    assert "Plays &lt;all&gt;" in page
    assert "1.250" in page
    assert page.count("<svg") == 5
    assert diagnosis_html([MIXTURE]).count("<svg") == 2
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_own_texts_of_all_models_share_one_axis():
    dear = dataclasses.replace(LSTM, name="dear", exposure=Exposure((8.0,), (9.0,), None))
    low, high = span([LSTM.exposure, dear.exposure])
    assert (low, high) == pytest.approx((0.0 - 0.45, 9.0 + 0.45))
    numbers = []
    for name in ("lstm", "dear"):
        shown = diagnosis_html([LSTM, dear]).split(f"<h3>{name}</h3>")[1].split("</figure>")[0]
        numbers.append(re.findall(r">(\d+)</text>", shown)[-5:])
    assert numbers == [["0", "2", "4", "6", "8"]] * 2


def test_files_hold_every_number():
    content = json.loads(to_json(LSTM))
    assert (content["corpus"], content["title"]) == ("plays", "Plays <all>")
    assert content["gradients"]["c"] == [0.9, 0.81, 0.729]
    assert content["exposure"]["error"] == 0.125
    rows = list(csv.DictReader(io.StringIO(to_csv(LSTM))))
    assert len(rows) == 6 + 1 + 2 + 6 + 2 + 3
    assert [float(one["y"]) for one in rows if one["series"] == "h"] == [0.8, 0.4, 0.2]
    assert [(one["x"], one["tokens"]) for one in rows if one["part"] == "frequency"] == [
        ("0", "2"), ("1", "3"), ("10", "7"),
    ]  # fmt: skip
    assert len(to_csv(MIXTURE).splitlines()) == 1 + 2 + 3
