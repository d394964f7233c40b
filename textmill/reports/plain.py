"""The leaderboard as Markdown, JSON and CSV."""

import csv
import io
import json
import re
from dataclasses import asdict

from textmill.reports import differences, wording
from textmill.reports import view as views
from textmill.reports.records import to_json
from textmill.reports.remarks import remarks
from textmill.reports.view import View

CSV_COLUMNS = (
    "rank",
    "name",
    "group",
    "tokenizer",
    "bits_per_byte",
    "bits_per_byte_valid",
    "behind",
    "behind_low",
    "behind_high",
    "bits_per_character",
    "perplexity",
    "word_perplexity",
    "unknown_rate",
    "spelling_share",
    "parameters",
    "ngrams",
    "bytes_on_disk",
    "contaminated",
    "adapts",
)

_SIGNS = re.compile(r"[\\`*<>|~]|(?<!\w)_|_(?!\w)|(?<=\])\(|^[#+-](?=\s)")
"""Signs that Markdown would read as markup where they stand."""


def render_json(view: View) -> str:
    """The whole leaderboard; facts of this machine, where given, beside it under `facts`."""
    if not view.facts:
        return to_json(view.board)
    content = json.loads(to_json(view.board))
    content["facts"] = {name: asdict(facts) for name, facts in sorted(view.facts.items())}
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def render_csv(view: View) -> str:
    """A row a ranked model, numbers unrounded, absent ones empty. Serves as a DVC plot."""
    times = ("training_seconds",) if view.facts else ()
    out = io.StringIO()
    writer = csv.DictWriter(out, [*CSV_COLUMNS, *times], lineterminator="\n")
    writer.writeheader()
    for entry in view.board.models:
        values = {name: value for name, value in asdict(entry).items() if name in CSV_COLUMNS}
        interval = entry.behind
        overlap = view.board.text.overlap
        values["contaminated"] = str(overlap.is_contaminated).lower() if overlap else None
        values["adapts"] = str(entry.adapts).lower()
        values["behind"] = interval.difference if interval else None
        values["behind_low"] = interval.low if interval else None
        values["behind_high"] = interval.high if interval else None
        seconds = {name: view.facts_of(entry.name).training_seconds for name in times}
        writer.writerow(values | seconds)
    return out.getvalue()


def render_markdown(view: View) -> str:
    """GitHub-flavoured Markdown, tables aligned also as plain text."""
    board = view.board
    parts = [f"# {_escaped(board.text.title)}: leaderboard"]
    parts.append(
        f"Test text: {views.test_facts(view)}. Sorted by bits per byte on it, lower is better."
    )
    if board.models:
        columns = views.columns(view)
        rows = [[column.text(entry, view) for column in columns] for entry in board.models]
        numbers = [column.is_number and column.key != "behind" for column in columns]
        parts.append(_table([column.heading for column in columns], rows, numbers))
        parts += [_escaped(words) for words in differences.below(view)]
    if noticed := remarks(view):
        parts.append("\n".join(f"- {_escaped(remark)}" for remark in noticed))
    if board.unranked:
        reasons = [f"- {_escaped(one.name)}: {_escaped(one.reason)}" for one in board.unranked]
        parts.append("## Not ranked\n\n" + "\n".join(reasons))
    if board.tokenizations:
        parts.append(
            "## Perplexity per token\n\nComparable only among models over the same tokens."
        )
    for one in board.tokenizations:
        rows = [
            [
                str(model.rank),
                views.perplexity_name(model),
                wording.perplexity(model.perplexity),
                wording.perplexity(model.perplexity_valid),
            ]
            for model in one.models
        ]
        parts.append(
            f"### {_escaped(one.tokenizer)}\n\n"
            + _table(["#", "model", "test", "validation"], rows, [True, False, True, True])
        )
    parts.append(f"Comparison key `{board.comparison_key}`.")
    return "\n\n".join(parts) + "\n"


def _table(headings: list[str], rows: list[list[str]], is_number: list[bool]) -> str:
    cells = [headings, *([_escaped(cell) for cell in row] for row in rows)]
    widths = [max(3, *(len(row[index]) for row in cells)) for index in range(len(headings))]

    def line(row: list[str]) -> str:
        padded = [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, is_number, strict=True)
        ]
        return "| " + " | ".join(padded) + " |"

    rule = [
        "-" * (width - 1) + ":" if number else "-" * width
        for width, number in zip(widths, is_number, strict=True)
    ]
    return "\n".join([line(cells[0]), line(rule), *map(line, cells[1:])])


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table; a name in snake case stays so."""
    return _SIGNS.sub(r"\\\g<0>", " ".join(text.split()))
