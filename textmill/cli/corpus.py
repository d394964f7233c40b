"""Commands on params.yaml and the text that it chooses."""

import json
import sys
from typing import Annotated

import typer

from pipeline_steps.check import check as check_params
from pipeline_steps.check import check_chosen
from textmill.cli.app import app
from textmill.lineage import params
from textmill.lineage.lock import read_lock
from textmill.repository import leftovers
from textmill.repository.busy import check_idle
from textmill.repository.layout import find_root

SMALL = 25_000
"""Bytes; of less the default parameters may ask too much."""
THEN = "next (make run does it by itself): textmill check && dvc repro"


@app.command(epilog="Example: textmill use time_machine")
def use(corpus: Annotated[str, typer.Argument(help="An entry of corpora in params.yaml.")]) -> None:
    """Choose a corpus of params.yaml; then: dvc repro."""
    check_idle(find_root())
    params.choose_corpus(corpus, find_root())
    print(f"params.yaml: corpus is {corpus}\n{THEN}")


@app.command(epilog="Example: textmill check && dvc repro")
def check() -> None:
    """Name the first mistake in params.yaml, and clear away what a killed DVC left half-made.

    params.yaml is read as the stages will read it, and the chosen corpus's own rules are imported;
    no stage runs. Half a dvc.lock is named, and how it comes back.
    """
    root = find_root()
    for path in leftovers.clear(root):
        print(f"removed {path}, left half-made by a DVC that was killed", file=sys.stderr)
    counts = check_params(root)
    check_chosen(root)
    read_lock(root)
    print("params.yaml is sound: " + ", ".join(f"{n} {group}" for group, n in counts.items()))


@app.command(epilog="Example: textmill pin essays/  (then: dvc repro)")
def pin(
    text: Annotated[str, typer.Argument(help="A file, a folder, or a quoted glob.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was pinned as JSON.")] = False,
) -> None:
    """Make a text of your own the corpus.

    Its path and digest are written into params.yaml; pin it again when it has changed.
    """
    check_idle(find_root())
    pinned = params.pin(text, find_root())
    if as_json:
        print(json.dumps(pinned, indent=2))
        return
    files, size = pinned["files"], pinned["bytes"]
    counted = "1 file" if files == 1 else f"{files:,} files"
    print(f"params.yaml: corpus is local, {counted}, {size:,} bytes: {pinned['path']}")
    if words := params.taken_and_left_out(text, find_root()):
        print(f"of the folder: {words}")
    if size < SMALL:
        print("a small text: the defaults suit 25 kB or more, `pieces` may have to be lowered")
    print(THEN)
