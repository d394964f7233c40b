"""Bytes and nats of every test line as a small artifact of a run.

A later model is compared with this one line by line, also when its files are long gone.
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from textmill.base.files import read_table, write_table
from textmill.repository import layout
from textmill.tracking.store import Store

NAME = "test_lines.arrow"


def log(store: Store, run_id: str, name: str, root: Path) -> None:
    """Log the lines of a model's test scores."""
    scores = read_table(root / layout.scores(name) / "test.arrow")
    nats = pc.add(scores["nats_tokens"], scores["nats_spelling"])
    table = pa.table({"doc": scores["doc"], "bytes": scores["bytes"], "nats": nats})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        write_table(path, table)
        store.client.log_artifact(run_id, str(path))


def read(store: Store, run_id: str) -> pa.Table:
    """The lines that `log` logged."""
    with tempfile.TemporaryDirectory() as folder:
        path = store.client.download_artifacts(run_id, NAME, folder)
        with pa.OSFile(path) as file:
            return pa.ipc.open_file(file).read_all()
