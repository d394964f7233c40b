"""What the pictures share: two layouts, colours and shapes, quiet axes.

A picture that is only scaled down has letters that nobody can read on a phone, so each is laid
out twice and the page shows the one that fits. Colour is the tokenizer and shape the group, in
every picture. Models far behind (a uniform model needs four times the bits of the best) would
squeeze the others together; they stand at the edge of a picture with an arrow.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from matplotlib.axes import Axes

from textmill.reports.pictures import svg
from textmill.reports.pictures.svg import colour
from textmill.reports.view import View

FAR_BEHIND = 1.6
"""A model that needs this many times the bits of the best stands at the edge."""
MARKERS = {"ngrams": "o", "networks": "D", "adapted": "^", "mixtures": "s"}
OTHER_MARKER = "v"
LETTER = 0.62
"""Width of a letter for its size; generous, since the page's font is not known."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A layout: width in units, and the size of letters in them."""

    name: str
    width: float
    letters: float

    def shown(self, name: str) -> str:
        """The name, of one that would take more than two fifths of the width only both ends.

        What tells models of one family apart is often the end: `my_lstm_two…r_3`.
        """
        most = int(0.4 * self.width / (LETTER * self.letters))
        end = most // 3
        if len(name) <= most:
            return name
        return f"{name[: most - 1 - end]}\N{HORIZONTAL ELLIPSIS}{name[-end:]}"

    def room(self, names: Iterable[str]) -> float:
        """Width of the longest name as shown, with a little air."""
        longest = max(len(self.shown(name)) for name in names)
        return (LETTER * longest + 1.6) * self.letters


WIDE = Paper("wide", 860, 11.5)
NARROW = Paper("narrow", 350, 11)


def tokenizer_roles(view: View) -> dict[str, str]:
    """A colour for every tokenizer, by name, so that no change of ranks changes a colour."""
    names = sorted({entry.tokenizer for entry in view.board.models})
    return {name: f"series-{index % svg.SERIES}" for index, name in enumerate(names)}


def edge(view: View) -> float:
    """Bits per byte at which models far behind are shown; infinite if there are none."""
    scores = [entry.bits_per_byte for entry in view.board.models]
    near = [score for score in scores if score <= FAR_BEHIND * scores[0]]
    if len(near) == len(scores):
        return math.inf
    return near[-1] + 0.08 * (near[-1] - near[0]) + 0.02


def quiet(axes: Axes, paper: Paper, label: str) -> None:
    """Axes without a box: numbers, faint lines and one label below."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.patch.set_alpha(0.0)
    axes.tick_params(length=0, labelsize=0.9 * paper.letters, labelcolor=colour("muted"), pad=6)
    axes.grid(visible=True, color=colour("faint"), linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel(label, color=colour("muted"), fontsize=0.95 * paper.letters, labelpad=6)


def name_height(axes: Axes, paper: Paper) -> None:
    """What the vertical axis shows, above its numbers."""
    axes.annotate(
        "bits per byte",
        (0, 1),
        (-2.9 * paper.letters, 0.9 * paper.letters),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=0.95 * paper.letters,
        color=colour("muted"),
    )
