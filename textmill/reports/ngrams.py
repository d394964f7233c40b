"""Every n-gram model in one table: what its order and method cost, and what they give.

The sparsity and the storage that textbooks speak of, seen. The plots over it show bits per byte and
not perplexity: that of characters and that of words have no common scale. A model without a rank
is there with the figures that it has, and with the reason.
"""

import csv
import io
from collections.abc import Mapping
from typing import Any

from textmill.reports.leaderboard import Metrics, finite
from textmill.reports.records import Leaderboard

COLUMNS = (
    "name",
    "tokenizer",
    "method",
    "order",
    "ngrams",
    "bytes_on_disk",
    "perplexity",
    "perplexity_valid",
    "bits_per_byte",
    "bits_per_byte_valid",
    "not_ranked",
)
OF_SPLITS = ("perplexity", "bits_per_byte")


def render_ngrams(
    board: Leaderboard, entries: Mapping[str, Mapping[str, Any]], metrics: Metrics
) -> str:
    """CSV: a row an n-gram model, by tokenizer, order and bits per byte; uniform is of order 0.

    entries: `ngrams` of params.yaml. An imported model has the order of its file, which no
    parameter says: empty. metrics: of all models that were scored; figures of another text or
    protocol are left empty. not_ranked: why, empty where it is.
    """
    reasons = {one.name: one.reason for one in board.unranked}
    rows = []
    for name, entry in entries.items():
        found = metrics.get(name)
        if found is not None and found["comparison_key"] != board.comparison_key:
            found = None
        order = 0 if entry["method"] == "uniform" else entry.get("order")
        own = {"name": name, "tokenizer": entry["tokenizer"], "method": entry["method"]}
        rows.append(own | {"order": order, "not_ranked": reasons.get(name)} | _figures(found))
    rows.sort(key=_place)
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _figures(found: Mapping[str, Any] | None) -> dict[str, Any]:
    if found is None:
        return {}
    of_test = {name: finite(found["test"][name]) for name in OF_SPLITS}
    of_valid = {f"{name}_valid": finite(found["valid"][name]) for name in OF_SPLITS}
    return {name: found[name] for name in ("ngrams", "bytes_on_disk")} | of_test | of_valid


def _place(row: Mapping[str, Any]) -> tuple[str, int, bool, float, str]:
    bits = row.get("bits_per_byte")
    return row["tokenizer"], row["order"] or 0, bits is None, bits or 0.0, row["name"]
