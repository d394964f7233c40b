"""What a Prefect server knows, and what a run leaves in a repository, for tests."""

import fcntl
import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http import HTTPStatus

import psutil

from flows.processes import identify

FLOW = [sys.executable, "-m", "flows.command"]


class Prefect:
    """What a server knows."""

    def __init__(self, api):
        self.api = api

    def post(self, path, **query):
        request = urllib.request.Request(
            f"{self.api}/{path}", json.dumps(query).encode(), {"Content-Type": "application/json"}
        )
        for _ in range(20):
            try:
                with urllib.request.urlopen(request) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code != HTTPStatus.SERVICE_UNAVAILABLE:
                    raise
                time.sleep(0.5)  # its database is busy: Prefect's own client asks again too
        raise AssertionError(f"{path}: unavailable for ten seconds")

    def last_run(self):
        return self.post("flow_runs/filter", sort="START_TIME_DESC", limit=1)[0]

    def states(self):
        """State name of every stage in the last run."""
        run = {"id": {"any_": [self.last_run()["id"]]}}
        return {task["name"]: task["state_name"] for task in self.tasks(run)}

    def reaches(self, states):
        """Wait for these states: the server learns them a little after the flow has ended."""
        deadline = time.monotonic() + 60
        while (found := self.states()) != states and time.monotonic() < deadline:
            time.sleep(0.5)
        assert found == states, f"{found}, not {states}"

    def tasks(self, run):
        return self.post("task_runs/filter", flow_runs=run, limit=200)

    def artifacts(self, kind):
        return self.post("artifacts/filter", artifacts={"type": {"any_": [kind]}})


def environment(repository, prefect=None):
    kept = {k: v for k, v in repository.environment.items() if not k.startswith("PREFECT_")}
    return kept | ({"PREFECT_API_URL": prefect.api} if prefect else {})


def run_flow(repository, prefect, *arguments):
    """Exit code and output."""
    done = subprocess.run(
        [*FLOW, *arguments], cwd=repository.path, env=environment(repository, prefect),
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=280,
    )  # fmt: skip
    return done.returncode, done.stdout


def processes_in(folder):
    """Processes that work in a repository."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd().startswith(str(folder)) and identify(process.pid):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def eventually(holds, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.2)
    return found


def assert_nothing_left(repository):
    """No process, no lock that anybody holds or that DVC would respect."""
    eventually(lambda: not processes_in(repository.path))
    for name in (".dvc/tmp/lock", ".dvc/tmp/rwlock.lock", ".textmill/flow.lock"):
        path = repository.path / name
        if path.exists():
            with path.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    held = json.loads((repository.path / ".dvc/tmp/rwlock").read_text())
    pids = {int(pid) for pid in re.findall(r'"pid": (\d+)', json.dumps(held))}
    assert not [pid for pid in pids if identify(pid)]


def step_runs(repository, name):
    """Ids of steps of this kind that run in the repository."""
    return [
        pid for pid in processes_in(repository.path)
        if f"pipeline_steps.{name}" in (found.command if (found := identify(pid)) else "")
    ]  # fmt: skip


class Serve:
    """`python -m flows.serve` in a repository."""

    def __init__(self, repository, launch):
        self.log = repository.path.parent / f"serve-{time.monotonic()}.log"
        with self.log.open("w") as log:
            names = environment(repository) | {"PREFECT_WORKER_QUERY_SECONDS": "1"}
            self.process = launch([sys.executable, "-m", "flows.serve"], names, log)
        eventually(self.is_ready, 90.0)
        found = re.search(r"ready after (\d+) s; Prefect is at (\S+)\n", self.log.read_text())
        self.seconds, self.prefect = int(found[1]), Prefect(f"{found[2]}/api")

    def is_ready(self):
        assert self.process.poll() is None, self.log.read_text()
        return "make stop" in self.log.read_text()

    def runs(self, *types):
        return self.prefect.post("flow_runs/filter", flow_runs={"state": {"type": {"any_": types}}})
