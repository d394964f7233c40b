"""The leaderboard in a terminal: as many columns as fit, the telling ones last to go."""

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from textmill.reports import view as views
from textmill.reports import wording
from textmill.reports.records import Tokenization
from textmill.reports.view import Column, View


class _Fitting:
    """The main table; leaves out the least telling columns where the terminal is narrow."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = list(views.columns(self._view))
        table = _main_table(self._view, columns)
        while _width(table, console, options) > options.max_width and len(columns) > 2:
            columns.remove(min(columns, key=lambda column: column.weight))
            table = _main_table(self._view, columns)
        yield table


class TerminalLeaderboard:
    """What `render_terminal` returns: print it to a rich console of any width."""

    def __init__(self, view: View) -> None:
        self._view = view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        view = self._view
        yield Text(view.board.text.title, style="bold")
        yield Text(f"Test text: {views.test_facts(view)}.", style="dim")
        yield Text()
        if view.board.models:
            yield _Fitting(view)
            yield Padding(Text(views.how_certain(view), style="dim"), (0, 0, 0, 1))
        yield from _unranked(view)
        yield from _perplexities(view)


def render_terminal(view: View) -> TerminalLeaderboard:
    """A rich renderable; `Console().print(render_terminal(view))` shows it."""
    return TerminalLeaderboard(view)


def _width(table: Table, console: Console, options: ConsoleOptions) -> int:
    return Measurement.get(console, options.update(width=10_000), table).maximum


def _plain_table(title: str | None = None) -> Table:
    return Table(box=None, pad_edge=True, title=title, title_justify="left", title_style="bold")


def _main_table(view: View, columns: list[Column]) -> Table:
    table = _plain_table()
    for column in columns:
        table.add_column(
            column.heading,
            justify="right" if column.is_number and column.key != "behind" else "left",
            no_wrap=True,
            style="bold" if column.key == "test" else None,
        )
    for entry in view.board.models:
        style = "green" if entry.rank == 1 else None
        table.add_row(*(Text(column.text(entry, view)) for column in columns), style=style)
    return table


def _unranked(view: View) -> RenderResult:
    if not view.board.unranked:
        return
    yield Text()
    yield Text("Not ranked", style="bold")
    for one in view.board.unranked:
        yield Text.assemble("  ", (one.name, "yellow"), f": {one.reason}")


def _perplexities(view: View) -> RenderResult:
    """A small table for each tokenization, side by side where there is room."""
    if not view.board.tokenizations:
        return
    yield Text()
    yield Text("Perplexity per token, comparable only among the same tokens", style="bold")
    yield Columns([_perplexity_table(one) for one in view.board.tokenizations], padding=(0, 2))


def _perplexity_table(one: Tokenization) -> Table:
    table = _plain_table()
    table.add_column("#", justify="right")
    table.add_column(Text(one.tokenizer), no_wrap=True)
    table.add_column("perplexity", justify="right")
    for model in one.models:
        table.add_row(str(model.rank), Text(model.name), wording.perplexity(model.perplexity))
    return table
