"""Which store, several processes at once, a server, a server that is down or slow."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from tests.inside import run_command
from textmill.tracking.publish import publish
from textmill.tracking.store import (
    ELSEWHERE,
    IN_REPOSITORY,
    StoreError,
    artifact_folder,
    in_words,
    opened,
    shown,
    store_uri,
)

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MLFLOW_", "DVC_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "DO_NOT_TRACK": "1", **more}


def command(*arguments):
    return [sys.executable, "-m", "textmill.cli", *arguments]


@pytest.fixture
def server(empty_store, tmp_path, wait_until_served):
    """A real `mlflow server` on this machine over a store of its own."""
    shutil.copy(empty_store, tmp_path / "served.db")
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port),
         "--backend-store-uri", f"sqlite:///{tmp_path / 'served.db'}", "--workers", "1",
         "--artifacts-destination", str(tmp_path / "served")],
        env=environment(MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false"), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until_served(process, address)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)


def test_the_default_is_sqlite_in_the_repository(tmp_path, monkeypatch):
    assert store_uri(tmp_path) == f"sqlite:///{tmp_path}/mlflow.db"
    assert artifact_folder(store_uri(tmp_path), tmp_path) == f"{tmp_path}/mlruns"
    monkeypatch.chdir(tmp_path)
    assert store_uri() == f"sqlite:///{tmp_path}/mlflow.db"


def test_an_address_of_the_users_is_taken_and_made_absolute(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://host:5000")
    assert store_uri(tmp_path) == "http://host:5000"
    assert artifact_folder(store_uri(tmp_path), tmp_path) is None
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///mine.db")
    assert store_uri(tmp_path) == f"sqlite:///{tmp_path}/mine.db"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("mlflow.db", "that is a folder, and it wants a database"),
        ("file:runs", "that is a folder, and it wants a database"),
        ("sqlite://mlflow.db", "Invalid SQLite URL"),
        ("sqlite:/mlflow.db", "that is no address of a database"),
        ("sqlite:mlflow.db", "that is no address of a database"),
        ("postgres://localhost/x", "it knows no database postgres"),
    ],
)
def test_an_address_that_is_no_stores_is_told_one_that_is(tmp_path, monkeypatch, address, words):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    with pytest.raises(StoreError) as caught, opened(tmp_path):
        pass
    assert words in str(caught.value)
    assert caught.value.next_step.startswith(IN_REPOSITORY)
    assert list(tmp_path.iterdir()) == []


def test_the_addresses_that_messages_advise_are_usable(tmp_path, monkeypatch, empty_store):
    home = tmp_path / "home of somebody"
    for folder in (home, tmp_path / "repository"):
        folder.mkdir()
        shutil.copy(empty_store, folder / "mlflow.db")
    for advice, folder in ((ELSEWHERE, home), (IN_REPOSITORY, tmp_path / "repository")):
        typed = f'{advice} && printf %s "$MLFLOW_TRACKING_URI"'
        done = subprocess.run(
            ["sh", "-c", typed], env={"HOME": str(home)}, check=True, capture_output=True, text=True
        )
        monkeypatch.setenv("MLFLOW_TRACKING_URI", done.stdout)
        with opened(tmp_path / "repository") as store:
            assert store.uri == f"sqlite:///{folder}/mlflow.db"
            assert [one.name for one in store.client.search_experiments()] == ["Default"]


def test_a_dvc_experiment_publishes_into_the_repository_it_came_from(tmp_path, monkeypatch):
    """`dvc exp run --temp` works in a folder that is deleted afterwards."""
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    temporary = tmp_path / ".dvc/tmp/exps/standalone/x"
    assert store_uri(temporary) == f"sqlite:///{tmp_path}/mlflow.db"
    assert artifact_folder(store_uri(temporary), temporary) == f"{tmp_path}/mlruns"


def test_four_processes_at_once_into_no_store_at_all(made, runs):
    """Unlocked, two or three of four die: they all create the tables."""
    processes = [
        subprocess.Popen(
            command("publish"), cwd=made, env=environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for _ in range(4)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outputs
    told = Counter("nothing new" in output for output in outputs)
    assert told == {True: 3, False: 1}
    assert len(runs(made)) == 5


def test_a_server_keeps_everything_and_twice_is_once(made, server, tmp_path):
    first = run_command(made, "publish", MLFLOW_TRACKING_URI=server)
    assert first.returncode == 0, first.said
    second = run_command(made, "publish", MLFLOW_TRACKING_URI=server)
    assert "4 models, nothing new" in second.said
    assert not (made / "mlflow.db").exists()
    client = MlflowClient(server)
    experiment = client.get_experiment_by_name("textmill/tales")
    found = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert len(found) == 5
    assert len(found["lstm"].inputs.dataset_inputs) == 3
    steps = [row.step for row in client.get_metric_history(found["lstm"].info.run_id, "tokens")]
    assert sorted(steps) == [10, 20, 30]
    assert list((tmp_path / "served").rglob("test_lines.arrow"))
    refused = run_command(made, "promote", "unigram", MLFLOW_TRACKING_URI=server)
    assert refused.returncode == 1
    assert "it is not better" in refused.said


def test_a_server_that_is_down_is_one_message_and_no_wait(made):
    address = f"http://user:secret@127.0.0.1:{free_port()}"
    begun = time.monotonic()
    done = run_command(made, "publish", MLFLOW_TRACKING_URI=address)
    assert time.monotonic() - begun < 60
    assert done.returncode == 1
    first, second = done.said.strip().splitlines()
    assert first == f"textmill: {shown(address)}: MLflow's store: connection refused"
    assert "secret" not in done.said
    assert second.endswith("textmill publish")


def test_a_server_that_never_answers_is_given_up(made):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        begun = time.monotonic()
        done = run_command(
            made, "publish", MLFLOW_TRACKING_URI=address, MLFLOW_HTTP_REQUEST_TIMEOUT="1",
            MLFLOW_HTTP_REQUEST_MAX_RETRIES="1",
        )  # fmt: skip
        assert time.monotonic() - begun < 60
    assert done.returncode == 1
    assert "no answer in time" in done.said
    assert "Traceback" not in done.said


def test_the_stage_warns_and_goes_on_where_the_server_is_down(made):
    """The step's own process: exit code 0, one warning."""
    down = f"http://127.0.0.1:{free_port()}"
    done = subprocess.run(
        [sys.executable, "-m", "textmill.tracking.stage", str(os.getpid())],
        cwd=made, env=environment(MLFLOW_TRACKING_URI=down), text=True, capture_output=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("not in MLflow yet") == 1
    assert "connection refused" in done.stderr


def test_the_users_own_bounds_are_kept(tmp_path, monkeypatch, empty_store):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "77")
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    with opened(tmp_path):
        assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "77"
        assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "2"


def test_a_store_in_use_is_waited_for_and_then_named(tmp_path, monkeypatch, empty_store):
    monkeypatch.setattr("textmill.tracking.store.LOCK_SECONDS", 0.3)
    shutil.copy(empty_store, tmp_path / "mlflow.db")
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with opened(tmp_path):
            entered.set()
            leave.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert entered.wait(30)
        with pytest.raises(StoreError, match="another process has been using it"), opened(tmp_path):
            pass
    finally:
        leave.set()
        holder.join()


def test_reasons_are_in_words():
    assert in_words("... Max retries exceeded (Caused by X: [Errno 111] Connection refused)") == (
        "connection refused"
    )
    assert in_words("\nfirst line http://me:pw@host\nsecond") == "first line http://host"


@pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL on this machine")
def test_postgresql_takes_the_same(made, tmp_path):
    pytest.importorskip("psycopg2", reason="no driver: pip install psycopg2-binary")
    programs = POSTGRES[-1].parent
    port, data = free_port(), tmp_path / "postgres"
    user = []
    if os.geteuid() == 0:
        runuser = shutil.which("runuser") or "/usr/sbin/runuser"
        user = [runuser, "-u", "postgres", "--"]
    if user:
        data = Path(tempfile.gettempdir()) / f"textmill-postgres-{port}"  # that user's own
    started = False
    try:
        subprocess.run([*user, programs / "initdb", "-D", data, "-U", "mill", "-A", "trust"],
                       check=True, capture_output=True)  # fmt: skip
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {data}"
        subprocess.run([*user, programs / "pg_ctl", "-D", data, "-o", options, "-l",
                        data / "log", "-w", "start"], check=True, capture_output=True)  # fmt: skip
        started = True
        uri = f"postgresql+psycopg2://mill@127.0.0.1:{port}/postgres"
        # Two checkouts at once into no tables at all: no lock on this machine is between them.
        other = tmp_path / "other"
        shutil.copytree(made, other)
        both = [
            subprocess.Popen(command("publish"), cwd=folder, text=True, stderr=subprocess.PIPE,
                             env=environment(MLFLOW_TRACKING_URI=uri), stdout=subprocess.DEVNULL)
            for folder in (made, other)
        ]  # fmt: skip
        told = [process.communicate(timeout=120)[1] for process in both]
        assert [process.returncode for process in both] == [0, 0], told
        second = run_command(made, "publish", MLFLOW_TRACKING_URI=uri)
        assert "4 models, nothing new" in second.said
    finally:
        if started:
            subprocess.run([*user, programs / "pg_ctl", "-D", data, "-m", "immediate", "stop"],
                           capture_output=True)  # fmt: skip
        shutil.rmtree(data, ignore_errors=True)


def test_a_store_that_was_copied_with_its_repository_is_not_written(made, tmp_path, content):
    """MLflow keeps absolute paths: files would go into the other repository."""
    publish(made)
    before = content(made)
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    (copy / "reports/leaderboard.html").write_text("<html>of the copy</html>")
    # A process of its own: in this one MLflow would keep the store that is deleted afterwards.
    done = subprocess.run(
        command("publish"), cwd=copy, env=environment(), text=True, capture_output=True, timeout=120
    )
    assert done.returncode == 1
    assert f"keeps its files in {made}/mlruns" in done.stderr
    assert content(made) == before
    (copy / "mlflow.db").unlink()
    shutil.rmtree(copy / "mlruns")
    publish(copy)
    assert content(made) == before
