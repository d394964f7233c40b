"""Bytes and nats of every test line as a small artifact of a run.

A later model is compared with this one line by line, also when its files are long gone.
"""

import tempfile
from pathlib import Path

import pyarrow as pa
from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from textmill.base.errors import UserError
from textmill.base.files import write_table
from textmill.lineage.lines import digest, why_not
from textmill.tracking import tags
from textmill.tracking.store import Store, in_words

NAME = "test_lines.arrow"


def log(store: Store, run_id: str, table: pa.Table) -> None:
    """Log the lines of a model's test scores, and their digest when they are there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        write_table(path, table)
        store.client.log_artifact(run_id, str(path))
    store.client.set_tag(run_id, tags.LINES, digest(table))


def read(store: Store, run: Run) -> pa.Table:
    """The lines that `log` logged. UserError where they are not those of the run's number.

    Such a run is marked, so that the next `textmill publish` sends its lines anew.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            table = _table(Path(store.client.download_artifacts(run.info.run_id, NAME, folder)))
            why = why_not(table, run.data.metrics.get("bits_per_byte"))
        except (OSError, TypeError, ValueError, MlflowException, pa.ArrowException) as error:
            why = f"it cannot be read ({in_words(str(error))})"
    if why is None:
        return table
    if tags.LINES in run.data.tags:
        store.client.delete_tag(run.info.run_id, tags.LINES)
    raise UserError(
        why,
        where=f"{NAME} of {run.info.run_name} in MLflow",
        next_step="textmill publish   (it sends the file anew; where the model is not on the "
        "leaderboard any more, delete the alias champion)",
    )


def is_that(path: Path, wanted: str) -> bool:
    """Whether the file holds the lines of that digest."""
    try:
        return digest(_table(path)) == wanted
    except (OSError, KeyError, ValueError, TypeError, pa.ArrowException):
        return False


def _table(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).read_all()
