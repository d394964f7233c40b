"""Every benchmark runs, and what must be right on any machine is right."""

import importlib
import json
import sys

import pytest

from benchmarks import report

BENCHMARKS = (
    "pipeline",
    "services",
    "ngram",
    "ngram_queries",
    "training",
    "neural",
    "wikitext2",
    "intervals",
    "threads",
    "faults",
    "cleaning",
    "corpus",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_quick_benchmark_has_right_numbers(name, root, tmp_path, monkeypatch):
    """In this process, which has imported most of it: what `python -m` adds is seconds."""
    monkeypatch.chdir(root)
    rows_file = tmp_path / "rows.json"
    monkeypatch.setattr(sys, "argv", [name, "--quick", "--json", str(rows_file)])
    benchmark = importlib.import_module(f"benchmarks.{name}")
    if getattr(benchmark, "main", report.main) is report.main:
        report.main(benchmark.__doc__, benchmark.measure)
    else:
        benchmark.main()
    rows = json.loads(rows_file.read_text())
    assert any(row["holds"] for row in rows)
    assert [row for row in rows if row["holds"] is False] == []


def test_make_bench_runs_them_all(root):
    files = {path.stem for path in (root / "benchmarks").glob("*.py")} - {
        "beside",
        "plain_lstm",
        "report",
        "texts",
        "ways",
        "__init__",
    }
    assert files == set(BENCHMARKS)
    assert (
        "for name in pipeline services ngram ngram_queries training neural wikitext2 intervals threads faults cleaning corpus;"
        in (root / "Makefile").read_text()
    )
