"""The leaderboard as one self-contained page: no script, no font, no picture from elsewhere.

The template says everything in words for someone who has never met a perplexity. Whatever comes
from a configuration or a corpus (names, titles, licences, addresses) is escaped by jinja2, and
only http(s) addresses become links.
"""

import re
from collections.abc import Callable
from typing import Any

from textmill.reports import differences, methods, ties, wording
from textmill.reports import view as views
from textmill.reports.page.render import render
from textmill.reports.pictures.draw import draw
from textmill.reports.pictures.learning import best_ngram, from_above
from textmill.reports.pictures.paper import edge, tokenizer_roles
from textmill.reports.records import Entry
from textmill.reports.remarks import remarks
from textmill.reports.view import View

FILES_SHOWN = 6
NARROW_COLUMNS, WIDE_COLUMNS = 10, 12
"""Columns of differences that fit a phone, and those that fit a screen with all their digits."""
GROUPS = {
    "ngrams": "n-gram model",
    "networks": "network",
    "adapted": "adapting",
    "mixtures": "mixture",
}


def render_html(view: View) -> str:
    """The page. The same view gives the same bytes; only with facts does it speak of times."""
    filters: dict[str, Callable[..., Any]] = {
        "bits": wording.bits,
        "percent": wording.percent,
        "perplexity": wording.perplexity,
        "size": wording.size,
        "whole": wording.whole,
        "p_value": differences.p_value,
        "together": _together,
        "marked": views.perplexity_name,
    }
    return render("textmill.reports", "leaderboard.html", filters, _context(view))


def _context(view: View) -> dict[str, Any]:
    board, end = view.board, edge(view) if view.best else 0.0
    roles = tokenizer_roles(view)
    above = from_above(view) if board.models and view.curves else ()
    return {
        "board": board,
        "text": board.text,
        "best": view.best,
        "second": board.models[1] if len(board.models) > 1 else None,
        "tied": [entry for entry in board.models if ties.is_tied(entry, board)],
        "rows": [_row(entry, view, roles) for entry in board.models],
        "roles": roles,
        "groups": {name: GROUPS.get(name, name) for name in _groups(view)},
        "pictures": draw(view),
        "far": [entry for entry in board.models if entry.bits_per_byte > end],
        "ngram": best_ngram(view),
        "speller": max(board.models, key=lambda one: one.spelling_share, default=None),
        "confidence": views.confidence(view),
        "pieces": views.pieces(view),
        "has_facts": bool(view.facts),
        "remarks": remarks(view),
        "triangle": differences.triangle(view),
        "same": differences.not_told_apart(view),
        "same_as": differences.same_as(view),
        "NARROW_COLUMNS": NARROW_COLUMNS,
        "WIDE_COLUMNS": WIDE_COLUMNS,
        "why_both": differences.why_both(view),
        "level": differences.level(view),
        "from_above": above,
        "first_looks": [curve.bits_per_byte[0] for curve in above],
        "learners": {curve.tokenizer for curve in view.curves},
        **_explained(view),
        "links": [(source, _is_address(source)) for source in board.text.sources],
        "files": board.text.files[:FILES_SHOWN],
        "more_files": max(0, len(board.text.files) - FILES_SHOWN),
    }


def _explained(view: View) -> dict[str, Any]:
    """What the page has to explain of methods."""
    found = methods.methods(view)
    mixture = found[methods.MIXTURE]
    return {
        "methods": found,
        "has_methods": any(found.values()),
        "tokens": methods.tokens(view),
        "order": methods.order,
        "is_opposite": bool(mixture and methods.is_counting_and_learning(mixture, view)),
        "mixture_wins": bool(view.best and view.best.parts),
    }


def _row(entry: Entry, view: View, roles: dict[str, str]) -> dict[str, Any]:
    facts, interval = view.facts_of(entry.name), entry.behind
    return {
        "entry": entry,
        "role": roles[entry.tokenizer],
        "size": views.model_size(entry),
        "training": wording.duration(facts.training_seconds),
        "device": facts.device,
        "distance": _typeset(wording.bits_more(interval.difference)) if interval else None,
        "interval": _typeset(wording.bits_range(interval.low, interval.high)) if interval else None,
    }


def _groups(view: View) -> list[str]:
    """Groups with a ranked model, in the order of the ranking."""
    return list(dict.fromkeys(entry.group for entry in view.board.models))


def _is_address(source: str) -> bool:
    return re.match(r"https?://[^\s]+$", source) is not None


def _typeset(number: str) -> str:
    """With a real minus sign."""
    return number.replace("-", "\N{MINUS SIGN}")


def _together(text: str) -> str:
    """Number and unit on one line: the space between them does not break."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")
