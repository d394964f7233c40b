"""Pictures of tokenizers as SVG, small enough for a phone and for a column of a wide page."""

from collections.abc import Mapping, Sequence

from matplotlib.ticker import MaxNLocator

from textmill.reports.pictures import svg
from textmill.reports.pictures.column import column
from textmill.reports.pictures.svg import colour
from textmill.reports.tokens.tables import ORDERS, Report


def zipf(report: Report, number: int) -> str:
    """Count against rank on logarithmic scales, a line an order, dashed what was fitted."""
    figure, axes = column("rank", "count")
    for order in ORDERS:
        paint = colour(order_role(order))
        axes.plot(*report.curve(order), color=paint, linewidth=2)
        axes.plot(*report.line(order), color=colour("ink"), linewidth=1, dashes=(4, 2))
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(_whole_numbers())
        axis.set_major_formatter(lambda value, _: _power(value))
    fits = [f"order {order}: {report.exponent(order)}" for order in ORDERS]
    return svg.to_svg(figure, f"zipf-{number}", f"Zipf, exponents of {', '.join(fits)}")


def coverage(reports: Sequence[Report], roles: Mapping[str, str]) -> str:
    """Share of validation's running tokens that the most frequent types make up."""
    figure, axes = column("most frequent types", "share of tokens")
    for report in reports:
        axes.plot(*report.coverage("valid"), color=colour(roles[report.name]), linewidth=2)
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.03)
    axes.xaxis.set_major_locator(_whole_numbers())
    axes.xaxis.set_major_formatter(lambda value, _: _power(value))
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    return svg.to_svg(figure, "coverage", "Coverage of validation by vocabulary size")


def lengths(reports: Sequence[Report], roles: Mapping[str, str], of: str) -> str:
    """Shares of train by length; no curve where all have one length."""
    figure, axes = column(of, "share of train")
    axes.set_xscale("log")
    for report in reports:
        x, y = report.lengths(of)
        if len(x) > 1:
            axes.plot(x, y, color=colour(roles[report.name]), linewidth=2)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else "")
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    return svg.to_svg(figure, of.replace(" ", "-"), f"Histogram of {of}")


def order_role(order: int) -> str:
    """The colour of an order of n-grams."""
    return f"series-{order - 1}"


def _whole_numbers() -> MaxNLocator:
    return MaxNLocator(nbins=6, integer=True)


def _power(value: float) -> str:
    """`1`, `100`, `10 k`, `1 M`: ten to the power of a whole number."""
    number = round(10**value)
    for size, unit in ((10**9, " G"), (10**6, " M"), (10**3, " k")):
        if number >= size:
            return f"{number // size}{unit}"
    return str(number)
