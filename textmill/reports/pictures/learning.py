"""Learning curves: bits per byte on validation against the text read, a line a network."""

import math
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes

from textmill.reports import wording
from textmill.reports.curves import Curve
from textmill.reports.pictures import svg
from textmill.reports.pictures.labels import spread
from textmill.reports.pictures.paper import Paper, name_height, quiet, tokenizer_roles
from textmill.reports.pictures.svg import colour
from textmill.reports.records import Entry
from textmill.reports.view import View

MARKED_LOOKS = 25
"""So many looks at the validation split, about, are shown as points on the line."""
DASHES = ((None, None), (7, 1.5), (2, 1), (7, 1.5, 1.5, 1.5))
MARKERS = ("o", "s", "D", "P", "X")
"""Networks of one tokenizer have one colour, so a dash and a mark tell them apart: 20 of them."""
LEADER, SAMPLE = 1.3, 2.4
"""Beside the picture, in letters: a line up or down to the name, and a piece of the curve."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a line is drawn, in the picture and beside its name."""

    paint: str
    dashes: tuple[float | None, ...]
    marker: str = ""
    width: float = 2.0


def learning(view: View, paper: Paper) -> str:
    """The picture as an SVG element; a dashed line is the best n-gram model on validation.

    A ring is a network's best look, whose weights were kept; its height is carried to the name.
    """
    rival, levels, looks = best_ngram(view), _levels(view), looks_of(view)
    low, top = min(levels.values()), ceiling(view)
    names = 1.35 * paper.letters * (len(levels) + 1)
    height = max((0.42 if paper.width > 500 else 0.8) * paper.width, names + 6.2 * paper.letters)
    figure = svg.new_figure(paper.width, height)
    left, foot = 3.2 * paper.letters / paper.width, 3.8 * paper.letters / height
    right = 1 - (paper.room(levels) + (LEADER + SAMPLE) * paper.letters) / paper.width
    head = 1 - 2.4 * paper.letters / height
    axes = figure.add_axes((left, foot, right - left, head - foot))
    air = 0.06 * (top - low)
    axes.set_ylim(low - air, top if from_above(view) else top + air)
    axes.set_xlim(0, max(curve.megabytes[-1] for curve in view.curves))
    quiet(axes, paper, "training text read, MB")
    name_height(axes, paper)
    axes.locator_params(nbins=6 if paper.width > 500 else 4)
    if rival and rival.name in levels:
        look = looks[rival.name]
        axes.axhline(levels[rival.name], color=look.paint, linewidth=look.width, dashes=look.dashes)
    for curve in view.curves:
        _line(axes, curve, looks[curve.name])
    _name_levels(axes, levels, looks, paper)
    description = "Bits per byte on validation while training. At best: " + ", ".join(
        f"{name} {wording.bits(level)}" for name, level in levels.items()
    )
    return svg.to_svg(figure, f"learning-{paper.name}", description)


def ceiling(view: View) -> float:
    """Where the picture ends above: the first steep fall would flatten the part that tells."""
    low, high = min(_levels(view).values()), max(_levels(view).values())
    highest = max(max(curve.bits_per_byte) for curve in view.curves)
    return max(highest if highest <= high + low else high + 0.6 * low, low + 0.1)


def from_above(view: View) -> tuple[Curve, ...]:
    """The curves that begin above the picture."""
    return tuple(curve for curve in view.curves if curve.bits_per_byte[0] > ceiling(view))


def _levels(view: View) -> dict[str, float]:
    """The best of every network, and of the n-gram model beside them."""
    levels = {curve.name: curve.bits_per_byte[curve.best] for curve in view.curves}
    rival = best_ngram(view)
    if rival and rival.bits_per_byte_valid:
        levels[rival.name] = rival.bits_per_byte_valid
    return levels


def looks_of(view: View) -> dict[str, Look]:
    """The tokenizer's colour, and among its networks, by name, a dash and a mark of their own."""
    roles, found = tokenizer_roles(view), dict[str, Look]()
    used = dict.fromkeys((curve.tokenizer for curve in view.curves), 0)
    for curve in sorted(view.curves, key=lambda one: one.name):
        number = used[curve.tokenizer]
        used[curve.tokenizer] += 1
        found[curve.name] = Look(
            paint=colour(roles.get(curve.tokenizer, "muted")),
            dashes=DASHES[number % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)],
        )
    rival = best_ngram(view)
    return found | ({rival.name: Look(colour("muted"), (4, 2), width=1.1)} if rival else {})


def _line(axes: Axes, curve: Curve, look: Look) -> None:
    """The curve, an arrow where it comes in from above, and a ring at the best look."""
    read, scores, paint = curve.megabytes, curve.bits_per_byte, look.paint
    axes.plot(
        read,
        scores,
        color=paint,
        linewidth=look.width,
        dashes=look.dashes,
        marker=look.marker,
        markersize=5,
        markeredgewidth=0,
        markevery=math.ceil(len(read) / MARKED_LOOKS),
    )
    best, level = read[curve.best], scores[curve.best]
    axes.plot([best, axes.get_xlim()[1]], [level] * 2, color=paint, linewidth=1, alpha=0.45)
    mark: dict[str, Any] = {"color": paint, "clip_on": False, "zorder": 3}
    axes.plot(
        [best],
        [level],
        marker="o",
        markersize=8,
        markerfacecolor=colour("paper"),
        markeredgewidth=2,
        **mark,
    )
    top = axes.get_ylim()[1]
    if scores[0] > top:
        after = next(look for look, score in enumerate(scores) if score <= top)
        share = (scores[after - 1] - top) / (scores[after - 1] - scores[after])
        enters = read[after - 1] + share * (read[after] - read[after - 1])
        axes.plot([enters], [top], marker="^", markersize=8, markeredgewidth=0, **mark)


def best_ngram(view: View) -> Entry | None:
    """The n-gram model that is best on validation: what a network has to beat."""
    ngrams = [entry for entry in view.board.models if entry.group == "ngrams"]
    scored = [entry for entry in ngrams if entry.bits_per_byte_valid is not None]
    return min(scored, key=lambda entry: entry.bits_per_byte_valid or 0.0, default=None)


def _name_levels(
    axes: Axes, levels: dict[str, float], looks: dict[str, Look], paper: Paper
) -> None:
    """Names beside the right edge, each led to from the height of its line."""
    bottom, top = axes.get_ylim()
    gap = 1.35 * paper.letters * (top - bottom) / axes.bbox.height
    letter = paper.letters / axes.bbox.width
    names = sorted(levels, key=lambda name: levels[name])
    places = spread([levels[name] for name in names], gap, bottom, top)
    for name, place in zip(names, places, strict=True):
        _lead(axes, looks[name], (levels[name], place), letter)
        axes.annotate(
            paper.shown(name),
            (1 + (LEADER + SAMPLE) * letter, place),
            (0.5 * paper.letters, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            verticalalignment="center_baseline",
            fontsize=paper.letters,
            color=colour("ink"),
            parse_math=False,
        )


def _lead(axes: Axes, look: Look, heights: tuple[float, float], letter: float) -> None:
    """A thin line from the edge to the height of the name, then a piece of the curve."""
    level, place = heights
    begin, end = 1 + LEADER * letter, 1 + (LEADER + SAMPLE) * letter
    beside: dict[str, Any] = {
        "transform": axes.get_yaxis_transform(),
        "clip_on": False,
        "color": look.paint,
    }
    axes.plot([1, begin], [level, place], linewidth=1, alpha=0.45, **beside)
    axes.plot([begin, end], [place] * 2, linewidth=look.width, dashes=look.dashes, **beside)
    axes.plot(
        [(begin + end) / 2], [place], marker=look.marker, markersize=5, markeredgewidth=0, **beside
    )
