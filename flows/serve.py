"""Runs the pipeline on its schedule: `python -m flows.serve` (`make serve`).

One command for a Prefect server on this machine, the work pool, the deployment of prefect.yaml
and a worker. All of it ends with this process: on Ctrl-C in order, else by the supervisors.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import httpx

from flows import deployment, serving
from flows.checkout import hold
from flows.processes import Supervised, descendants, myself, supervised
from flows.server import answers, server
from flows.stages import environment
from textmill.base.errors import UserError, as_user_error
from textmill.repository import layout

LOCK = layout.PRIVATE / "serve.lock"
LOGS = layout.PRIVATE / "prefect"
WORKER_STARTUP = 60.0
SERVER_PATIENCE = 60.0
"""Seconds without an answer after which a server counts as ended; a loaded machine is slow."""


def main() -> int:
    """Serve until interrupted; 0 after a clean end, 1 where something could not start or ended."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        with hold(LOCK, "make serve"):
            _serve(Path())
    except (UserError, OSError) as error:
        _say(str(as_user_error(error)))
        return 1
    except KeyboardInterrupt:
        _say("stopped")
    return 0


def _serve(root: Path) -> None:
    start = time.monotonic()
    _say("starting Prefect's server, a worker and the deployment ...")
    with server(root, LOGS / "server.log") as api, _record(root, api):
        names = {"PREFECT_API_URL": api, "PYTHONPATH": str(root.resolve())}
        deployment.make_pool(api)
        deployment.bury(api, root)
        deployment.drop_missed(api)
        since = datetime.now(UTC)
        with _worker(root, names) as worker:
            _deploy(root, names)
            deployment.await_worker(api, worker, since, WORKER_STARTUP)
            serving.write(root, api, [myself(), *descendants(os.getpid())])
            _say(_welcome(api, time.monotonic() - start))
            _watch(api, worker)


def _watch(api: str, worker: Supervised) -> None:
    """Return never; UserError once the worker or the server has ended by itself."""
    while worker.running():
        time.sleep(1.0)
        if not answers(api) and not answers(api, SERVER_PATIENCE):
            raise UserError("the server ended", next_step=f"read {LOGS / 'server.log'}")
    raise UserError("the worker ended", next_step=f"read {LOGS / 'worker.log'}")


@contextmanager
def _worker(root: Path, names: dict[str, str]) -> Iterator[Supervised]:
    """A worker that starts due runs as processes of this machine; its runs end with it."""
    command = [sys.executable, "-m", "prefect", "worker", "start", "--type", "process"]
    command += ["--pool", deployment.POOL, "--name", deployment.POOL]
    try:
        with (
            (LOGS / "worker.log").open("a") as log,
            supervised(
                command,
                first="command",
                root=root,
                environment=environment() | names,
                output=log,
            ) as worker,
        ):
            yield worker
    finally:
        with contextlib.suppress(httpx.HTTPError):  # the server may be what ended
            deployment.bury(names["PREFECT_API_URL"], root)


def _deploy(root: Path, names: dict[str, str]) -> None:
    """Give the server what prefect.yaml says. Runs that fell due before are dropped by it."""
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"],
        cwd=root,
        env=environment() | names | {"PWD": str(root.resolve())},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UserError(f"prefect.yaml could not be deployed: {done.stdout}{done.stderr}")


@contextmanager
def _record(root: Path, api: str) -> Iterator[None]:
    """Leave a record for `make stop` and `make flow` as long as this serves."""
    serving.write(root, api, [myself(), *descendants(os.getpid())])
    try:
        yield
    finally:
        serving.forget(root)


def _welcome(api: str, seconds: float) -> str:
    address = api.removesuffix("/api")
    return (
        f"ready after {seconds:.0f} s; Prefect is at {address}\n"
        f"  run it now:  PREFECT_API_URL={api} prefect deployment run reproduce/nightly\n"
        "               behind that, some stages only: --param 'targets=[\"compare\"]'\n"
        "  schedule:    prefect.yaml\n"
        f"  logs:        {LOGS}/server.log, {LOGS}/worker.log\n"
        "  stop:        Ctrl-C, or make stop from elsewhere"
    )


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _say(text: str) -> None:
    sys.stderr.write(f"textmill: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
