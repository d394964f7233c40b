"""Stage publish: put the ranked models into MLflow, and write down which ones.

`reports/published.json` holds what MLflow finds the models by, and neither run ids nor times, so
that one result gives one file. It is not cached: a fresh clone has none, so the stage runs there
and fills a store that knows nothing of these models yet. MLflow is spoken to by another process.
"""

import logging
import os
import subprocess
import sys

from pipeline_steps import settings
from textmill.base.files import write_json
from textmill.lineage.publication import publication
from textmill.repository import layout

PUBLISHED = layout.REPORTS / "published.json"
PUBLISHER = "textmill.tracking.stage"
SECONDS = 120.0
"""A slow server holds the pipeline up no longer."""

_log = logging.getLogger(__name__)


def main() -> None:
    """Publish, then write `reports/published.json`."""
    settings.load("publish")
    record = publication()
    command = [sys.executable, "-m", PUBLISHER, str(os.getpid())]
    try:
        status = subprocess.run(command, timeout=SECONDS, check=False).returncode
    except subprocess.TimeoutExpired:
        status = 1
    if status:
        _log.warning("publish: not all of it is in MLflow  -> textmill publish")
    models = {model.name: model.identity for model in record.models}
    write_json(
        PUBLISHED,
        {"corpus": record.corpus, "comparison_key": record.comparison_key, "models": models},
    )


if __name__ == "__main__":
    settings.run(main)
