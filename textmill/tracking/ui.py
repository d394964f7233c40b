"""`make ui`: MLflow's pages over the store, on this machine only."""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from textmill.base.environment import switch_telemetry_off
from textmill.base.errors import UserError
from textmill.repository import layout
from textmill.repository.layout import find_root
from textmill.repository.stages import read_yaml
from textmill.tracking import runs, views
from textmill.tracking.store import artifact_folder, opened, shown, store_uri
from textmill.tracking.views import HOST, PORT

_log = logging.getLogger(__name__)

GRACE = 15.0
"""Seconds for a server to end by itself when it is told to."""


def main() -> None:
    """Run `mlflow server` until Ctrl-C; or say where the server is that the user named."""
    root = find_root()
    uri = store_uri(root)
    if uri.startswith(("http://", "https://")):
        _log.info("MLflow is at %s", shown(uri))
        return
    command = server_command(uri, free_port(), root)
    server = f"http://{HOST}:{command[-1]}"
    _log.info("MLflow: %s  over %s  (Ctrl-C ends it)", server, shown(uri))
    if link := leaderboard(server, root):
        _log.info("In half a minute, the leaderboard: %s", link)
    # MLflow's background jobs are for language-model apps; their eight processes take 2 GB.
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")
    # What MLflow's packages say to each other about their futures is nothing to its readers.
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    run(command)


def run(command: Sequence[str]) -> None:
    """Run a server until it ends, or until Ctrl-C or SIGTERM ends it.

    A terminal interrupts a whole process group, and Python's servers answer that with tracebacks.
    So this one has a group of its own, and is told to end from here.
    """
    # Set, since a script's background job is started with Ctrl-C ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    process = subprocess.Popen(command, process_group=0)
    try:
        # A signal that another thread takes does not wake one that waits for a process.
        while process.poll() is None:
            time.sleep(0.2)
    except KeyboardInterrupt:
        _end(process)
        _log.info("stopped")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Terminate a process and its descendants; kill what is left after the grace time."""
    every = [process]
    with suppress(psutil.NoSuchProcess):
        every += psutil.Process(process.pid).children(recursive=True)
    for one in every:
        with suppress(psutil.NoSuchProcess):
            one.terminate()
    deadline = time.monotonic() + GRACE
    for one in every:
        try:
            one.wait(max(0.0, deadline - time.monotonic()))
        except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
            one.kill()


def leaderboard(server: str, root: Path = Path()) -> str | None:
    """Where the corpus of params.yaml opens as a leaderboard; None before it was published."""
    name = runs.experiment_name(read_yaml(root / layout.PARAMS)["corpus"])
    with opened(root) as store:
        found = runs.known_experiment(store, name)
    return views.address(server, found.experiment_id) if found else None


def server_command(uri: str, port: int, root: Path = Path()) -> list[str]:
    """One worker is enough for one reader; each takes two seconds to start."""
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1"]
    command += ["--backend-store-uri", uri]
    command += ["--default-artifact-root", artifact_folder(uri, root) or "mlruns"]
    return [*command, "--host", HOST, "--port", str(port)]


def free_port(wanted: int = PORT) -> int:
    """The wanted port, or any free one where it is taken."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise UserError(f"no port of {HOST} is free", next_step="end a server, then: make ui")


if __name__ == "__main__":
    switch_telemetry_off()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        main()
    except UserError as error:
        sys.exit(f"textmill: {error}")
