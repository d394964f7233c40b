"""Learning curves: bits per byte on validation against the text read, a line a network."""

from matplotlib.axes import Axes

from textmill.reports import wording
from textmill.reports.pictures import svg
from textmill.reports.pictures.paper import Paper, name_height, quiet, tokenizer_roles
from textmill.reports.pictures.svg import colour
from textmill.reports.records import Entry
from textmill.reports.view import View

FEW_LOOKS = 25
"""So few looks at the validation split are shown as points on the line."""


def learning(view: View, paper: Paper) -> str:
    """The picture as an SVG element; a dashed line is the best n-gram model on validation.

    The first steep fall is cut off at the top: it would flatten the part that tells.
    """
    rival = best_ngram(view)
    ends = {curve.name: curve.bits_per_byte[-1] for curve in view.curves}
    if rival and rival.bits_per_byte_valid:
        ends[rival.name] = rival.bits_per_byte_valid
    low, high = min(ends.values()), max(ends.values())
    highest = max(max(curve.bits_per_byte) for curve in view.curves)
    top = max(min(highest, high + 0.6 * low), low + 0.1)
    height = (0.42 if paper.width > 500 else 0.8) * paper.width
    figure = svg.new_figure(paper.width, height)
    left, foot = 3.2 * paper.letters / paper.width, 3.8 * paper.letters / height
    right = 1 - paper.room(ends) / paper.width
    head = 1 - 2.4 * paper.letters / height
    axes = figure.add_axes((left, foot, right - left, head - foot))
    axes.set_ylim(low - 0.06 * (top - low), top)
    axes.set_xlim(0, max(curve.megabytes[-1] for curve in view.curves))
    quiet(axes, paper, "training text read, MB")
    name_height(axes, paper)
    axes.locator_params(nbins=6 if paper.width > 500 else 4)
    if rival:
        axes.axhline(ends[rival.name], color=colour("muted"), linewidth=1.1, dashes=(4, 2))
    roles = tokenizer_roles(view)
    for curve in view.curves:
        paint = colour(roles.get(curve.tokenizer, "muted"))
        looks = "o" if len(curve.megabytes) <= FEW_LOOKS else ""
        axes.plot(
            curve.megabytes,
            curve.bits_per_byte,
            color=paint,
            linewidth=2,
            marker=looks,
            markersize=4,
        )
        read, score = curve.megabytes[-1], curve.bits_per_byte[-1]
        far = axes.get_xlim()[1]
        axes.plot([read, far], [score, score], color=paint, linewidth=1, alpha=0.45)
        axes.plot(
            [read], [score], marker="o", color=paint, markersize=6, markeredgewidth=0, clip_on=False
        )
    _name_ends(axes, ends, paper, height * (head - foot))
    description = "Bits per byte on validation while training. At the end: " + ", ".join(
        f"{name} {wording.bits(end)}" for name, end in ends.items()
    )
    return svg.to_svg(figure, f"learning-{paper.name}", description)


def best_ngram(view: View) -> Entry | None:
    """The n-gram model that is best on validation: what a network has to beat."""
    ngrams = [entry for entry in view.board.models if entry.group == "ngrams"]
    scored = [entry for entry in ngrams if entry.bits_per_byte_valid is not None]
    return min(scored, key=lambda entry: entry.bits_per_byte_valid or 0.0, default=None)


def _name_ends(axes: Axes, ends: dict[str, float], paper: Paper, height: float) -> None:
    """Names beside the right edge at the height of their lines, pushed apart where they meet."""
    bottom, top = axes.get_ylim()
    gap = 1.35 * paper.letters * (top - bottom) / height
    place = -float("inf")
    for name, end in sorted(ends.items(), key=lambda item: item[1]):
        place = max(end, place + gap)
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
