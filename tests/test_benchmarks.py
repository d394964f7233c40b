"""Every benchmark runs, and what must be right on any machine is right."""

import json
import subprocess
import sys

import pytest

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
def test_quick_benchmark_has_right_numbers(name, root, tmp_path):
    rows_file = tmp_path / "rows.json"
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick", "--json", str(rows_file)]
    done = subprocess.run(command, cwd=root, text=True, capture_output=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
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
