"""After the stages: MLflow gets what it does not have yet, and Prefect the links to it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from flows.stages import environment


def publish(root: Path, log: Any) -> None:
    """Call `textmill publish`; MLflow is an index, so a failure is only a warning."""
    done = subprocess.run(
        [sys.executable, "-m", "textmill.cli", "publish", "--json"],
        cwd=root, env=environment(), text=True, capture_output=True, check=False,
    )  # fmt: skip
    if "No such command" in done.stderr:
        return
    if done.returncode:
        log.warning("textmill publish failed: %s", done.stderr.strip())
