"""Commands on MLflow. It is imported by those that need it, and takes seconds."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from textmill.cli.app import app, say_no, sound_root
from textmill.repository.layout import find_root


@app.command(epilog="Example: textmill publish")
def publish(
    as_json: Annotated[bool, typer.Option("--json", help="Print the runs as JSON.")] = False,
) -> None:
    """Put the leaderboard's models into MLflow.

    What is there already is left alone.
    """
    from textmill.tracking.publish import publish  # noqa: PLC0415
    from textmill.tracking.store import StoreError  # noqa: PLC0415

    try:
        outcome = publish(sound_root())
    except StoreError as error:
        say_no(error)
    if as_json:
        print(json.dumps(asdict(outcome), indent=2))
        return
    print(
        f"MLflow {outcome.uri}, experiment {outcome.experiment}: {len(outcome.models)} models, "
        f"{outcome.written or 'nothing'} new"
    )
    for model, other in outcome.doubles.items():
        print(f"{model} is the same model as {other}, so the two are one run")


@app.command(epilog="Example: textmill follow --until $$ & dvc repro")
def follow(
    until: Annotated[int | None, typer.Option(help="End when this process ends.")] = None,
) -> None:
    """Show learning curves in MLflow live.

    Runs beside the training, which knows nothing of it.
    """
    from textmill.tracking.follow import follow  # noqa: PLC0415

    follow(find_root(), until)


@app.command(epilog="Example: textmill promote kn5_subword")
def promote(model: Annotated[str, typer.Argument(help="A model of the leaderboard.")]) -> None:
    """Make a model MLflow's champion.

    Only if it beats the champion on the same test text beyond chance; exit code 1 otherwise.
    """
    from textmill.tracking.promote import promote  # noqa: PLC0415
    from textmill.tracking.store import StoreError  # noqa: PLC0415

    try:
        verdict = promote(model, sound_root())
    except StoreError as error:
        say_no(error)
    if not verdict.promoted:
        say_no(f"not promoted: {verdict.reason}")
    print(verdict.reason)
