"""The benchmark's numbers that hold on any machine; never a time."""

import json
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_quick_run_gives_right_numbers(tmp_path):
    subprocess.run(
        [sys.executable, "benchmarks/ngram.py", "--quick", "--json", str(tmp_path / "rows.json")],
        cwd=REPOSITORY,
        env=os.environ | {"TEXTMILL_TEST_DATA": str(tmp_path)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert all(set(row) == {"name", "value", "unit", "target", "holds", "against"} for row in rows)
    judged = {row["name"]: row["holds"] for row in rows if row["holds"] is not None}
    assert judged["distribution, distance of its sum to 1"] is True
    assert judged["score against distribution, nats"] is True
    assert judged.get("perplexity, difference", True) is True
    assert all(row["holds"] is None for row in rows if row["unit"])
