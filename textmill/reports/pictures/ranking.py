"""The ranking: a row a model, test as a dot, validation as a ring, the interval as a band."""

from typing import Any

from matplotlib.axes import Axes

from textmill.reports import wording
from textmill.reports.pictures import svg
from textmill.reports.pictures.paper import Paper, edge, quiet, tokenizer_roles
from textmill.reports.pictures.svg import colour
from textmill.reports.records import Entry
from textmill.reports.view import View


def ranking(view: View, paper: Paper) -> str:
    """The picture as an SVG element. The band spans the best plus the interval behind it."""
    models, end = view.board.models, edge(view)
    row, head, foot = 2.2 * paper.letters, 0.4 * paper.letters, 3.8 * paper.letters
    height = head + row * len(models) + foot
    figure = svg.new_figure(paper.width, height)
    left = paper.room(entry.name for entry in models) / paper.width
    right = 1 - 4.2 * paper.letters / paper.width
    axes = figure.add_axes((left, foot / height, right - left, 1 - (head + foot) / height))
    axes.set_xlim(*_span(models, end))
    axes.set_ylim(len(models) - 0.5, -0.5)
    quiet(axes, paper, "bits per byte (less is better)")
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=8 if paper.width > 500 else 4)
    axes.axvline(models[0].bits_per_byte, color=colour("muted"), linewidth=0.9, dashes=(2, 2))
    roles = tokenizer_roles(view)
    for index, entry in enumerate(models):
        axes.axhline(index, color=colour("faint"), linewidth=0.8, zorder=0.5)
        _texts(axes, index, entry, paper)
        paint = colour(roles[entry.tokenizer])
        _marks(axes, index, entry, paper, paint=paint, end=end)
    return svg.to_svg(figure, f"ranking-{paper.name}", _description(models))


def _span(models: tuple[Entry, ...], end: float) -> tuple[float, float]:
    """From the least to the most of what is shown, models at the edge included."""
    near = [entry for entry in models if entry.bits_per_byte <= end]
    valid = [one.bits_per_byte_valid for one in near if one.bits_per_byte_valid is not None]
    shown = [min(entry.bits_per_byte, end) for entry in models] + valid
    low, high = min(shown), max(shown)
    margin = 0.03 * (high - low) or 0.01
    return low - margin, high + margin


def _texts(axes: Axes, index: int, entry: Entry, paper: Paper) -> None:
    """Name to the left, number to the right of the row."""
    look: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "horizontalalignment": "right",
        "verticalalignment": "center_baseline",
        "fontsize": paper.letters,
        "fontweight": "bold" if entry.rank == 1 else "normal",
        "color": colour("ink"),
        "parse_math": False,
    }
    axes.annotate(paper.shown(entry.name), (0, index), (-0.9 * paper.letters, 0), **look)
    score = wording.bits(entry.bits_per_byte)
    axes.annotate(score, (1, index), (3.9 * paper.letters, 0), **look)


def _marks(axes: Axes, index: int, entry: Entry, paper: Paper, *, paint: str, end: float) -> None:
    dot = 0.66 * paper.letters
    if entry.bits_per_byte > end:
        axes.plot([end], [index], marker=">", markersize=dot, color=paint, markeredgewidth=0)
        return
    if entry.behind is not None and entry.rank > 1:
        best = entry.bits_per_byte - entry.behind.difference
        band = [best + entry.behind.low, best + entry.behind.high]
        axes.plot(
            band, [index] * 2, color=paint, linewidth=1.5 * dot, alpha=0.3, solid_capstyle="butt"
        )
    if entry.bits_per_byte_valid is not None:
        axes.plot(
            [entry.bits_per_byte_valid],
            [index],
            marker="o",
            markersize=0.72 * dot,
            color=paint,
            markerfacecolor=colour("paper"),
            markeredgecolor=paint,
            markeredgewidth=1.2,
        )
    axes.plot(
        [entry.bits_per_byte], [index], marker="o", markersize=dot, color=paint, markeredgewidth=0
    )


def _description(models: tuple[Entry, ...]) -> str:
    first, last = models[0], models[-1]
    return (
        f"Bits per byte of {len(models)} models, from {first.name} with "
        f"{wording.bits(first.bits_per_byte)} to {last.name} with "
        f"{wording.bits(last.bits_per_byte)}. The table holds every number."
    )
