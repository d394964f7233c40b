"""Every n-gram model in one table: what its order and method cost, and what they give.

The sparsity and the storage that textbooks speak of, seen. The plots over it show bits per byte and
not perplexity: that of characters and that of words have no common scale.
"""

import csv
import io
from collections.abc import Mapping
from typing import Any

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
)


def render_ngrams(board: Leaderboard, entries: Mapping[str, Mapping[str, Any]]) -> str:
    """CSV: a row a ranked n-gram model, by tokenizer and order; uniform is of order 0.

    entries: `ngrams` of params.yaml. An imported model has the order of its file, which no
    parameter says: empty.
    """
    valid = {
        one.name: one.perplexity_valid for group in board.tokenizations for one in group.models
    }
    rows = []
    for model in board.models:
        if model.name in entries:
            entry = entries[model.name]
            order = 0 if entry["method"] == "uniform" else entry.get("order")
            facts = {name: getattr(model, name) for name in COLUMNS if hasattr(model, name)}
            own = {"method": entry["method"], "order": order}
            rows.append(facts | own | {"perplexity_valid": valid.get(model.name)})
    rows.sort(key=lambda row: (row["tokenizer"], row["order"] or 0, row["bits_per_byte"]))
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
