"""The command line of the flow: `python -m flows.reproduce [STAGE ...]`."""

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogHandler
from prefect.settings import PREFECT_API_URL, temporary_settings

from flows import checkout, serving
from flows.server import answers, free_port, server
from textmill.base.errors import UserError, as_user_error
from textmill.repository import layout

LOG = layout.PRIVATE / "prefect" / "server.log"


def main(reproduce: Any) -> int:
    """Run the flow; 0 where every stage ended well, 1 where one did not, 2 for wrong use."""
    given = _parser().parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background has SIGINT switched off
        signal.signal(number, signal.default_int_handler)
    try:
        checkout.check_free(checkout.LOCK)
        with _api(), _sent():
            state = reproduce(
                targets=given.targets or None,
                force=given.force,
                cores=given.cores,
                timeout_minutes=given.timeout_minutes,
                return_state=True,
            )
    except (UserError, OSError) as error:
        _say(f"{as_user_error(error)}")
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    _say(f"{state.name}: {state.message}")
    return 0 if state.is_completed() else 1


@contextmanager
def _api() -> Iterator[None]:
    """Prefect's API: the one that is set, that of `make serve`, or a server of this run's own."""
    if PREFECT_API_URL.value():
        yield
        return
    served = serving.read(Path())
    if served is not None and served.lives() and answers(served.api):
        with temporary_settings({PREFECT_API_URL: served.api}):
            yield
        return
    _say("starting Prefect's server for this run")
    with server(Path(), LOG, port=free_port(0)) as api, temporary_settings({PREFECT_API_URL: api}):
        yield


@contextmanager
def _sent() -> Iterator[None]:
    """Send the logs and events that still wait here, before the server ends."""
    try:
        yield
    finally:
        APILogHandler().flush()
        EventsWorker.drain_all(timeout=5.0)


def _say(text: str) -> None:
    sys.stderr.write(f"textmill: {text}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m flows.reproduce",
        description="Run the stages of dvc.yaml as a Prefect flow, side by side.",
        epilog="Example: python -m flows.reproduce evaluate_ngram --cores 2",
    )
    parser.add_argument("targets", nargs="*", metavar="STAGE", help="default: every stage")
    parser.add_argument("--force", action="store_true", help="run even where nothing changed")
    parser.add_argument("--cores", type=int, help="default: those of the machine")
    parser.add_argument("--timeout-minutes", type=float, help="end after so long; default: never")
    return parser
