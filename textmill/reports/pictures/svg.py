"""A matplotlib figure as SVG that lives inside a page and wears the page's clothes.

Colours are roles: a figure is drawn in stand-in colours, which become CSS variables, so that one
picture serves light and dark mode. Text stays text, in the page's font. Ids are hashed with a
fixed salt and carry the picture's name, and neither date nor version is written, so that the
same leaderboard is the same bytes. Figures are made without pyplot: no state, no display.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib
from matplotlib.figure import Figure

SERIES = 6
"""Colours for tokenizers; more tokenizers than colours begin again."""

_ROLES = ("paper", "ink", "muted", "faint", *(f"series-{number}" for number in range(SERIES)))
_STAND_INS = {role: f"#{0xA10000 + number:06x}" for number, role in enumerate(_ROLES)}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def colour(role: str) -> str:
    """The stand-in for a role: `ink`, `muted`, `faint`, `paper`, `series-0`, ..."""
    return _STAND_INS[role]


@contextmanager
def own_style() -> Iterator[None]:
    """Matplotlib as it comes, whatever the user's matplotlibrc says, until the block ends."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of `width` x `height` units, a font unit being one of them."""
    figure = Figure(figsize=(width / 72, height / 72), dpi=72)
    figure.patch.set_alpha(0.0)
    return figure


def to_svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an `<svg>` element; `name` is unique within the page.

    `description` is escaped and read out to those who do not see the picture.
    """
    out = io.StringIO()
    own = matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name})
    with own, warnings.catch_warnings():
        # The page's font draws the text, so a glyph that matplotlib's own lacks does not matter.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(out, format="svg", metadata=_NO_METADATA)
    return _dressed(out.getvalue(), name, description)


def _dressed(document: str, name: str, description: str) -> str:
    svg = document[document.index("<svg") :]
    svg = re.sub(r"<style.*?</style>\s*", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(href="|url\()#', rf"\1#{name}-", svg)
    svg = re.sub(r"font: (?:(\d+|bold) )?([\d.]+px) [^;\"]*", _font, svg)
    for role, stand_in in _STAND_INS.items():
        svg = svg.replace(stand_in, f"var(--{role})")
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    label = f'role="img" aria-label="{_escaped(description)}"'
    return re.sub(r"<svg[^>]*>", lambda _: f"<svg {box[0]} {label}>", svg, count=1).strip()


def _font(match: re.Match[str]) -> str:
    weight = f"font-weight: {match[1]}; " if match[1] else ""
    return f"{weight}font-size: {match[2]}"


def _escaped(text: str) -> str:
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(sign, entity)
    return text
