"""Commands on the ranked models: the leaderboard, and what goes wrong in them."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from textmill.base.errors import UserError
from textmill.base.files import write_atomically
from textmill.cli.app import app, console, say_what_is_old, sound_root
from textmill.lineage import standings
from textmill.reports.plain import render_json
from textmill.reports.terminal import render_terminal

DIAGNOSIS = Path("reports/diagnosis")
"""Where `textmill diagnose` writes, unless it is told otherwise."""

NEXT = """
What next (first: . .venv/bin/activate):
  reports/leaderboard.html              the same with pictures and explanations, for a browser
  change a line of params.yaml, then    dvc repro           only what depends on it runs again
  make run TEXT=path/to/text.txt        the same on a text of your own
  make run CORPUS=time_machine          another corpus of params.yaml; back: CORPUS=sotu
  make ui                               compare the models in MLflow
  textmill trace MODEL                  where a model came from"""


@app.command(epilog="Example: textmill leaderboard --html page.html")
def leaderboard(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write the page, with training times, to this file.")
    ] = None,
    show_next: Annotated[bool, typer.Option("--next", help="Also print what to try next.")] = False,
) -> None:
    """Rank every model in bits per byte.

    Of the test text, with the training times of this machine beside it.
    """
    if as_json and show_next:
        raise UserError("--next is said below the table, not in JSON", next_step="give one of them")
    root = sound_root()
    if html is not None and html.suffix not in (".html", ".htm"):
        raise UserError(
            f"the page is HTML, {str(html)!r} is no name for it", next_step="--html page.html"
        )
    view = standings.view(root)
    if note := standings.out_of_date(view.board, root):
        print(f"textmill: not up to date: {note}", file=sys.stderr)
    if html is not None:
        from textmill.reports.html import render_html  # noqa: PLC0415  # it draws: a second

        write_atomically(html, render_html(view))
    if as_json:
        print(render_json(view), end="")
        return
    console().print(render_terminal(view))
    if show_next:
        print(NEXT)


@app.command(epilog="Example: textmill compare lstm_word kn5_word")
def compare(
    models: Annotated[list[str], typer.Argument(help="Two models or more.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Tell whether models differ by more than chance.

    On the test text, in bits per byte: the difference with its 95 % interval, and p of a
    paired permutation test, also adjusted (Holm) for the pairs asked about. The leaderboard
    adjusts for all of its pairs.
    """
    from textmill.lineage import comparing  # noqa: PLC0415  # it reads scores: half a second

    root = sound_root()
    found = comparing.compare(models, root)
    say_what_is_old(models, scores=True)
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2, allow_nan=False))
        return
    console().print(comparing.table(found))
    pairs = "this pair" if len(found) == 1 else f"these {len(found)} pairs"
    print(f"Apart: p of at most 0.05, adjusted for {pairs}, and a difference of 0.0005 or more.")
    print("An interval is for its pair alone.")


@app.command(epilog="Example: textmill diagnose lstm_word kn5_word")
def diagnose(
    models: Annotated[
        list[str] | None, typer.Argument(help="Models to hold side by side; without one: networks.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the page and the files of numbers.")
    ] = DIAGNOSIS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what models remember and where they lose.

    Gradients over time, recurrent matrices, gates, the model on its own text, loss by place and by
    frequency, on the validation text. Writes a page with pictures, and JSON and CSV a model.
    """
    from textmill.lineage import diagnosis  # noqa: PLC0415  # torch takes seconds to load

    root = sound_root()
    found = diagnosis.diagnose(models or [], root)
    say_what_is_old(one.name for one in found)
    written = list(diagnosis.write(found, out))
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2, allow_nan=False))
        return
    console().print(diagnosis.table(found))
    print("\N{EN DASH} is what a model of its kind has not, or does not tell; see docs/diagnose.md")
    print(f"with pictures: {written[-1]}")
