"""A database made ready for MLflow: there, openable, whole; and each of these asked in seconds.

MLflow tries ten times to open what cannot be opened (measured: two minutes for a folder that may
not be written, five for a PostgreSQL that is down), so one connection with a time limit is tried
first. And it creates its tables one by one: whoever is killed meanwhile leaves a database that
MLflow can neither use nor finish. So SQLite is made beside its place and renamed when it is whole.
"""

import os
import shutil
from pathlib import Path

CONNECT_SECONDS = 10
MLFLOWS = frozenset({"alembic_version", "experiments"})
"""Tables that every database of MLflow has, however old."""
_TIMEOUTS = {
    "psycopg2": "connect_timeout",
    "psycopg": "connect_timeout",
    "pymysql": "connect_timeout",
    "mysqldb": "connect_timeout",
    "pg8000": "timeout",
    "pyodbc": "timeout",
}
"""What each driver calls its time limit."""


def make_ready(uri: str, path: Path | None, artifacts: str, *, own: bool) -> None:
    """Create SQLite where there is none, and connect once. Raises OSError or SQLAlchemyError.

    path: of SQLite's file; None for another database. artifacts: folder of its default experiment.
    own: it is the repository's own, which may hold what a kill left of MLflow's tables; another one
    may be of another program.
    """
    if Path(artifacts).exists() and not Path(artifacts).is_dir():
        raise NotADirectoryError(20, "it is a file, where MLflow keeps a folder", artifacts)
    if path is not None:
        path = path.resolve()  # a link stays one: what it points to is made
        if path.is_dir():
            raise IsADirectoryError(21, "it is a folder, where MLflow keeps a file", str(path))
        if path.exists() and not path.is_file():
            raise FileExistsError(
                17, "it is a device or pipe, where MLflow keeps a file", str(path)
            )
        if not path.exists() or not path.stat().st_size:
            _create(path, artifacts)
    tables = _connect(uri)
    if not own and tables and not tables & MLFLOWS:
        raise FileExistsError(17, "it is a database of something else than MLflow", str(path))


def _create(path: Path, artifacts: str) -> None:
    """MLflow's tables in a file that is whole or absent; what a killed one left is removed."""
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore  # noqa: PLC0415

    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:  # an interrupt may come as soon as the folder is there
        part.mkdir()
        made = part / path.name
        store = SqlAlchemyStore(f"sqlite:///{made}", artifacts)  # type: ignore[no-untyped-call]
        store.engine.dispose()
        descriptor = os.open(made, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        made.replace(path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _connect(uri: str) -> set[str]:
    """One connection and one question; of SQLite, the names of its tables."""
    from sqlalchemy import create_engine, make_url, text  # noqa: PLC0415
    from sqlalchemy.pool import NullPool  # noqa: PLC0415

    url = make_url(uri)
    limit = _TIMEOUTS.get(url.get_driver_name())
    bounded = {limit: CONNECT_SECONDS} if limit and limit not in url.query else {}
    is_sqlite = url.get_backend_name() == "sqlite"
    question = "select name from sqlite_master where type = 'table'" if is_sqlite else "select 1"
    with create_engine(url, poolclass=NullPool, connect_args=bounded).connect() as connection:
        found = {str(name) for (name,) in connection.execute(text(question))}
    return found if is_sqlite else set()
