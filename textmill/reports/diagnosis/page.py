"""Why networks behave as they do: what was found out about each model, side by side on one page.

The page is self-contained, the same findings give the same bytes, and names are escaped.
"""

import math
from collections.abc import Sequence
from typing import Any

from textmill.diagnosis.records import Diagnosis, factor_a_token
from textmill.reports import wording
from textmill.reports.diagnosis import pictures
from textmill.reports.page.render import render
from textmill.reports.pictures import svg


def diagnosis_html(found: Sequence[Diagnosis]) -> str:
    """The page of these models."""
    roles = {one.name: f"series-{index % svg.SERIES}" for index, one in enumerate(found)}
    context = {
        "models": found,
        "title": found[0].title,
        "rows": [row(one) for one in found],
        "roles": roles,
        "matrices": [(one.name, matrix) for one in found for matrix in one.matrices],
        "pictures": _draw(found, roles),
        "recurrent": {one.name for one in found if one.gradients},
        "has_cells": any("c" in one.gradients for one in found),
    }
    filters = {"perplexity": wording.perplexity}
    return render("textmill.reports.diagnosis", "diagnosis.html", filters, context)


def row(one: Diagnosis) -> dict[str, Any]:
    """A model in a line: each value in words, an en dash for what its kind does not have."""
    own, forced = one.exposure.means if one.exposure else (None, None)
    error = one.exposure.error if one.exposure else None
    radii = [matrix.radius for matrix in one.matrices]
    return {
        "name": one.name,
        "kind": one.kind,
        "tokenizer": one.tokenizer,
        "h": _factor(one, "h"),
        "c": _factor(one, "c"),
        "radius": f"{max(radii):.2f}" if radii else wording.ABSENT,
        "kept": ", ".join(f"{gate.mean:.2f}" for gate in one.gates) or wording.ABSENT,
        "own": wording.perplexity(None if own is None else math.exp(min(own, 700.0))),
        "forced": wording.perplexity(None if forced is None else math.exp(min(forced, 700.0))),
        "error": wording.ABSENT if error is None else f"{100 * error:.0f} %",
    }


def _factor(one: Diagnosis, state: str) -> str:
    norms = one.gradients.get(state)
    return f"\N{MULTIPLICATION SIGN} {factor_a_token(norms):.2f}" if norms else wording.ABSENT


def _draw(found: Sequence[Diagnosis], roles: dict[str, str]) -> dict[str, Any]:
    examined = [one.exposure for one in found if one.exposure]
    with svg.own_style():
        drawn: dict[str, Any] = {
            "positions": pictures.positions(found, roles),
            "frequencies": pictures.frequencies(found, roles),
            "exposure": {
                one.name: pictures.exposure(one, roles[one.name], number, pictures.span(examined))
                for number, one in enumerate(found)
                if one.exposure
            },
        }
        if any(one.gradients for one in found):
            drawn["gradients"] = pictures.gradients(found, roles)
        if any(one.gates for one in found):
            drawn["gates"] = pictures.gates(found, roles)
    return drawn
