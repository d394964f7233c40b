"""The command itself and what its modules share."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

import textmill
from pipeline_steps.check import check as check_params
from textmill.base.errors import UserError
from textmill.lineage.consistency import out_of_step
from textmill.repository import layout
from textmill.repository.layout import find_root
from textmill.repository.names import SAFE
from textmill.repository.stages import read_stages

app = typer.Typer(
    help="Language models that can be compared: raw text in, a leaderboard out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

PIPED_WIDTH = 120
"""Columns where no terminal says how many it has."""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"textmill {textmill.__version__}")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Language models that can be compared: raw text in, a leaderboard out."""


def sound_root() -> Path:
    """The repository, its params.yaml checked: whoever reads all of it need not look twice."""
    root = find_root()
    check_params(root)
    return root


def console() -> Console:
    """As wide as the terminal; where there is none, at least `PIPED_WIDTH`."""
    found = Console()
    if not found.is_terminal:
        found.width = max(found.width, PIPED_WIDTH)
    return found


def say_what_is_old(models: Iterable[str], *, scores: bool = False) -> None:
    """On standard error, of each model that is not the one params.yaml asks for by now.

    scores: or its scores are not. ARPA files, named by their paths, are as they are.
    """
    for model in dict.fromkeys(models):
        if not SAFE.fullmatch(model):
            continue
        try:
            why = out_of_step(made(model, scores=scores), find_root())
        except UserError as error:
            why = f"nobody knows, since {error.where}: {error.what}"
        if why:
            print(f"textmill: {model} is of another params.yaml: {why}", file=sys.stderr)


def made(model: str, *, scores: bool) -> Path:
    """What is asked about: the scores of a declared model, or its files where it has such."""
    outs = {out for stage in read_stages(find_root()) for out in stage.outs}
    path = layout.model(model)
    return layout.scores(model) if scores or str(path) not in outs else path


def say_no(reason: object) -> NoReturn:
    """One message, and the exit code for an answer that is no."""
    print(f"textmill: {reason}", file=sys.stderr)
    raise typer.Exit(1)
