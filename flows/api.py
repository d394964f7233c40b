"""Prefect's API for one run of the flow: a server that is there, or one of the run's own."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from prefect.client.orchestration import get_client
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogHandler
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

from flows import logs, serving
from flows.server import answers, server
from textmill.base.errors import UserError
from textmill.repository import layout

LOG = layout.PRIVATE / "prefect" / "server.log"
READ = 10.0
"""Seconds in which a server that was named must answer."""
CONNECT = 2.5
"""Seconds for one of the four tries to reach it."""


@contextmanager
def api() -> Iterator[None]:
    """Prefect's API: the one that is set, that of `make serve`, or a server of this run's own."""
    if PREFECT_API_URL.value():
        yield
        return
    served = serving.read(Path())
    if served is not None and served.lives() and answers(served.api):
        with temporary_settings({PREFECT_API_URL: served.api}):
            yield
        return
    sys.stderr.write(
        "textmill: starting Prefect's server for this run (make serve: one that stays)\n"
    )
    logs.drop_addresses()
    with server(Path(), LOG, preferred=0) as own, temporary_settings({PREFECT_API_URL: own}):
        yield


def check_named() -> None:
    """UserError where PREFECT_API_URL, if it is set, names nothing that answers as Prefect does."""
    named = PREFECT_API_URL.value()
    if not named:
        return
    settings = {"timeout": httpx.Timeout(READ, connect=CONNECT)}
    with temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}):
        try:
            with get_client(settings, sync_client=True) as client:
                client.raise_for_api_version_mismatch()
        except (RuntimeError, ValueError, httpx.HTTPError, httpx.InvalidURL) as error:
            raise UserError(
                f"no Prefect server answers there ({_public(error.__cause__ or error)})",
                where=f"PREFECT_API_URL={_public(named)}",
                next_step="start that server, or: unset PREFECT_API_URL (the run has its own then)",
            ) from None


def _public(text: object) -> str:
    """A text without the name and password that an address in it may hold."""
    return re.sub(r"//[^/@\s]*@", "//", str(text))


@contextmanager
def sent() -> Iterator[None]:
    """Send the logs and events that still wait here, before the server ends."""
    try:
        yield
    finally:
        APILogHandler().flush()
        EventsWorker.drain_all(timeout=5.0)
