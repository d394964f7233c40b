"""Stage compare on files alone: what it forgets, what it ranks, the same bytes twice."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline_steps import compare
from textmill.base.files import write_json, write_table
from textmill.reports.records import from_json
from textmill.repository import layout
from textmill.scoring.comparison import comparison_key

LINES, BYTES_A_LINE = 100, 50
TOTAL = LINES * BYTES_A_LINE
SHA256 = "5" * 64
LOOKS = "step,tokens,train_loss,valid_loss,learning_rate,gradient_norm\n"
DECLARED = [("kn", "ngrams"), ("lstm", "networks"), ("absent", "mixtures")]


def split_metrics(bits: float) -> dict[str, Any]:
    nats = bits * TOTAL * math.log(2)
    return {
        "bits_per_byte": bits,
        "bits_per_character": bits,
        "perplexity": math.exp(nats / 2_000),
        "word_perplexity": math.exp(nats / 900),
        "nats": nats,
        "nats_tokens": nats,
        "nats_spelling": 0.0,
        "unknown_rate": 0.0,
        "tokens": 2_000,
        "unknown": 0,
        "bytes": TOTAL,
        "characters": TOTAL,
        "words": 900,
    }


def write_model(name: str, bits: float) -> None:
    about = {
        "name": name,
        "kind": "made up",
        "tokenizer": "char",
        "tokenizer_fingerprint": "f" * 64,
        "comparison_key": comparison_key(SHA256),
        "byte_comparable": True,
        "why_not": None,
        "parameters": None,
        "ngrams": 10,
        "bytes_on_disk": 100,
        "valid": split_metrics(bits),
        "test": split_metrics(bits),
    }
    write_json(layout.summary(name), about)
    write_json(layout.model_metrics(name), {"bits_per_byte": {"test": bits}})
    nats = np.full(LINES, bits * BYTES_A_LINE * math.log(2))
    table = {
        "doc": np.zeros(LINES, dtype=np.int32),
        "bytes": np.full(LINES, BYTES_A_LINE),
        "nats_tokens": nats,
        "nats_spelling": np.zeros(LINES),
    }
    write_table(layout.scores(name) / "test.arrow", pa.table(table))


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """The files that compare reads, of two declared models and one that was removed."""
    monkeypatch.chdir(tmp_path)
    sizes = {"train": 10, "valid": TOTAL, "test": TOTAL}
    names = ("documents", "lines", "words", "characters", "bytes")
    write_json(layout.CLEAN_SUMMARY, {**dict.fromkeys(names, sizes), "sha256": {"test": SHA256}})
    file = {"name": "t.txt", "bytes": 9, "sha256": "e" * 64}
    source = {"corpus": "t", "title": "T", "licence": "none", "asked": {}, "files": [file]}
    write_json(layout.RAW / "source.json", source | {"download": None})
    for name, bits in (("kn", 1.5), ("lstm", 1.75), ("removed", 1.0)):
        write_model(name, bits)
    for name in ("lstm", "removed", "kn"):
        path = layout.history(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{LOOKS}1,4000,3.0,2.0,0.1,1.0\n")
    (layout.MODEL_METRICS / ".gitignore").write_text("/kn.json\n")
    return tmp_path


def test_files_of_models_no_longer_declared_are_deleted_and_named(repository, caplog):
    caplog.set_level("INFO")
    compare.forget_undeclared(DECLARED)
    left = sorted(
        path.relative_to(repository).as_posix()
        for folder in ("metrics/models", "scores", "history")
        for path in (repository / folder).rglob("*")
        if path.is_file()
    )
    assert left == [
        "history/lstm.csv",
        "metrics/models/.gitignore",
        "metrics/models/kn.json",
        "metrics/models/lstm.json",
        "scores/kn/summary.json",
        "scores/kn/test.arrow",
        "scores/lstm/summary.json",
        "scores/lstm/test.arrow",
    ]
    assert [record.args[0].as_posix() for record in caplog.records] == [
        "metrics/models/removed.json",
        "scores/removed",
        "history/kn.csv",
        "history/removed.csv",
    ]


def test_the_declared_models_are_ranked_from_their_files(repository):
    view = compare.standings(DECLARED, compare.summaries(DECLARED))
    assert [entry.name for entry in view.board.models] == ["kn", "lstm"]
    assert view.board.models[1].behind.difference == pytest.approx(0.25)
    assert view.board.certainty.drawn == 50
    assert [one.name for one in view.board.unranked] == ["absent"]
    assert {curve.name for curve in view.curves} == {"kn", "lstm"}


def test_the_step_writes_four_forms_and_the_same_bytes_again(repository, monkeypatch):
    kn = {"tokenizer": "char", "method": "kneser_ney", "order": 3}
    groups = {"ngrams": {"kn": kn}, "networks": {"lstm": {}}, "mixtures": None}
    monkeypatch.setattr("pipeline_steps.settings.load", lambda stage: groups)
    written = []
    for _ in range(2):
        compare.main()
        files = sorted(Path("reports").iterdir())
        assert [file.name for file in files] == [
            "curves.csv",
            *(f"leaderboard.{ending}" for ending in ("csv", "html", "json", "md")),
            "ngrams.csv",
        ]
        written.append([file.read_bytes() for file in files])
    assert written[0] == written[1]
    board = from_json(Path("reports/leaderboard.json").read_text())
    assert [entry.name for entry in board.models] == ["kn", "lstm"]
    with Path("reports/leaderboard.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["name"], float(row["bits_per_byte"])) for row in rows] == [
        ("kn", 1.5),
        ("lstm", 1.75),
    ]
    with Path("reports/curves.csv").open(newline="") as file:
        assert {row["model"] for row in csv.DictReader(file)} == {"lstm"}
    with Path("reports/ngrams.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["name"], row["method"], row["order"]) == ("kn", "kneser_ney", "3")
    assert (row["ngrams"], row["bytes_on_disk"], row["not_ranked"]) == ("10", "100", "")
    assert float(row["bits_per_byte"]) == 1.5
    assert float(row["perplexity"]) == pytest.approx(2 ** (1.5 * TOTAL / 2_000))
