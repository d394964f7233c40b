"""A database that cannot be used is one message in seconds; a killed creation leaves nothing."""

import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient

from tests.inside import run_command
from tests.tracking.test_stores import environment, free_port
from textmill.tracking import store as store_module
from textmill.tracking.promote import promote
from textmill.tracking.publish import publish
from textmill.tracking.registry import versions
from textmill.tracking.store import REBUILD, StoreError, opened, store_uri

SECONDS = 30
"""What the documentation promises for one message."""
MAKE = "from textmill.tracking.store import opened\nwith opened():\n    pass"


def refusal(repository, act=publish):
    begun = time.monotonic()
    with pytest.raises(StoreError) as refused:
        act(repository)
    assert time.monotonic() - begun < SECONDS
    return refused.value


def tables(path):
    with sqlite3.connect(path) as database:
        found = database.execute("select name from sqlite_master where type = 'table'").fetchall()
    database.close()
    return {name for (name,) in found}


def test_a_creation_killed_at_any_moment_is_done_again(made, empty_store):
    """MLflow creates its tables one by one; half of them could be neither used nor finished."""
    part, path = made / ".mlflow.db.part", made / "mlflow.db"
    for delay in (0.0, 0.15, 0.4):
        process = subprocess.Popen([sys.executable, "-c", MAKE], cwd=made, env=environment())
        deadline = time.monotonic() + 60
        while not list(part.glob("mlflow.db")) and not path.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        assert part.exists() or path.exists()
        if path.exists():  # this machine was faster
            assert tables(path) == tables(empty_store)
            path.unlink()
    done = run_command(made, "publish")
    assert done.returncode == 0, done.said
    assert tables(path) == tables(empty_store)
    assert not part.exists()


def test_an_interrupted_creation_leaves_no_file(made):
    process = subprocess.Popen(
        [sys.executable, "-c", MAKE], cwd=made, env=environment(), stderr=subprocess.DEVNULL
    )
    while not (made / ".mlflow.db.part").exists():
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    process.wait(20)
    assert not (made / ".mlflow.db.part").exists()
    assert not (made / "mlflow.db").exists()


def test_an_empty_file_is_no_database_yet(made, empty_store):
    (made / "mlflow.db").touch()
    with opened(made):
        pass
    assert tables(made / "mlflow.db") == tables(empty_store)


@pytest.mark.parametrize("damage", ["half", "garbage"])
def test_a_broken_own_database_is_told_how_it_is_built_again(made, damage):
    """`half`: what a version that created the tables in place left when it was killed."""
    path = made / "mlflow.db"
    if damage == "half":
        with sqlite3.connect(path) as database:
            database.execute("create table guardrails (id text)")
        database.close()
    else:
        path.write_bytes(b"garbage " * 100)
    error = refusal(made)
    assert error.next_step == REBUILD
    assert str(path) in error.where


@pytest.mark.parametrize("act", [publish, lambda root: promote("kn3", root)])
@pytest.mark.parametrize("name", ["mlflow.db", "mlruns"])
def test_what_is_in_the_way_is_named(made, empty_store, name, act):
    if name == "mlflow.db":
        (made / name).mkdir()
    else:
        shutil.copy(empty_store, made / "mlflow.db")
        (made / name).touch()
    error = refusal(made, act)
    assert error.where == str(made / name)
    assert error.next_step.startswith(f"move {made / name} away")


def test_a_pipe_is_left_a_pipe(made, monkeypatch, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{pipe}")
    assert refusal(made).where == str(pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_a_link(made, monkeypatch, tmp_path):
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "there.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{link}")
    publish(made)
    assert link.is_symlink()
    assert (tmp_path / "there.db").stat().st_size


def test_what_is_no_address_is_one_message(made, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://[::1")
    assert refusal(made).what.startswith("it is no address")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder that nobody may write")
@pytest.mark.parametrize("folder", ["/proc", "/proc/deeper"])
def test_a_folder_that_may_not_be_written_is_one_message(made, monkeypatch, folder):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder}/mlflow.db")
    error = refusal(made)
    assert error.where.startswith(folder)
    assert "give write access" in error.next_step


def test_a_read_only_file_system_is_one_message(made, monkeypatch):
    def refuse(self, *_arguments, **_named):
        raise OSError(30, "Read-only file system", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        patch.setattr("textmill.tracking.store._alone", lambda *_: nullcontext())
        error = refusal(made)
    assert error.what == "Read-only file system"
    assert "give write access" in error.next_step


def test_a_database_server_that_is_down_is_one_message(made, monkeypatch):
    pytest.importorskip("psycopg2", reason="no driver: pip install psycopg2-binary")
    address = f"postgresql+psycopg2://u:secret@127.0.0.1:{free_port()}/x"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    error = refusal(made)
    assert error.what == "MLflow's store: connection refused"
    assert "MLFLOW_TRACKING_URI is right" in error.next_step
    assert "secret" not in str(error)


def test_a_database_server_that_never_answers_is_given_up(made, monkeypatch):
    pytest.importorskip("psycopg2", reason="no driver: pip install psycopg2-binary")
    monkeypatch.setattr("textmill.tracking.databases.CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql+psycopg2://u@127.0.0.1:{silent.getsockname()[1]}/x"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        assert "no answer in time" in refusal(made).what


@pytest.mark.parametrize("uri", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(made, monkeypatch, uri):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert "in memory" in refusal(made).what


def test_the_next_step_is_about_the_store_that_failed():
    helps = store_module._what_helps
    assert helps("sqlite:////a/mlflow.db", "no such table: runs", own=True) == REBUILD
    locked = helps("sqlite:////a/mlflow.db", "database is locked", own=True)
    assert locked.startswith("wait for it")
    full = helps("sqlite:////a/mlflow.db", "database or disk is full", own=True)
    assert full.startswith("make room")
    assert "MLFLOW_TRACKING_URI is right" in helps("http://host", "database is locked", own=False)
    assert "MLFLOW_TRACKING_URI is right" in helps("sqlite:////b/x.db", "no such table", own=False)


def test_whoever_waits_is_told_so(made, empty_store, monkeypatch, caplog):
    monkeypatch.setattr("textmill.tracking.store.SILENT_SECONDS", 0.1)
    shutil.copy(empty_store, made / "mlflow.db")
    with opened(made):

        def wait():
            with opened(made):
                pass

        waiting = threading.Thread(target=wait)
        waiting.start()
        deadline = time.monotonic() + 20
        while "waiting for another process" not in caplog.text:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    waiting.join(20)


def test_a_copied_repository_promotes_nothing_of_the_original(made, tmp_path, empty_store, content):
    shutil.copy(empty_store, made / "mlflow.db")
    publish(made)
    before = content(made)
    copy = tmp_path / "copy"
    shutil.copytree(made, copy)
    told = {str(refusal(copy, act)) for act in (publish, lambda root: promote("unigram", root))}
    assert len(told) == 1
    assert f"keeps its files in {made}/mlruns" in told.pop()
    assert content(made) == before


def test_names_with_quotes_are_found(made, empty_store):
    shutil.copy(empty_store, made / "mlflow.db")
    with opened(made) as store:
        assert versions(store, "textmill-o'hara") == {}


def test_an_addresss_options_are_kept(made, monkeypatch, empty_store):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///mine.db?timeout=3")
    assert store_uri(made) == f"sqlite:///{made}/mine.db?timeout=3"
    with opened(made):
        pass
    assert tables(made / "mine.db") == tables(empty_store)


def test_a_database_that_another_program_holds_is_named(made, monkeypatch, empty_store):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:///mlflow.db?timeout=0.2")
    shutil.copy(empty_store, made / "mlflow.db")
    holder = sqlite3.connect(made / "mlflow.db", isolation_level=None)
    holder.execute("begin exclusive")
    try:
        error = refusal(made)
    finally:
        holder.close()
    assert "another process holds the database" in error.what
    assert error.next_step.startswith("wait for it")


def test_a_database_that_may_only_be_read_says_so_and_nothing_else(
    made, monkeypatch, empty_store, capfd
):
    shutil.copy(empty_store, made / "mlflow.db")
    monkeypatch.chdir(made)  # where MLflow takes the address for a path and makes its folders
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///file:{made}/mlflow.db?mode=ro&uri=true")
    assert "readonly" in refusal(made).what
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("named", [True, False])
def test_a_full_disk_under_a_runs_files_is_the_stores(repository, monkeypatch, named):
    """A copy that fails names the file or, by what the system says of a write, none."""

    def full(self, run_id, path, *_):
        raise OSError(28, "No space left on device", *[f"{repository}/mlruns/x"] * named)

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_artifact", full)
        with pytest.raises(StoreError, match="No space left on device") as refused:
            publish(repository)
    assert refused.value.where == str(repository / ("mlruns/x" if named else "mlruns"))
    assert refused.value.next_step.endswith("then: textmill publish")
    assert publish(repository).written == 4
    foreign = OSError(28, "No space left on device", "models/x")
    monkeypatch.setattr(
        MlflowClient, "search_runs", lambda *_, **__: (_ for _ in ()).throw(foreign)
    )
    with pytest.raises(OSError, match="models/x"):
        publish(repository)


def test_a_database_of_another_version_of_mlflow_is_told_how_it_is_kept(repository, monkeypatch):
    with sqlite3.connect(repository / "mlflow.db") as database:
        database.execute("update alembic_version set version_num = 'aaaa1111'")
    database.close()
    error = refusal(repository)
    assert "its tables are those of another version of MLflow (aaaa1111, where this" in error.what
    uri = f"sqlite:///{repository}/mlflow.db"
    assert error.next_step.startswith(f"mlflow db upgrade '{uri}'")
    assert error.next_step.endswith(REBUILD)
    (repository / "mlflow.db").rename(repository / "other.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{repository}/other.db")
    assert "rm -r" not in refusal(repository).next_step


def test_the_database_of_another_program_is_left_alone(made, monkeypatch):
    path = made / "theirs.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{path}")
    with sqlite3.connect(path) as database:
        database.execute("create table runs (x int)")
    database.close()
    error = refusal(made)
    assert error.what == "it is a database of something else than MLflow"
    assert error.next_step == f"move {path} away, then: textmill publish"
    assert tables(path) == {"runs"}
