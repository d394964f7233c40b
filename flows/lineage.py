"""MLflow beside and after the stages: curves while networks train, then what is not there yet.

MLflow is an index over DVC's files and can be filled later, so its failure is a warning.
"""

import json
import logging
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from flows import artifacts
from flows.processes import Supervised, supervised
from flows.stages import environment

PATIENCE = 180.0
"""Seconds in which MLflow must have taken the runs."""

QUIETLY = """
import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
from textmill.cli.main import app
app()
"""
"""`textmill`, which an interrupt may meet while it imports: then it ends without a traceback."""

Log = logging.Logger | logging.LoggerAdapter[Any]


def following(root: Path) -> AbstractContextManager[Supervised]:
    """Log learning curves into MLflow for as long as the block lasts."""
    return supervised(
        [sys.executable, "-c", QUIETLY, "follow", "--until", str(os.getpid())],
        first="command",
        root=root,
        environment=environment(),
    )


def publish(root: Path, log: Log) -> None:
    """Send MLflow what it lacks, and show links to its runs in Prefect."""
    code, answer, problems = _publish(root)
    if code:
        log.warning("MLflow does not have this run yet: %s", problems)
        return
    said = json.loads(answer)
    log.info("MLflow %s: %d models, %d new", said["uri"], len(said["models"]), said["written"])
    artifacts.mlflow_runs(said["models"])


def _publish(root: Path) -> tuple[int, str, str]:
    """Exit code, output and problems of `textmill publish`, which ends with the flow."""
    with (
        TemporaryFile("w+", encoding="utf-8") as output,
        TemporaryFile("w+", encoding="utf-8") as problems,
        supervised(
            [sys.executable, "-m", "textmill.cli", "publish", "--json"],
            first="service",
            root=root,
            environment=environment(),
            output=output,
            problems=problems,
        ) as run,
    ):
        try:
            code = run.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            return 1, "", f"it took longer than {PATIENCE:g} s; type: textmill publish"
        for file in (output, problems):
            file.seek(0)
        return code, output.read(), problems.read().strip()
