"""Pictures of diagnosed models as SVG: a colour a model, the same in every picture."""

import math
from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from textmill.diagnosis.records import Bin, Diagnosis, Exposure
from textmill.reports.pictures import svg
from textmill.reports.pictures.column import column
from textmill.reports.pictures.svg import colour

Roles = Mapping[str, str]
BLOCKS = 8
"""Distances are averaged in so many blocks: single ones are noise."""


def gradients(found: Sequence[Diagnosis], roles: Roles) -> str:
    """Norm of the gradient against steps back, on a logarithmic scale; cells dashed."""
    figure, axes = column("steps back in time, k", "norm of the gradient")
    shown = []
    for one in found:
        for state, norms in one.gradients.items():
            points = [(k, norm) for k, norm in enumerate(norms, 1) if norm > 0]
            if points:
                dashes = (4, 2) if state == "c" else (None, None)
                paint = colour(roles[one.name])
                axes.plot(*zip(*points, strict=True), color=paint, linewidth=2, dashes=dashes)
                shown.append(f"{one.name} {state} {norms[0]:.2g} to {norms[-1]:.2g}")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: _power_of_ten(value))
    return svg.to_svg(figure, "gradients", "Gradient by steps back: " + ", ".join(shown))


def gates(found: Sequence[Diagnosis], roles: Roles) -> str:
    """Mean of the keeping gate of every unit, sorted; a line a layer, higher layers thinner."""
    figure, axes = column("share of units", "kept of the old state")
    for one in found:
        for gate in one.gates:
            units = sorted(gate.units)
            shares = [(i + 0.5) / len(units) for i in range(len(units))]
            width = 2.4 / gate.layer
            axes.plot(shares, units, color=colour(roles[one.name]), linewidth=width)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    means = [f"{one.name} {gate.mean:.2f}" for one in found for gate in one.gates]
    return svg.to_svg(figure, "gates", "Mean keeping gates: " + ", ".join(means))


def span(examined: Sequence[Exposure]) -> tuple[float, float]:
    """One vertical axis for the pictures of all models, so that heights compare among them."""
    shown = [
        nats
        for one in examined
        for values in (one.own, one.forced)
        for nats in _in_blocks(values)[1]
    ]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    margin = 0.05 * (high - low) or 0.1
    return low - margin, high + margin


def exposure(one: Diagnosis, role: str, number: int, axis: tuple[float, float]) -> str:
    """Nats a token on its own text and, in grey, on the real one, by distance from the prompt.

    axis: lower and upper end of the vertical axis, as `span` gives them.
    """
    figure, axes = column("tokens after the prompt", "nats a token")
    assert one.exposure is not None
    for values, paint in ((one.exposure.forced, "muted"), (one.exposure.own, role)):
        axes.plot(*_in_blocks(values), color=colour(paint), linewidth=2, marker="o", markersize=3)
    axes.set_xlim(left=0)
    axes.set_ylim(*axis)
    own, forced = one.exposure.means
    words = f"{one.name}: {own:.2f} nats a token on its own text, {forced:.2f} on the real one"
    return svg.to_svg(figure, f"exposure-{number}", words)


def positions(found: Sequence[Diagnosis], roles: Roles) -> str:
    """Nats by place in the document."""
    return _binned(found, roles, "position", lambda one: one.positions, "token of the document")


def frequencies(found: Sequence[Diagnosis], roles: Roles) -> str:
    """Nats by how often the token stands in the training text."""
    return _binned(found, roles, "frequency", lambda one: one.frequencies, "count in training")


def _binned(
    found: Sequence[Diagnosis],
    roles: Roles,
    name: str,
    bins_of: Callable[[Diagnosis], Sequence[Bin]],
    label: str,
) -> str:
    figure, axes = column(label, "nats a token")
    lows: set[int] = set()
    for one in found:
        bins = bins_of(one)
        lows |= {each.low for each in bins}
        axes.plot(
            [_place(each.low) for each in bins],
            [each.nats for each in bins],
            color=colour(roles[one.name]),
            linewidth=2,
            marker="o",
            markersize=4,
        )
    _name_bins(axes, sorted(lows))
    words = ", ".join(
        f"{one.name} " + " ".join(f"{each.nats:.2f}" for each in bins_of(one)) for one in found
    )
    return svg.to_svg(figure, name, f"Nats by {label}: {words}")


def _name_bins(axes: Axes, lows: list[int]) -> None:
    """The lower ends of some bins on the axis, so that their names do not touch."""
    shown = lows[:: math.ceil(len(lows) / 6)]
    axes.xaxis.set_major_locator(FixedLocator([_place(low) for low in shown]))
    axes.xaxis.set_ticklabels([_short(low) for low in shown])


def _place(low: int) -> float:
    """Logarithmic, with a place of its own for none at all."""
    return math.log(low) if low else -1.5


def _in_blocks(values: Sequence[float]) -> tuple[list[float], list[float]]:
    size = max(1, math.ceil(len(values) / BLOCKS))
    blocks = [values[first : first + size] for first in range(0, len(values), size)]
    middles = [first + (len(block) + 1) / 2 for first, block in zip(
        range(0, len(values), size), blocks, strict=True
    )]  # fmt: skip
    return middles, [sum(block) / len(block) for block in blocks]


def _short(number: int) -> str:
    return f"{number // 1000} k" if number >= 10_000 else str(number)


def _power_of_ten(value: float) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e4 else f"{value:.0e}".replace("e-0", "e-")
