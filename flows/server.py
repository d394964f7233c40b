"""A Prefect server on this machine that ends with whoever started it, however that one ends."""

import re
import shutil
import socket
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import psutil
from prefect.settings import PREFECT_HOME

from flows.processes import Supervised, descendants, supervised
from flows.stages import environment
from textmill.base.errors import UserError

HOST = "127.0.0.1"
PORT = 4200
STARTUP = 90.0
"""Seconds for a server's start; on a fresh home it makes its database first."""

FURTHER_PORTS = 3
ROOM = 10_000_000
"""Bytes that must be free for a server: its database begins with two million."""


@contextmanager
def server(root: Path, log: Path, *, preferred: int = PORT) -> Iterator[str]:
    """Run a server; yields the address of its API once it answers.

    It listens where it prefers to, or where there is room: also where another process takes its
    place in the seconds that a start takes.
    """
    for folder in (log.parent, PREFECT_HOME.value()):
        check_room(folder)
    for wanted in (preferred, *[0] * FURTHER_PORTS):
        port = free_port(wanted)
        begun = log.stat().st_size if log.exists() else 0
        with log.open("a") as output, _started(root, port, output) as run:
            api = f"http://{HOST}:{port}/api"
            if _await(run, port, log, begun):
                yield api
                return
    raise UserError("every port was taken before Prefect's server could listen", next_step="again")


def check_room(folder: Path) -> None:
    """UserError or OSError where nothing, or too little, can be written into a folder.

    A server that finds that out by itself ends in a traceback, and cannot write even that.
    """
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise UserError(
            f"{free / 1e6:.1f} MB are free there, and Prefect's server wants {ROOM / 1e6:.0f}",
            where=str(folder),
            next_step="make room there, then type the command again",
        )
    with TemporaryFile(dir=folder):
        return


def _started(root: Path, port: int, output: IO[str]) -> AbstractContextManager[Supervised]:
    command = [sys.executable, "-m", "prefect", "server", "start"]
    return supervised(
        [*command, "--host", HOST, "--port", str(port)],
        first="service",
        root=root,
        environment=environment(),
        output=output,
    )


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


def _await(run: Supervised, port: int, log: Path, begun: int) -> bool:
    """Wait for the server; False where it is another one that answers at its address.

    begun: bytes of the log before this server wrote.
    """
    deadline = time.monotonic() + STARTUP
    while not answers(f"http://{HOST}:{port}/api"):
        if not run.running():
            raise UserError(
                f"Prefect's server ended at its start{last_error(log, begun)}",
                next_step=f"read {log}",
            )
        if time.monotonic() > deadline:
            raise UserError(
                f"Prefect's server did not answer within {STARTUP:.0f} s",
                next_step=f"read {log}, then try again",
            )
        time.sleep(0.2)
    return listens(run.pid, port)


def last_error(log: Path, begun: int) -> str:
    """In brackets the last line behind the first `begun` bytes that names an exception, if any."""
    lines = log.read_bytes()[begun:].decode(errors="replace").splitlines()
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    return f" ({errors[-1]})" if errors else ""


def listens(pid: int, port: int) -> bool:
    """Whether a process or one that it started listens there."""
    for one in [pid, *(found.pid for found in descendants(pid))]:
        with suppress(psutil.Error):
            for connection in psutil.Process(one).net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
                    return True
    return False
