"""Size against quality: what a model weighs on disk, and what it makes of the test text."""

from matplotlib.axes import Axes

from textmill.reports import wording
from textmill.reports.pictures import svg
from textmill.reports.pictures.labels import Box, beside
from textmill.reports.pictures.paper import (
    LETTER,
    MARKERS,
    OTHER_MARKER,
    Paper,
    edge,
    name_height,
    quiet,
    tokenizer_roles,
)
from textmill.reports.pictures.svg import colour
from textmill.reports.records import Entry
from textmill.reports.view import View

MARK = 0.75
"""Size of a mark, that of letters being 1."""


def sizes(view: View, paper: Paper) -> str:
    """The picture as an SVG element: a mark a model, its rank beside it.

    The stepped line joins the models that no smaller or equal one beats.
    """
    models = [entry for entry in view.board.models if entry.bits_per_byte <= edge(view)]
    height = (0.45 if paper.width > 500 else 0.85) * paper.width
    figure = svg.new_figure(paper.width, height)
    left, foot = 3.2 * paper.letters / paper.width, 3.8 * paper.letters / height
    head = 1 - 2.4 * paper.letters / height
    axes = figure.add_axes((left, foot, 0.98 - left, head - foot))
    axes.set_xscale("log")
    axes.set_xlim(*_span([entry.bytes_on_disk for entry in models]))
    scores = [entry.bits_per_byte for entry in models]
    margin = 0.08 * (max(scores) - min(scores)) or 0.01
    axes.set_ylim(min(scores) - margin, max(scores) + margin)
    quiet(axes, paper, "size on disk")
    name_height(axes, paper)
    axes.locator_params(axis="y", nbins=6)
    axes.xaxis.set_major_formatter(lambda value, _: _round_size(value))
    axes.minorticks_off()
    steps = frontier(models)
    axes.step(
        [entry.bytes_on_disk for entry in steps] + [axes.get_xlim()[1]],
        [entry.bits_per_byte for entry in steps] + [steps[-1].bits_per_byte],
        where="post",
        color=colour("muted"),
        linewidth=1.1,
        dashes=(4, 2),
    )
    roles = tokenizer_roles(view)
    for entry in models:
        axes.plot(
            [entry.bytes_on_disk],
            [entry.bits_per_byte],
            marker=MARKERS.get(entry.group, OTHER_MARKER),
            markersize=MARK * paper.letters,
            color=colour(roles[entry.tokenizer]),
            markeredgewidth=0,
        )
    _number(axes, models, paper)
    description = "Size on disk and bits per byte: " + ", ".join(
        f"{entry.name} {wording.size(entry.bytes_on_disk)} {wording.bits(entry.bits_per_byte)}"
        for entry in models
    )
    return svg.to_svg(figure, f"sizes-{paper.name}", description)


def _number(axes: Axes, models: list[Entry], paper: Paper) -> None:
    """The rank beside every mark, with a thin line to it where it had to go further off."""
    marks = []
    for entry in models:
        x, y = axes.transData.transform((entry.bytes_on_disk, entry.bits_per_byte))
        marks.append(Box(x, y, MARK * paper.letters, MARK * paper.letters))
    size = 0.9 * paper.letters
    labels = [(LETTER * len(str(entry.rank)) * size, 0.85 * size) for entry in models]
    corners = axes.transAxes.transform([(0, 0), (1, 1)])
    (x, y), (width, height) = corners.mean(axis=0), corners[1] - corners[0]
    places = beside(marks, labels, Box(x, y, width, height))
    for entry, mark, place in zip(models, marks, places, strict=True):
        line = {"arrowstyle": "-", "color": colour("muted"), "linewidth": 0.6, "shrinkB": 0}
        is_far = abs(place.x - mark.x) > place.width + mark.width or (
            abs(place.y - mark.y) > place.height + mark.height
        )
        axes.annotate(
            str(entry.rank),
            (entry.bytes_on_disk, entry.bits_per_byte),
            (place.x - mark.x, place.y - mark.y),
            textcoords="offset points",
            horizontalalignment="center",
            verticalalignment="center_baseline",
            fontsize=size,
            color=colour("ink"),
            arrowprops=line if is_far else None,
        )


def frontier(models: list[Entry]) -> list[Entry]:
    """Models that are better than every model of their size or less, by size."""
    steps: list[Entry] = []
    for entry in sorted(models, key=lambda one: (one.bytes_on_disk, one.bits_per_byte)):
        if not steps or entry.bits_per_byte < steps[-1].bits_per_byte:
            steps.append(entry)
    return steps


def _span(values: list[int]) -> tuple[float, float]:
    return max(1.0, min(values) / 2), max(2.0, max(values) * 2)


def _round_size(value: float) -> str:
    """`10 kB`, not `10.0 kB`: a power of ten on the axis."""
    number, unit = wording.size(round(value)).split(" ")
    return f"{float(number):g} {unit}"
