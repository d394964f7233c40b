"""The leaderboard in a terminal: as many columns as fit, the telling ones last to go."""

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from textmill.reports import differences, wording
from textmill.reports import view as views
from textmill.reports.records import Tokenization
from textmill.reports.remarks import remarks
from textmill.reports.view import Column, View


class _Fitting:
    """The main table; leaves out the least telling columns where the terminal is narrow.

    What was left out is named below it: a column that silently goes missing is not looked for.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = list(views.columns(self._view))
        table = _main_table(self._view, columns)
        while _width(table, console, options) > options.max_width and len(columns) > 2:
            columns.remove(min(columns, key=lambda column: column.weight))
            table = _main_table(self._view, columns)
        yield table
        left_out = [one.heading for one in views.columns(self._view) if one not in columns]
        if left_out:
            yield _below(
                f"Too narrow to show: {', '.join(left_out)}. A wider terminal, --json or the page "
                "has them."
            )


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
            for words in differences.below(view):
                if words:
                    yield _below(words)
            for remark in remarks(view):
                yield _below(remark, "yellow")
        yield from _unranked(view)
        yield from _perplexities(view)


def render_terminal(view: View) -> TerminalLeaderboard:
    """A rich renderable; `Console().print(render_terminal(view))` shows it."""
    return TerminalLeaderboard(view)


def _below(words: str, style: str = "dim") -> Padding:
    """A sentence under the main table, in line with its first column."""
    return Padding(Text(words, style=style), (0, 0, 0, 1))


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
        table.add_row(
            str(model.rank),
            Text(views.perplexity_name(model)),
            wording.perplexity(model.perplexity),
        )
    return table
