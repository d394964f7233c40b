"""What Prefect shows beside states and logs: the leaderboard, and how far a stage is."""

import re
import time
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

from flows.progress import parse
from textmill.base.files import read_json
from textmill.repository import layout

SECONDS_BETWEEN_UPDATES = 5.0


class Progress:
    """A progress artifact of a stage, made when the stage first tells how far it is."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._made: dict[str, UUID] = {}
        self._last = 0.0

    def hear(self, line: str) -> None:
        """Take note of a line of the stage's output."""
        step = parse(line)
        if step is None:
            return
        text = f"{self._stage}: {step.text}"
        if step.label not in self._made:
            key = artifact_key(f"{self._stage}-{step.label}")
            made = create_progress_artifact(step.percent, key, text)
            self._made[step.label] = cast(UUID, made)
        elif step.percent == 100.0 or time.monotonic() - self._last > SECONDS_BETWEEN_UPDATES:
            update_progress_artifact(self._made[step.label], step.percent, text)
        else:
            return
        self._last = time.monotonic()


def artifact_key(name: str) -> str:
    """A name as Prefect takes it for a key: small letters, digits and dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def leaderboard(root: Path) -> None:
    """The leaderboard as a table, best model first."""
    board = read_json(root / layout.LEADERBOARD)
    rows = [_row(place, model) for place, model in enumerate(board["models"], start=1)]
    if rows:
        create_table_artifact(rows, "leaderboard", "Bits per byte of the same test text")


def mlflow_runs(models: list[dict[str, Any]]) -> None:
    """Links to MLflow's runs, as Markdown: a link artifact would hold one of them only."""
    lines = [f"- [{model['model']}]({model['link']})" for model in models]
    text = "\n".join(["Runs in MLflow (`make ui` where it is this repository's own):", "", *lines])
    create_markdown_artifact(text, "mlflow-runs", "Runs of the leaderboard's models in MLflow")


def _row(place: int, model: dict[str, Any]) -> dict[str, Any]:
    return {
        "#": place,
        "model": model["name"],
        "group": model["group"],
        "tokenizer": model["tokenizer"],
        "bits/byte": round(model["bits_per_byte"], 4),
    }
