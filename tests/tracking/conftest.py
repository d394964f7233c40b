"""A real SQLite store for every test, copied from one that is made once: making takes seconds."""

import shutil
import sqlite3
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from filelock import FileLock
from mlflow.tracking import MlflowClient

from tests.inside import shared_folder
from tests.lineage.made import make_repository
from textmill.tracking.store import open_store

FOREIGN_WARNINGS = [
    "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning",
]
"""What MLflow does to its own libraries; our warnings stay errors."""


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for warning in FOREIGN_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch):
    """Nothing of the developer's own store, and no long waits for servers that are not there."""
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_REGISTRY_URI", "MLFLOW_RUN_ID", "DVC_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory) -> Path:
    """A database with MLflow's tables and nothing in them; to be copied. One for all processes."""
    path = shared_folder(tmp_path_factory) / "empty_store" / "mlflow.db"
    path.parent.mkdir(exist_ok=True)
    with FileLock(f"{path}.lock"):
        if not path.exists():
            open_store(f"sqlite:///{path}").client.search_experiments()
    return path


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A small repository with everything that DVC's stages leave behind, and no store."""
    folder = tmp_path / "made"
    folder.mkdir()
    return make_repository(folder)


@pytest.fixture
def repository(made: Path, empty_store: Path) -> Path:
    """The small repository with an empty store in it."""
    shutil.copy(empty_store, made / "mlflow.db")
    return made


@pytest.fixture
def change_text(repository: Path, tmp_path: Path):
    """Give the repository's corpus another text, and keep the store."""

    def change(**rates) -> None:
        store = [repository / name for name in ("mlflow.db", "mlruns")]
        for path in store:
            path.rename(tmp_path / path.name)
        shutil.rmtree(repository)
        repository.mkdir()
        make_repository(repository, text="story", **rates)
        for path in store:
            (tmp_path / path.name).rename(path)

    return change


@pytest.fixture
def content():
    """All that a repository's store holds: rows of every table, and artifact files by bytes."""

    def of(repository: Path) -> dict:
        with sqlite3.connect(repository / "mlflow.db") as database:
            tables = database.execute("select name from sqlite_master where type = 'table'")
            rows = {
                name: sorted(map(repr, database.execute(f"select * from {name}")))
                for (name,) in tables.fetchall()
            }
        database.close()
        files = sorted((repository / "mlruns").rglob("*"))
        return rows | {str(file): file.read_bytes() for file in files if file.is_file()}

    return of


@pytest.fixture
def client():
    """MLflow's own client on a repository's store."""
    return lambda repository: MlflowClient(f"sqlite:///{repository / 'mlflow.db'}")


@pytest.fixture
def runs(client):
    """A repository's runs by name; every name once. `runs.all` lists them."""

    def every(repository: Path) -> list:
        return client(repository).search_runs(experiment_ids(client(repository)))

    def of(repository: Path) -> dict:
        found = every(repository)
        by_name = {run.info.run_name: run for run in found}
        assert len(by_name) == len(found), [run.info.run_name for run in found]
        return by_name

    of.all = every
    return of


@pytest.fixture
def wait_until_served():
    """Wait until MLflow answers at an address; fail where its process ended or takes too long."""

    def wait(process: subprocess.Popen, address: str) -> None:
        deadline = time.monotonic() + 90
        while True:
            try:
                urllib.request.urlopen(f"{address}/health", timeout=5).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "the server did not start"
                assert process.poll() is None, "the server ended"
                time.sleep(0.3)

    return wait


def experiment_ids(client) -> list[str]:
    return [experiment.experiment_id for experiment in client.search_experiments()]
