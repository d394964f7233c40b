"""Commands on where a model came from."""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from textmill.cli.app import app, made, say_no, say_what_is_old, sound_root
from textmill.lineage import trace as tracing
from textmill.lineage import verify as verification
from textmill.lineage.consistency import out_of_step


@app.command(epilog="Example: textmill trace kn5_subword")
def trace(
    model: Annotated[str, typer.Argument(help="A model of params.yaml.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print where a model and its score came from.

    Scores, model, shards, vocabulary, cleaned text, raw file, address, sha256 and licence.
    """
    traced = tracing.trace(model, sound_root())
    say_what_is_old([model], scores=True)
    print(json.dumps(traced, indent=2) if as_json else tracing.render(traced))


@app.command(epilog="Example: textmill verify kn5_subword")
def verify(
    model: Annotated[str | None, typer.Argument(help="A model; all of them without one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Hash anew all that was made, or what stands behind one model.

    The first file that is not what it was is named; exit code 1 then. What params.yaml asks for
    differently by now is named too, and is no damage.
    """
    root = sound_root()
    links, broken, not_made = verification.verify(model, root)
    if why := out_of_step(None if model is None else made(model, scores=True), root):
        print(f"textmill: not of today's params.yaml: {why}", file=sys.stderr)
    if as_json:
        found = {"links": links, "broken": broken and asdict(broken), "not_made": not_made}
        print(json.dumps(found, indent=2))
    elif broken is None:
        print(f"all {links:,} links hold")
        print(verification.list_not_made(not_made), end="\n" if not_made else "")
    if broken is not None:
        say_no(verification.in_words(broken))
