"""Live curves: a training's run while it trains, and what becomes of it afterwards."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lineage.made import HISTORY, add_facts, write_lock
from textmill.repository.fingerprints import input_fingerprint
from textmill.repository.stages import read_stage
from textmill.tracking import live, tags
from textmill.tracking.follow import Follower, follow
from textmill.tracking.processes import is_same, started
from textmill.tracking.publish import publish

ROOT = Path(__file__).parents[2]


class Training:
    """A network of the small repository in the middle of its training."""

    def __init__(self, repository):
        self.repository = repository
        stage = read_stage("train", "lstm", root=repository)
        self.fingerprint = input_fingerprint(stage, repository)
        self.scratch = repository / ".textmill/scratch" / self.fingerprint
        self.finished = repository / "history/lstm.csv"
        self.finished.unlink()

    def look(self, looks):
        self.scratch.mkdir(parents=True, exist_ok=True)
        temporary = self.scratch / ".history.csv.part"
        temporary.write_text("\n".join(HISTORY.splitlines()[: looks + 1]) + "\n")
        temporary.replace(self.scratch / "history.csv")

    def finish(self):
        self.finished.write_text(HISTORY)
        shutil.rmtree(self.scratch)


@pytest.fixture
def training(repository):
    return Training(repository)


@pytest.fixture
def steps(client):
    def of(repository, run):
        rows = client(repository).get_metric_history(run.info.run_id, "valid_loss")
        return [row.step for row in rows]

    return of


def the_run(runs, repository):
    return runs(repository)["lstm"]


def test_a_run_grows_with_the_history(repository, training, runs, steps):
    follower = Follower(repository)
    follower.look()
    assert runs(repository) == {}
    training.look(1)
    follower.look()
    run = the_run(runs, repository)
    assert run.info.status == "RUNNING"
    assert run.data.tags[tags.FINGERPRINT] == training.fingerprint
    board = json.loads((repository / "reports/leaderboard.json").read_text())
    assert run.data.tags[tags.KEY] == board["comparison_key"]
    assert run.data.tags[tags.PID] == str(os.getpid())
    assert run.data.tags[tags.HOST] == socket.gethostname()
    assert steps(repository, run) == [10]
    training.look(2)
    follower.look()
    follower.look()
    assert steps(repository, run) == [10, 20]


def test_publishing_adopts_the_run_of_the_training(repository, training, runs, steps, content):
    follower = Follower(repository)
    training.look(2)
    follower.look()
    live_run = the_run(runs, repository)
    training.finish()
    add_facts(repository)
    publish(repository)
    run = the_run(runs, repository)
    assert run.info.run_id == live_run.info.run_id
    assert run.info.status == "FINISHED"
    assert tags.IDENTITY in run.data.tags
    assert steps(repository, run) == [10, 20, 30]
    before = content(repository)
    follower.look()
    follower.end(killed=False)
    publish(repository)
    assert content(repository) == before


def test_a_finished_training_ends_its_run_before_anything_is_published(
    repository, training, runs, steps
):
    follower = Follower(repository)
    training.look(1)
    follower.look()
    training.finish()
    follower.look()
    run = the_run(runs, repository)
    assert run.info.status == "FINISHED"
    assert steps(repository, run) == [10, 20, 30]
    publish(repository)
    assert the_run(runs, repository).info.run_id == run.info.run_id


def test_a_training_that_goes_on_goes_on_in_its_run(repository, training, runs, steps):
    first = Follower(repository)
    training.look(2)
    first.look()
    first.end(killed=True)
    assert the_run(runs, repository).info.status == "KILLED"
    second = Follower(repository)
    training.look(1)  # from a checkpoint before the second look
    second.look()
    assert the_run(runs, repository).info.status == "RUNNING"
    training.look(3)
    second.look()
    assert steps(repository, the_run(runs, repository)) == [10, 20, 30]


def test_two_followers_do_not_write_one_run(repository, training, runs, steps):
    first, second = Follower(repository), Follower(repository)
    training.look(1)
    first.look()
    second.look()
    training.look(2)
    second.look()
    first.look()
    assert steps(repository, the_run(runs, repository)) == [10, 20]
    second.end(killed=True)
    assert the_run(runs, repository).info.status == "RUNNING"


def test_a_published_training_is_not_followed_again(repository, training, runs, content):
    """`dvc repro --force` trains a model anew that MLflow has: nothing to show."""
    follower = Follower(repository)
    training.look(3)
    follower.look()
    training.finish()
    publish(repository)
    before = content(repository)
    training.look(1)
    Follower(repository).look()
    assert content(repository) == before


def test_a_run_that_another_machines_publish_deleted_is_followed_no_more(
    repository, training, runs, client
):
    """Both trained the same; it kept the older of the two runs."""
    follower = Follower(repository)
    training.look(1)
    follower.look()
    client(repository).delete_run(the_run(runs, repository).info.run_id)
    training.look(2)
    follower.look()
    follower.end(killed=False)
    assert runs(repository) == {}


def test_work_of_another_state_is_left_alone(repository, training, runs):
    training.look(1)
    params = repository / "params.yaml"
    params.write_text(params.read_text().replace("steps: 30", "steps: 31"))
    Follower(repository).look()
    assert runs(repository) == {}


@pytest.fixture
def start():
    """Start `textmill follow`; what is still there at the end of the test is killed."""
    started_here = []

    def begin(repository, *arguments, output=subprocess.DEVNULL, **more):
        process = subprocess.Popen(
            [sys.executable, "-m", "textmill.cli", "follow", *arguments],
            cwd=repository, env={**os.environ, "PYTHONPATH": str(ROOT), **more}, text=True,
            stdout=output, stderr=output,
        )  # fmt: skip
        started_here.append(process)
        return process

    yield begin
    for process in started_here:
        process.kill()
        process.wait(30)


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_follower_that_is_stopped_ends_its_run(start, repository, training, runs, steps, number):
    process = start(repository)
    training.look(1)
    wait_for(lambda: "lstm" in runs(repository))
    wait_for(lambda: steps(repository, the_run(runs, repository)) == [10])
    process.send_signal(number)
    assert process.wait(30) == 0
    assert the_run(runs, repository).info.status == "KILLED"


def test_a_killed_follower_is_repaired_by_the_next_publish(start, repository, training, runs):
    process = start(repository)
    training.look(1)
    wait_for(lambda: "lstm" in runs(repository))
    process.kill()
    process.wait(30)
    assert the_run(runs, repository).info.status == "RUNNING"
    (repository / "models/lstm/model.json").write_text("{}")  # not what was followed
    params = repository / "params.yaml"
    params.write_text(params.read_text().replace("steps: 30", "steps: 31"))
    write_lock(repository)
    publish(repository)
    found = [
        run.info.status
        for run in runs.all(repository)
        if run.data.tags.get(tags.FINGERPRINT) == training.fingerprint
    ]
    assert found == ["KILLED"]


def test_a_killed_follower_whose_training_finished_is_adopted(
    start, repository, training, runs, steps
):
    process = start(repository)
    training.look(1)
    wait_for(lambda: "lstm" in runs(repository))
    run_id = the_run(runs, repository).info.run_id
    process.kill()
    process.wait(30)
    training.finish()
    publish(repository)
    run = the_run(runs, repository)
    assert (run.info.run_id, run.info.status) == (run_id, "FINISHED")
    assert steps(repository, run) == [10, 20, 30]


def test_a_follower_ends_with_the_process_it_is_told(start, repository, training, runs):
    beside = subprocess.Popen(["sleep", "60"])
    process = start(repository, "--until", str(beside.pid))
    training.look(1)
    wait_for(lambda: "lstm" in runs(repository))
    assert process.poll() is None
    beside.kill()
    beside.wait()
    assert process.wait(30) == 0
    assert the_run(runs, repository).info.status == "KILLED"


def test_a_process_that_never_was_ends_it_at_once(repository, start):
    assert start(repository, "--until", "999999999").wait(30) == 0


def test_a_server_that_is_down_is_one_warning(start, repository, training):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    training.look(1)
    told = repository / "told.txt"
    with told.open("w") as file:
        process = start(
            repository, output=file, MLFLOW_TRACKING_URI=f"http://127.0.0.1:{port}",
            MLFLOW_HTTP_REQUEST_MAX_RETRIES="1",
        )  # fmt: skip
        process.wait(60)
    output = told.read_text()
    assert process.returncode == 0
    assert output.count("no live curves any more") == 1
    assert "Traceback" not in output


def test_following_is_cheap_until_there_is_something(repository):
    """No MLflow import before the first look of a network: `make run` may have nothing to do."""
    probe = (
        "import sys; from textmill.tracking.follow import follow\n"
        "follow(until=999999999); raise SystemExit('mlflow' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe], cwd=repository, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0


def test_a_process_is_known_by_number_and_start():
    own = started(os.getpid())
    assert is_same(os.getpid(), own)
    assert not is_same(os.getpid(), str(int(own) + 1))
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert started(ended.pid) is None  # a zombie has ended
    ended.wait()
    assert started(ended.pid) is None


def test_a_run_of_another_machine_is_not_called_dead(
    repository, training, runs, client, monkeypatch
):
    follower = Follower(repository)
    training.look(1)
    follower.look()
    run = the_run(runs, repository)
    assert not live.is_abandoned(run)
    client(repository).set_tag(run.info.run_id, tags.PID, "999999999")
    assert live.is_abandoned(the_run(runs, repository))
    client(repository).set_tag(run.info.run_id, tags.HOST, "elsewhere")
    assert not live.is_abandoned(the_run(runs, repository))


def test_a_damaged_history_ends_the_following_with_one_message(
    repository, training, caplog, monkeypatch
):
    monkeypatch.setattr("os.nice", lambda _: 0)  # for the tests after this one
    training.scratch.mkdir(parents=True)
    path = training.scratch / "history.csv"
    path.write_text("step,tokens\n1,many\n")
    follow(repository, until=os.getppid(), pause=0.01)
    (message,) = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert f"{path}: it is not a whole learning history" in message
