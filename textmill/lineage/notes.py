"""What people read first in MLflow: short Markdown on the experiment, the parent and each model."""

from collections.abc import Mapping
from typing import Any

from textmill.reports.records import Leaderboard

HOW_TO_READ = """\
`bits_per_byte` is the number to rank by: what a model needs for a byte of the test text, unknown
words spelled out and paid for. Lower is better, and models over different tokens compare.
`perplexity` compares only among runs with the same `tokenizer.fingerprint` tag. Names that end in
`_valid` are of the validation text, on which everything was chosen; the others are of the test
text."""


def of_experiment(title: str, corpus: str) -> str:
    """How to read the experiment of a corpus."""
    return f"""\
**{title}** (`{corpus}`): language models of one text, ranked on one scale. The saved view
"Leaderboard" has these alone. Models of earlier texts, cleaning or splits of `{corpus}` stay in the
experiment, below other parent runs. Numbers compare only below one parent run.

{HOW_TO_READ}

Runs are built from DVC's files by `textmill publish`. Nothing is kept only here: delete the store
and publish again. Weights stay with DVC; each run names their path and md5.
"""


def of_leaderboard(board: Leaderboard) -> str:
    """How to read a parent run: what its children have in common."""
    test = board.text.splits["test"]
    return f"""\
**{board.text.title}** (`{board.text.corpus}`). Every run below was measured on the same
{test.bytes:,} bytes of test text ({test.lines:,} lines), so any two of them compare.
Comparison key: `{board.comparison_key}`.

{HOW_TO_READ}

Artifacts: `leaderboard.html` with pictures and intervals, `params.yaml` and `dvc.lock` as they
were when this was last published.
"""


def of_model(summary: Mapping[str, Any], path: str, md5: str, stage: str) -> str:
    """What a model is and where its files are."""
    adapts = "\nAdapts: it learns from the test text while reading it.\n"
    not_ranked = f"\nNot ranked: {summary['why_not']}\n" if summary.get("why_not") else ""
    return f"""\
**{summary["name"]}**: {summary["kind"]}, over {summary["tokenizer"]} tokens.
{not_ranked}{adapts if summary.get("adapts") else ""}
Where `dvc.lock` has `{path}` with md5 `{md5}` (stage `{stage}`), `dvc pull {path}` brings its
files and `textmill trace {summary["name"]}` prints where they came from.
"""
