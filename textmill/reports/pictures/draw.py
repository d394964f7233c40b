"""All pictures of a view, each in both layouts."""

from collections.abc import Callable
from dataclasses import dataclass

from textmill.reports.pictures.learning import learning
from textmill.reports.pictures.paper import NARROW, WIDE, Paper
from textmill.reports.pictures.ranking import ranking
from textmill.reports.pictures.sizes import sizes
from textmill.reports.pictures.svg import own_style
from textmill.reports.view import View


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture in both layouts, as SVG elements."""

    wide: str
    narrow: str


def draw(view: View) -> dict[str, Picture]:
    """`ranking`, `learning` and `sizes`; those without anything to show are left out."""
    wanted: dict[str, Callable[[View, Paper], str]] = {}
    if view.board.models:
        wanted |= {"ranking": ranking, "sizes": sizes}
    if view.board.models and view.curves:
        wanted["learning"] = learning
    with own_style():
        return {
            name: Picture(make(view, WIDE), make(view, NARROW)) for name, make in wanted.items()
        }
