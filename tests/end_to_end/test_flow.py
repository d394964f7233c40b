"""The Prefect flow on throw-away repositories, against a real server, schedule and worker."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime

import pytest
from ruamel.yaml import YAML

from flows.server import server
from tests.flows.support import (
    FLOW,
    Prefect,
    Serve,
    assert_nothing_left,
    environment,
    eventually,
    processes_in,
    run_flow,
    step_runs,
)

pytestmark = pytest.mark.slow

TRAIN = "train@lstm_subword"


@pytest.fixture(scope="module")
def prefect(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefect")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(folder))
        with server(folder, folder / "server.log", port=None) as api:
            yield Prefect(api)


def test_the_flow_does_what_dvc_repro_does(finished, new_repository, prefect):
    """First run: the same dvc.lock. Then: what is gone is restored, all else is skipped."""
    repository = new_repository("flow")
    code, output = run_flow(repository, prefect)
    assert code == 0, output
    assert repository.lock() == finished.lock()
    stages = set(finished.lock()["stages"])
    assert prefect.states() == dict.fromkeys(stages, "Completed")
    for line in ("learning to spell unknown words", "Running stage 'compare':"):
        assert line in output
    rows = json.loads(prefect.artifacts("table")[0]["data"])
    board = json.loads((repository.path / "reports/leaderboard.json").read_text())
    assert [row["model"] for row in rows] == [model["name"] for model in board["models"]]

    gone = {"evaluate_ngram@kn4_char": "scores/kn4_char", TRAIN: "models/lstm_subword"}
    for output in gone.values():
        shutil.rmtree(repository.path / output)
    code, output = run_flow(repository, prefect)
    assert code == 0, output
    assert prefect.states() == dict.fromkeys(stages, "Skipped") | dict.fromkeys(gone, "Restored")
    assert repository.lock() == finished.lock()
    assert "up to date" in repository.run("dvc", "status")


def test_a_failure_stops_only_what_needs_it(repository, prefect):
    repository.edit("order: 4", "order: 4\n    k: 0.5")
    repository.edit("k: 0.1", "k: 0.2")
    code, output = run_flow(repository, prefect)
    assert code == 1
    assert "failed: ngram@kn4_char" in output
    states = prefect.states()
    apart = {
        "ngram@kn4_char": "Failed",
        "evaluate_ngram@kn4_char": "NotRun",
        "compare": "NotRun",
        "publish": "NotRun",
        "ngram@bigram_word": "Completed",
        "evaluate_ngram@bigram_word": "Completed",
    }
    assert states == dict.fromkeys(repository.lock()["stages"], "Skipped") | apart
    run = prefect.last_run()
    assert run["state_type"] == "FAILED"
    messages = {
        t["name"]: t["state"]["message"] for t in prefect.tasks({"id": {"any_": [run["id"]]}})
    }
    assert "k does not belong to kneser_ney" in messages["ngram@kn4_char"]
    assert messages["compare"] == "compare was not run: ngram@kn4_char failed"


def test_targets_come_with_what_they_need_on_a_server_of_the_run(repository):
    """Nothing of Prefect runs before, and nothing after."""
    code, output = run_flow(repository, None, "vocabulary", "--force", "--cores", "1")
    assert code == 0, output
    names = ["download", "clean", "vocabulary@char", "vocabulary@subword", "vocabulary@word"]
    assert set(re.findall(r"Running stage '(.+)':", output)) == set(names)
    assert "textmill: Completed: 5 stages: 5 Completed" in output
    assert_nothing_left(repository)


def test_a_flow_that_takes_too_long_is_ended(repository, prefect):
    repository.edit("steps: 60", "steps: 60000")
    code, output = run_flow(repository, prefect, TRAIN, "--timeout-minutes", "0.3")
    assert code == 1
    assert "took longer than timeout_minutes allows" in output
    assert "Traceback" not in output
    assert_nothing_left(repository)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_ended_at_three_moments_the_next_run_ends_in_the_same_hashes(repository, prefect, number):
    undisturbed = repository.lock()
    shutil.rmtree(repository.path / ".dvc/cache/runs")
    shutil.rmtree(repository.path / "models/lstm_subword")
    content = repository.lock()
    for stage in (TRAIN, "shard@subword"):
        content["stages"].pop(stage)
    with (repository.path / "dvc.lock").open("w") as file:
        YAML().dump(content, file)
    rng = random.Random(f"2026-11-29 {number}")
    for _ in range(3):
        process = subprocess.Popen(
            [*FLOW, TRAIN], cwd=repository.path, env=environment(repository, prefect),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        eventually((repository.path / ".textmill/dvc.lock").exists)
        time.sleep(rng.uniform(0.0, 8.0))
        process.send_signal(number)
        process.wait(60)
        assert_nothing_left(repository)
    code, output = run_flow(repository, prefect, TRAIN)
    assert code == 0, output
    assert repository.lock() == undisturbed
    assert not (repository.path / ".textmill/dvc.lock").exists()


@pytest.fixture
def scheduled(repository):
    """A repository whose deployment brings the cleaned text up to date every five seconds."""
    config = repository.path / "prefect.yaml"
    text = config.read_text()
    nightly = '- cron: "0 3 * * *"\n        timezone: UTC'
    assert text.count(nightly) == 1
    config.write_text(text.replace(nightly, "- interval: 5\n    parameters: {targets: [clean]}"))
    yield repository
    for pid in processes_in(repository.path):
        os.kill(pid, signal.SIGKILL)


def test_serve_runs_on_schedule_cancels_and_ends_cleanly(scheduled):
    repository = scheduled
    serve = Serve(repository)
    prefect = serve.prefect
    assert serve.seconds < 60
    again = subprocess.run(
        [sys.executable, "-m", "flows.serve"], cwd=repository.path,
        env=environment(repository), text=True, capture_output=True, timeout=60,
    )  # fmt: skip
    assert again.returncode == 1
    assert f"process {serve.process.pid} since" in again.stderr

    fired = eventually(lambda: len(done := serve.runs("COMPLETED")) >= 2 and done)
    assert all(run["auto_scheduled"] for run in fired)
    assert fired[0]["state"]["message"] == "2 stages: 2 Skipped"

    deployment = prefect.post("deployments/filter")[0]["id"]
    prefect.post(f"deployments/{deployment}/pause_deployment")
    eventually(lambda: not serve.runs("PENDING", "RUNNING", "SCHEDULED"))
    repository.edit("steps: 60", "steps: 60000")
    wanted = {"parameters": {"targets": [TRAIN]}}
    long = prefect.post(f"deployments/{deployment}/create_flow_run", **wanted)
    eventually(lambda: step_runs(repository, "train"), 90.0)
    surplus = prefect.post(f"deployments/{deployment}/create_flow_run", **wanted)
    eventually(lambda: surplus["id"] in {run["id"] for run in serve.runs("CANCELLED")})
    code, output = run_flow(repository, prefect, "clean")
    assert code == 1
    assert f"flow run {long['name']}" in output
    assert "Traceback" not in output

    state = {"type": "CANCELLING", "name": "Cancelling"}
    prefect.post(f"flow_runs/{long['id']}/set_state", state=state)
    eventually(lambda: long["id"] in {run["id"] for run in serve.runs("CANCELLED")})
    assert not step_runs(repository, "train")

    serve.process.send_signal(signal.SIGINT)
    assert serve.process.wait(90) == 0
    assert_nothing_left(repository)
    assert not (repository.path / ".textmill/serve.json").exists()


def test_serve_after_a_crash_drops_missed_ticks_and_stop_ends_all(scheduled):
    repository = scheduled
    serve = Serve(repository)
    eventually(lambda: serve.runs("SCHEDULED"))
    serve.process.kill()
    serve.process.wait()
    assert_nothing_left(repository)
    stop = [sys.executable, "-m", "flows.stop"]
    assert "nothing of make serve runs" in repository.run(*stop)
    before = time.time()
    serve = Serve(repository)
    eventually(lambda: serve.runs("COMPLETED"))
    missed = [run for run in serve.runs("CANCELLED") if "missed" in run["state"]["message"]]
    assert missed
    for run in serve.runs("COMPLETED", "RUNNING", "PENDING"):
        assert datetime.fromisoformat(run["expected_start_time"]).timestamp() > before
    assert f"ended {serve.process.pid}" in repository.run(*stop)
    serve.process.wait(10)
    assert_nothing_left(repository)
