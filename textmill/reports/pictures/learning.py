"""Learning curves: bits per byte on validation against the text read, a line a network."""

from typing import Any

from matplotlib.axes import Axes

from textmill.reports import wording
from textmill.reports.curves import Curve
from textmill.reports.pictures import svg
from textmill.reports.pictures.paper import Paper, name_height, quiet, tokenizer_roles
from textmill.reports.pictures.svg import colour
from textmill.reports.records import Entry
from textmill.reports.view import View

FEW_LOOKS = 25
"""So few looks at the validation split are shown as points on the line."""


def learning(view: View, paper: Paper) -> str:
    """The picture as an SVG element; a dashed line is the best n-gram model on validation.

    A ring is a network's best look, whose weights were kept; its height is carried to the name.
    """
    rival, levels = best_ngram(view), _levels(view)
    low, top = min(levels.values()), ceiling(view)
    height = (0.42 if paper.width > 500 else 0.8) * paper.width
    figure = svg.new_figure(paper.width, height)
    left, foot = 3.2 * paper.letters / paper.width, 3.8 * paper.letters / height
    right = 1 - paper.room(levels) / paper.width
    head = 1 - 2.4 * paper.letters / height
    axes = figure.add_axes((left, foot, right - left, head - foot))
    axes.set_ylim(low - 0.06 * (top - low), top)
    axes.set_xlim(0, max(curve.megabytes[-1] for curve in view.curves))
    quiet(axes, paper, "training text read, MB")
    name_height(axes, paper)
    axes.locator_params(nbins=6 if paper.width > 500 else 4)
    if rival:
        axes.axhline(levels[rival.name], color=colour("muted"), linewidth=1.1, dashes=(4, 2))
    roles = tokenizer_roles(view)
    for curve in view.curves:
        _line(axes, curve, colour(roles.get(curve.tokenizer, "muted")))
    _name_levels(axes, levels, paper, height * (head - foot))
    description = "Bits per byte on validation while training. At best: " + ", ".join(
        f"{name} {wording.bits(level)}" for name, level in levels.items()
    )
    return svg.to_svg(figure, f"learning-{paper.name}", description)


def ceiling(view: View) -> float:
    """Where the picture ends above: the first steep fall would flatten the part that tells."""
    low, high = min(_levels(view).values()), max(_levels(view).values())
    highest = max(max(curve.bits_per_byte) for curve in view.curves)
    return max(min(highest, high + 0.6 * low), low + 0.1)


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


def _line(axes: Axes, curve: Curve, paint: str) -> None:
    """The curve, an arrow where it comes in from above, and a ring at the best look."""
    read, scores = curve.megabytes, curve.bits_per_byte
    looks = "o" if len(read) <= FEW_LOOKS else ""
    axes.plot(read, scores, color=paint, linewidth=2, marker=looks, markersize=4)
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


def _name_levels(axes: Axes, levels: dict[str, float], paper: Paper, height: float) -> None:
    """Names beside the right edge at the height of their lines, pushed apart where they meet."""
    bottom, top = axes.get_ylim()
    gap = 1.35 * paper.letters * (top - bottom) / height
    place = -float("inf")
    for name, level in sorted(levels.items(), key=lambda item: item[1]):
        place = max(level, place + gap)
        axes.annotate(
            paper.shown(name),
            (1, place),
            (0.9 * paper.letters, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            verticalalignment="center_baseline",
            fontsize=paper.letters,
            color=colour("ink"),
            parse_math=False,
        )
