"""What the cleaning did, rule by rule: a table that DVC plots, and a page with examples.

The books are those of the cleaning's summary: for each rule what came in, went out and was dropped,
in documents, lines and bytes, and for every reason how often and up to three examples. The page is
self-contained, the same summary gives the same bytes, and whatever comes from a text is escaped.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from textmill.reports import wording
from textmill.reports.page.render import render

UNITS = ("documents", "lines", "bytes")
COLUMNS = (
    "step",
    "rule",
    *(f"{unit}_{side}" for unit in UNITS for side in ("in", "out", "dropped")),
)


def waterfall_csv(waterfall: Sequence[Mapping[str, Any]]) -> str:
    """A row a rule: `step` numbers them, `rule` is unique, so that a plot has a bar for each."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for step, record in enumerate(waterfall, 1):
        numbers = {
            f"{unit}_{side}": record[unit][side]
            for unit in UNITS
            for side in ("in", "out", "dropped")
        }
        writer.writerow({"step": step, "rule": f"{step:02d} {record['rule']}"} | numbers)
    return out.getvalue()


def waterfall_html(corpus: str, title: str, summary: Mapping[str, Any]) -> str:
    """The page. summary: what the cleaning wrote (sizes by split, overlap, waterfall)."""
    waterfall = summary["waterfall"]
    context = {
        "corpus": corpus,
        "title": title,
        "units": UNITS,
        "steps": [_step(record, waterfall[0]["bytes"]["in"]) for record in waterfall],
        "first": waterfall[0],
        "last": waterfall[-1],
        "splits": {split: {u: summary[u][split] for u in UNITS} for split in summary["bytes"]},
        "overlap": summary["overlap"],
    }
    filters = {"whole": wording.whole, "percent": wording.percent}
    return render("textmill.reports.cleaning", "waterfall.html", filters, context)


def _step(record: Mapping[str, Any], whole: int) -> dict[str, Any]:
    """A rule as the page shows it; the bar is what it left of the bytes that the corpus had."""
    return {
        "rule": record["rule"],
        "is_idle": not record["reasons"] and not record["bytes"]["dropped"],
        "bar": round(100 * min(record["bytes"]["out"] / whole, 1), 2) if whole else 0,
        "reasons": [_reason(name, found) for name, found in record["reasons"].items()],
        **{unit: record[unit] for unit in UNITS},
    }


def _reason(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    unit, count = next((key, value) for key, value in found.items() if key != "examples")
    unit = unit.removesuffix("s") if count == 1 else unit
    return {"name": name, "count": f"{count:,} {unit}", "examples": found["examples"]}
