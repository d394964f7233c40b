"""Every benchmark runs, and what must be right on any machine is right."""

import importlib
import json
import sys
from datetime import date

import pytest

from benchmarks import report, wikitext2

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


def test_what_training_has_cost_is_kept_while_it_goes_on(tmp_path):
    """So that a SIGKILL loses no more than the time since it was kept last."""
    spent = tmp_path / "spent.json"
    spent.write_text('{"processor_seconds": 100.0, "seconds": 200.0}')
    with wikitext2.counting(spent, every=0.01):
        while json.loads(spent.read_text())["seconds"] == 200.0:
            pass
        inside = json.loads(spent.read_text())
    after = json.loads(spent.read_text())
    for name, before in (("processor_seconds", 100), ("seconds", 200)):
        assert before < inside[name] <= after[name] < before + 60


def test_a_model_of_another_configuration_is_not_taken_for_this_one(tmp_path):
    config = wikitext2.NETWORK.as_json()
    model = {"config": config}
    (tmp_path / "model.json").write_text(json.dumps(model))
    wikitext2.check_configuration(tmp_path, wikitext2.NETWORK)
    model["config"] = {**config, "hidden": 449}
    (tmp_path / "model.json").write_text(json.dumps(model))
    with pytest.raises(SystemExit, match="has hidden 449, and here it is 450: delete it"):
        wikitext2.check_configuration(tmp_path, wikitext2.NETWORK)


def test_the_table_comes_before_the_dead_ends():
    rows = [report.timing("LSTM: test", 96.99, "perplexity", at_most=100, quick=False)]
    page = wikitext2.with_section("# Results\n\n## Dead ends\n- one\n", rows, date(2026, 12, 1))
    assert page == (
        "# Results\n\n## 2026-12-01: WikiText-2 from nothing, the table as it was printed\n\n"
        "| what | value | wanted | holds |\n|---|---|---|---|\n"
        "| LSTM: test | 96.99 perplexity | 100 | yes |\n\n## Dead ends\n- one\n"
    )
