"""The Prefect flow on throw-away repositories, against a real server, schedule and worker."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

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
def prefect(prefect_database, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefect")
    shutil.copy(prefect_database, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(folder))
        with server(folder, folder / "server.log") as api:
            yield Prefect(api)


ANEW = {
    "vocabulary@word": ["data/vocabulary/word", "reports/vocabulary/word"],
    "shard@word": ["data/shards/word"],
    "ngram@bigram_word": ["models/bigram_word"],
    "evaluate_ngram@bigram_word": ["scores/bigram_word", "metrics/models/bigram_word.json"],
    "compare": ["reports/leaderboard.json"],
}
"""Half of the pipeline, and what it writes; the benchmark of services runs all of it."""
GONE = {"evaluate_ngram@kn3_subword": "scores/kn3_subword", TRAIN: "models/lstm_subword"}
"""Stages that were run, and an output that is lost."""


def forget_runs(repository, stages):
    """Take these stages out of DVC's cache of what was run."""
    commands = {repository.lock()["stages"][stage]["cmd"] for stage in stages}
    for run in list((repository.path / ".dvc/cache/runs").glob("*/*/*")):
        if YAML(typ="safe").load(run.read_text())["cmd"] in commands:
            shutil.rmtree(run.parent)


def test_the_flow_does_what_dvc_repro_does(repository, prefect):
    """What never ran: the same dvc.lock. What is gone is restored, all else is skipped."""
    undisturbed = repository.lock()
    forget_runs(repository, ANEW)
    content = repository.lock()
    for stage, outputs in ANEW.items():
        content["stages"].pop(stage)
        for output in outputs:
            path = repository.path / output
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with (repository.path / "dvc.lock").open("w") as file:
        YAML().dump(content, file)
    for output in GONE.values():
        shutil.rmtree(repository.path / output)
    code, output = run_flow(repository, prefect)
    assert code == 0, output
    assert repository.lock() == undisturbed
    skipped = dict.fromkeys(undisturbed["stages"], "Skipped")
    done = dict.fromkeys(ANEW, "Completed") | dict.fromkeys(GONE, "Restored")
    prefect.reaches(skipped | done)
    for line in ("learning to spell unknown words", "Running stage 'compare':"):
        assert line in output
    rows = json.loads(prefect.artifacts("table")[0]["data"])
    board = json.loads((repository.path / "reports/leaderboard.json").read_text())
    assert [row["model"] for row in rows] == [model["name"] for model in board["models"]]
    assert "up to date" in repository.run("dvc", "status")


def test_a_failure_stops_only_what_needs_it(repository, prefect):
    repository.edit("k: 0.1", "k: 0.2")
    step = repository.path / "pipeline_steps/ngram.py"
    fault = 'key = settings.key()\n    if key == "kn3_subword":\n        raise UserError("no such luck")'
    step.write_text(
        "from textmill.base.errors import UserError\n"
        + step.read_text().replace("key = settings.key()", fault)
    )
    code, output = run_flow(repository, prefect)
    assert code == 1
    assert "textmill: Failed: ngram@kn3_subword failed: no such luck (" in output
    assert "NoneType" not in output
    changed = repository.run("git", "status", "--porcelain").splitlines()
    # DVC touches no .gitignore, neither for what succeeded nor for what failed.
    assert {line[3:] for line in changed} == {"params.yaml", "dvc.lock", "pipeline_steps/ngram.py"}
    apart = {
        "ngram@kn3_subword": "Failed",
        "evaluate_ngram@kn3_subword": "NotRun",
        "mix@mix_subword": "NotRun",
        "compare": "NotRun",
        "publish": "NotRun",
        "ngram@bigram_word": "Completed",
        "evaluate_ngram@bigram_word": "Completed",
    }
    prefect.reaches(dict.fromkeys(repository.lock()["stages"], "Skipped") | apart)
    run = prefect.last_run()
    assert run["state_type"] == "FAILED"
    messages = {
        t["name"]: t["state"]["message"] for t in prefect.tasks({"id": {"any_": [run["id"]]}})
    }
    assert "textmill: no such luck" in messages["ngram@kn3_subword"]
    assert messages["compare"] == "compare was not run: ngram@kn3_subword failed"


def test_targets_come_with_what_they_need_on_a_server_of_the_run(repository, prefect_database):
    """Nothing of Prefect runs before, and nothing after."""
    home = repository.path / ".textmill/prefect"
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(prefect_database, home)
    code, output = run_flow(repository, None, "clean", "--force", "--cores", "1")
    assert code == 0, output
    names = ["download", "clean"]
    assert set(re.findall(r"Running stage '(.+)':", output)) == set(names)
    assert "textmill: Completed: 2 stages: 2 Completed" in output
    assert_nothing_left(repository)


def test_a_flow_that_takes_too_long_is_ended(repository, prefect):
    repository.edit("steps: 60", "steps: 60000")
    code, output = run_flow(repository, prefect, TRAIN, "--timeout-minutes", "0.1")
    assert code == 1
    assert "took longer than timeout_minutes allows" in output
    assert "Traceback" not in output
    assert_nothing_left(repository)


def test_ended_at_three_moments_the_next_run_ends_in_the_same_hashes(repository, prefect, launch):
    undisturbed = repository.lock()
    shutil.rmtree(repository.path / ".dvc/cache/runs")
    shutil.rmtree(repository.path / "models/lstm_subword")
    content = repository.lock()
    for stage in (TRAIN, "shard@subword"):
        content["stages"].pop(stage)
    with (repository.path / "dvc.lock").open("w") as file:
        YAML().dump(content, file)
    rng = random.Random("2026-11-29")
    codes = {number: 128 + number for number in (signal.SIGTERM, signal.SIGINT)}
    codes[signal.SIGKILL] = -signal.SIGKILL
    interrupted = 0
    for number, expected in codes.items():
        process = launch([*FLOW, TRAIN], environment(repository, prefect))
        copy = repository.path / ".textmill/dvc.lock"
        before = time.time()
        eventually(
            lambda copy=copy, before=before, process=process: (
                process.poll() is not None or (copy.exists() and copy.stat().st_mtime > before)
            )
        )
        time.sleep(rng.uniform(0.0, 4.0))
        process.send_signal(number)
        code = process.wait(60)
        if copy.exists():
            assert code == expected
            interrupted += 1
            if number == signal.SIGINT:
                assert prefect.last_run()["state_type"] == "CANCELLED"
        else:  # the training was done before the signal, which at the very end meets no handler
            assert code in (expected, 0, -number)
        assert_nothing_left(repository)
    assert interrupted >= 2
    (repository.path / ".dvc/tmp/rwlock").write_text("")  # as DVC leaves it at a worse moment
    code, output = run_flow(repository, prefect, TRAIN)
    assert code == 0, output
    assert ".dvc/tmp/rwlock was left half-made by a killed DVC: removed" in output
    assert repository.lock() == undisturbed
    assert not (repository.path / ".textmill/dvc.lock").exists()


@pytest.fixture
def launch(repository):
    """Start a process in the repository; it has ended when the test has, however that ends."""
    started = []

    def start(command, names, output=subprocess.DEVNULL):
        started.append(
            subprocess.Popen(
                command, cwd=repository.path, env=names, stdout=output, stderr=subprocess.STDOUT
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
    for pid in processes_in(repository.path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def scheduled(repository):
    """A repository whose deployment brings the cleaned text up to date four times a minute."""
    config = repository.path / "prefect.yaml"
    text = config.read_text()
    nightly = '- cron: "0 3 * * *"\n        timezone: UTC'
    assert text.count(nightly) == 1
    config.write_text(text.replace(nightly, "- interval: 15\n    parameters: {targets: [clean]}"))
    return repository


def fired_since(serve, moment):
    """Runs that were due after a moment and are done."""
    return [
        run
        for run in serve.runs("COMPLETED")
        if datetime.fromisoformat(run["expected_start_time"]).timestamp() > moment
    ]


def test_serve_runs_on_schedule_cancels_and_survives_a_crash(scheduled, launch):
    repository = scheduled
    stop = [sys.executable, "-m", "flows.stop"]
    serve = Serve(repository, launch)
    assert serve.seconds < 60
    again = subprocess.run(
        [sys.executable, "-m", "flows.serve"], cwd=repository.path,
        env=environment(repository), text=True, capture_output=True, timeout=60,
    )  # fmt: skip
    assert again.returncode == 1
    assert f"process {serve.process.pid} since" in again.stderr
    eventually(lambda: serve.runs("SCHEDULED"))
    deployment = serve.prefect.post("deployments/filter")[0]["id"]
    # Farther away than a worker looks ahead, and past when the next worker comes.
    due = datetime.now(UTC) + timedelta(seconds=30)
    when = {"type": "SCHEDULED", "state_details": {"scheduled_time": due.isoformat()}}
    lost = serve.prefect.post(f"deployments/{deployment}/create_flow_run", state=when)
    serve.process.kill()
    serve.process.wait()
    assert_nothing_left(repository)
    assert "nothing of make serve runs" in repository.run(*stop)
    time.sleep(max(0.0, due.timestamp() - time.time()))

    before = time.time()
    serve = Serve(repository, launch)
    prefect = serve.prefect
    fired = eventually(lambda: fired_since(serve, before), 240.0)
    assert all(run["auto_scheduled"] for run in fired)
    assert fired[0]["state"]["message"] == "2 stages: 2 Skipped"
    eventually(lambda: lost["id"] in {run["id"] for run in serve.runs("CANCELLED")})
    messages = {run["id"]: run["state"]["message"] for run in serve.runs("CANCELLED")}
    assert "missed" in messages[lost["id"]]

    prefect.post(f"deployments/{deployment}/pause_deployment")
    eventually(lambda: not serve.runs("PENDING", "RUNNING", "SCHEDULED"))
    repository.edit("steps: 60", "steps: 60000")
    wanted = {"parameters": {"targets": [TRAIN]}}
    long = prefect.post(f"deployments/{deployment}/create_flow_run", **wanted)
    eventually(lambda: step_runs(repository, "train"), 90.0)
    surplus = prefect.post(f"deployments/{deployment}/create_flow_run", **wanted)
    eventually(lambda: surplus["id"] in {run["id"] for run in serve.runs("CANCELLED")})
    code, output = run_flow(repository, prefect, "clean")
    assert code == 2
    assert f"flow run {long['name']}" in output
    assert "Traceback" not in output

    state = {"type": "CANCELLING", "name": "Cancelling"}
    prefect.post(f"flow_runs/{long['id']}/set_state", state=state)
    eventually(lambda: long["id"] in {run["id"] for run in serve.runs("CANCELLED")})
    assert not step_runs(repository, "train")

    assert f"ended {serve.process.pid}" in repository.run(*stop)
    assert serve.process.wait(10) == 0
    assert_nothing_left(repository)
    assert not (repository.path / ".textmill/serve.json").exists()
