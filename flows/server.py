"""A Prefect server on this machine that ends with whoever started it, however that one ends."""

import socket
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPException
from pathlib import Path

from flows.processes import Supervised, supervised
from flows.stages import environment
from textmill.base.errors import UserError

HOST = "127.0.0.1"
PORT = 4200
STARTUP = 90.0
"""Seconds for a server's start; on a fresh home it makes its database first."""


@contextmanager
def server(root: Path, log: Path, *, port: int | None = None) -> Iterator[str]:
    """Run a server; yields the address of its API once it answers."""
    log.parent.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    command = [sys.executable, "-m", "prefect", "server", "start"]
    with (
        log.open("a") as output,
        supervised(
            [*command, "--host", HOST, "--port", str(port)],
            first="service",
            root=root,
            environment=environment(),
            output=output,
        ) as run,
    ):
        api = f"http://{HOST}:{port}/api"
        _await(run, api, log)
        yield api


def free_port(preferred: int = PORT) -> int:
    """`preferred` where nothing listens there, or any free port."""
    for port in (preferred, 0):
        with closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise UserError(f"there is no free port on {HOST}")


def answers(api: str, patience: float = 2.0) -> bool:
    """Whether a server answers there within so many seconds."""
    try:
        with urllib.request.urlopen(f"{api}/health", timeout=patience) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (OSError, ValueError, HTTPException):
        return False


def _await(run: Supervised, api: str, log: Path) -> None:
    deadline = time.monotonic() + STARTUP
    while not answers(api):
        if not run.running():
            raise UserError("Prefect's server ended at its start", next_step=f"read {log}")
        if time.monotonic() > deadline:
            raise UserError(
                f"Prefect's server did not answer within {STARTUP:.0f} s",
                next_step=f"read {log}, then try again",
            )
        time.sleep(0.2)
