"""What every tokenizer makes of the text: Zipf's curves, coverage and lengths, on one page.

The page is self-contained, the same reports give the same bytes, and names are escaped.
"""

from collections.abc import Sequence
from typing import Any

from textmill.reports import wording
from textmill.reports.page.render import render
from textmill.reports.pictures import svg
from textmill.reports.tokens import pictures
from textmill.reports.tokens.tables import ORDERS, Report

LENGTHS = ("tokens a line", "characters a token")


def tokens_html(title: str, reports: Sequence[Report]) -> str:
    """The page of a corpus's tokenizers."""
    names = sorted(report.name for report in reports)
    roles = {name: f"series-{index % svg.SERIES}" for index, name in enumerate(names)}
    with svg.own_style():
        drawn = {
            "zipf": {one.name: pictures.zipf(one, at) for at, one in enumerate(reports)},
            "coverage": pictures.coverage(reports, roles),
            "lengths": {of: pictures.lengths(reports, roles, of) for of in LENGTHS},
        }
    context = {
        "title": title,
        "rows": [_row(report) for report in reports],
        "roles": roles,
        "orders": {order: pictures.order_role(order) for order in ORDERS},
        "pictures": drawn,
    }
    filters = {"whole": wording.whole, "percent": wording.percent}
    return render("textmill.reports.tokens", "tokens.html", filters, context)


def _row(report: Report) -> dict[str, Any]:
    return {
        "name": report.name,
        "size": report.summary["size"],
        "tokens": report.summary["train"]["tokens"],
        "unknown": {split: report.summary[split]["unknown_rate"] or 0.0 for split in _UNSEEN},
        "fits": [report.summary["zipf"][f"order_{order}"] for order in ORDERS],
    }


_UNSEEN = ("valid", "test")
