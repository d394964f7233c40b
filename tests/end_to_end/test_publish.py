"""Publishing, following, trace and verify on throw-away repositories that DVC really ran."""

import contextlib
import ctypes
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
from mlflow.tracking import MlflowClient

pytestmark = [
    pytest.mark.slow,
    # MLflow's own use of its database library.
    pytest.mark.filterwarnings(
        "ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"
    ),
]

MODELS = {"bigram_word", "kn3_subword", "lstm_subword", "mix_subword"}
PR_SET_CHILD_SUBREAPER = 36
LOOKS = ("steps: 60\n    evaluate_every: 20", "steps: 450\n    evaluate_every: 15")


def client_of(repository):
    return MlflowClient(f"sqlite:///{repository.path}/mlflow.db")


def runs_of(repository):
    client = client_of(repository)
    experiment = client.get_experiment_by_name("textmill/local")
    return client.search_runs([experiment.experiment_id]) if experiment else []


def down():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def unpublished(repository):
    """A finished repository whose store was deleted."""
    (repository.path / "mlflow.db").unlink(missing_ok=True)
    shutil.rmtree(repository.path / "mlruns", ignore_errors=True)
    return repository


def test_the_pipeline_ends_with_every_model_in_mlflow(finished):
    runs = {run.info.run_name: run for run in runs_of(finished)}
    assert len(runs) == len(MODELS) + 1
    assert runs.keys() > MODELS
    for name in MODELS:
        summary = json.loads((finished.path / f"scores/{name}/summary.json").read_text())
        assert runs[name].info.status == "FINISHED"
        assert runs[name].data.metrics["bits_per_byte"] == summary["test"]["bits_per_byte"]
        assert runs[name].data.tags["textmill.origin"] == "run"
    assert runs["lstm_subword"].data.metrics["training_seconds"] > 0
    published = json.loads((finished.path / "reports/published.json").read_text())
    assert published["models"] == {
        name: runs[name].data.tags["textmill.identity"] for name in MODELS
    }
    assert finished.run("git", "status", "--porcelain") == ""


def test_a_second_publish_finds_nothing(finished):
    assert "4 models, nothing new" in finished.textmill("publish")


def test_a_deleted_store_fills_although_dvc_has_nothing_to_do(unpublished):
    assert unpublished.repro() == []
    assert "4 models, 4 new" in unpublished.textmill("publish")
    assert {run.info.run_name for run in runs_of(unpublished)} > MODELS


def test_a_clone_with_what_dvc_pulls_has_nothing_to_do_but_to_fill_its_store(finished, tmp_path):
    source = finished.copy(tmp_path / "source")
    source.run("dvc", "remote", "add", "--default", "storage", str(tmp_path / "remote"))
    source.run("dvc", "push")
    source.run("git", "commit", "--quiet", "-am", "remote")
    clone = type(finished)(tmp_path / "clone")
    source.run("git", "clone", "--quiet", str(source.path), str(clone.path))
    clone.run("dvc", "pull", "--quiet")
    # What MLflow was told is in no cache: the clone's own store has not been told yet.
    assert clone.repro() == ["publish"]
    assert clone.repro() == []
    assert clone.lock() == finished.lock()
    runs = {run.info.run_name: run for run in runs_of(clone)}
    assert runs.keys() > MODELS
    for name in MODELS:
        assert runs[name].data.tags["textmill.origin"] == "restored"
        assert "training_seconds" not in runs[name].data.metrics
    ours = {run.info.run_name: run.data.tags["textmill.identity"] for run in runs_of(finished)}
    assert {name: runs[name].data.tags["textmill.identity"] for name in ours} == ours
    assert clone.run("git", "status", "--porcelain") == ""


def test_dvc_repro_does_not_fail_with_the_server(unpublished):
    unpublished.environment["MLFLOW_TRACKING_URI"] = down()
    unpublished.edit("order: 2", "order: 1")
    output = unpublished.run("dvc", "repro")
    assert "connection refused" in output
    assert output.count("not in MLflow yet") == 1
    assert "textmill publish" in output
    assert "Traceback" not in output
    assert "up to date" in unpublished.run("dvc", "status")
    del unpublished.environment["MLFLOW_TRACKING_URI"]
    assert "4 models, 4 new" in unpublished.textmill("publish")


def started_training(repository):
    """Follower and DVC side by side, as make starts them, until the run shows two looks."""
    command = f"{shlex.quote(sys.executable)} -m textmill.cli follow --until $$ & dvc repro"
    with (repository.path / "training.log").open("a") as log:
        process = subprocess.Popen(
            ["sh", "-c", command], cwd=repository.path, env=repository.environment,
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + 120
    while True:
        assert time.monotonic() < deadline, "no live run"
        assert process.poll() is None, "it ended without a live run"
        live = [run for run in runs_of(repository) if run.info.status == "RUNNING"]
        if live and "valid_loss" in live[0].data.metrics:
            return process, live[0]
        time.sleep(0.3)


@pytest.fixture
def training(unpublished):
    """A repository with a store, and a network that rests after every look."""
    unpublished.textmill("publish")
    unpublished.edit(*LOOKS)
    history = unpublished.path / "textmill/neural/history.py"
    code, look = history.read_text(), "        self.looks.append(look)\n"
    assert code.count(look) == 1
    history.write_text(code.replace(look, f"{look}        import time; time.sleep(0.5)\n"))
    return unpublished


@contextlib.contextmanager
def adopted():
    """Processes whose parents die become this one's children for a time, and do not stay zombies.

    To DVC a zombie still holds the locks of its life. An init process lets none be; the first
    process of a container may be no such.
    """
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0)


def kill_group(process):
    """SIGKILL a process and all that it started, and see them gone."""
    with adopted():
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-process.pid, 0)


def test_a_training_killed_and_taken_up_again_is_one_run_that_becomes_the_models(training):
    process, live = started_training(training)
    kill_group(process)
    statuses = {run.info.run_id: run.info.status for run in runs_of(training)}
    assert statuses[live.info.run_id] == "RUNNING"  # nobody was left to end it
    process, again = started_training(training)
    assert again.info.run_id == live.info.run_id
    assert process.wait(240) == 0, (training.path / "training.log").read_text()
    found = {run.info.run_id: run for run in runs_of(training)}
    assert {run.info.status for run in found.values()} == {"FINISHED"}
    followed = [run for run in found.values() if run.info.run_name == "lstm_subword"]
    assert len(followed) == 2  # the one of before and this one
    run = found[live.info.run_id]
    assert run.data.params["steps"] == "450"
    steps = [
        row.step for row in client_of(training).get_metric_history(run.info.run_id, "valid_loss")
    ]
    assert sorted(steps) == list(range(15, 451, 15))
    assert "4 models, nothing new" in training.textmill("publish")


@pytest.mark.parametrize(
    ("file", "link"),
    [
        ("data/raw/files/text.txt", "data/raw/files/text.txt"),
        ("data/clean/train.arrow", "data/clean"),
        ("models/kn3_subword/order-2.arrow", "models/kn3_subword"),
    ],
)
def test_verify_names_the_broken_link_and_what_mends_it(repository, file, link):
    assert repository.textmill("verify", "kn3_subword").startswith("all ")
    path = repository.path / file
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    said = repository.textmill("verify", code=1)
    first, *_, last = said.strip().splitlines()
    assert first == f"textmill: broken link: {link}"
    command = last.removeprefix("  -> ").partition("   (")[0]
    repository.run("sh", "-c", command)
    assert repository.textmill("verify").startswith("all ")


def test_trace_names_what_every_stage_ran_with(finished):
    traced = json.loads(finished.textmill("trace", "lstm_subword", "--json"))
    paths = [link["path"] for link in traced["links"]]
    assert paths == [
        "models/lstm_subword",
        "data/shards/subword",
        "data/vocabulary/subword",
        "data/clean",
        "data/raw",
    ]
    locked = {
        out["path"]: out["md5"] for stage in finished.lock()["stages"].values()
        for out in stage["outs"]
    }  # fmt: skip
    for link in traced["links"]:
        assert link["md5"] == locked[link["path"]]
        assert {"python", "torch", "pyarrow"} <= link["versions"].keys()
        assert len(link["commit"]) == 40
