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
from typing import Any

from flows import artifacts
from flows.processes import Supervised, supervised
from flows.stages import environment

Log = logging.Logger | logging.LoggerAdapter[Any]


def following(root: Path) -> AbstractContextManager[Supervised]:
    """Log learning curves into MLflow for as long as the block lasts."""
    return supervised(
        [sys.executable, "-m", "textmill.cli", "follow", "--until", str(os.getpid())],
        first="command",
        root=root,
        environment=environment(),
    )


def publish(root: Path, log: Log) -> None:
    """Send MLflow what it lacks, and show links to its runs in Prefect."""
    done = subprocess.run(
        [sys.executable, "-m", "textmill.cli", "publish", "--json"],
        cwd=root,
        env=environment(),
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        log.warning("MLflow does not have this run yet: %s", done.stderr.strip())
        return
    said = json.loads(done.stdout)
    log.info("MLflow %s: %d models, %d new", said["uri"], len(said["models"]), said["written"])
    artifacts.mlflow_runs(said["models"])
