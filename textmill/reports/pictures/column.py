"""Paper for small pictures that stand side by side: wide enough for a phone and for a column."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from textmill.reports.pictures import svg
from textmill.reports.pictures.paper import Paper, quiet
from textmill.reports.pictures.svg import colour

PAPER = Paper("column", 350, 11)
HEIGHT = 270.0


def column(label: str, height: str) -> tuple[Figure, Axes]:
    """A figure with one picture; what stands below it, and what above the vertical axis."""
    figure = svg.new_figure(PAPER.width, HEIGHT)
    left, foot = 4.4 * PAPER.letters / PAPER.width, 3.8 * PAPER.letters / HEIGHT
    head = 1 - 2.4 * PAPER.letters / HEIGHT
    axes = figure.add_axes((left, foot, 0.97 - left, head - foot))
    quiet(axes, PAPER, label)
    axes.locator_params(axis="y", nbins=6)
    axes.annotate(
        height,
        (0, 1),
        (-3.6 * PAPER.letters, 0.9 * PAPER.letters),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=0.95 * PAPER.letters,
        color=colour("muted"),
    )
    return figure, axes
