"""The store: which one, opened once at a time, bounded in time, and in words when it fails.

By default it is SQLite in the repository, `mlflow.db`, with artifacts in `mlruns/`; any
`MLFLOW_TRACKING_URI` takes its place. Two processes that create the tables of one database at
once kill each other (measured: two of three die), so a database is opened under a file lock.
A server that is down or slow must not hold anybody up: MLflow's own defaults are seven tries of
two minutes each.
"""

import fcntl
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from textmill.base.errors import OUTSIDE, UserError
from textmill.tracking.databases import make_ready

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

ADDRESS = "MLFLOW_TRACKING_URI"
DEFAULTS = {
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": "0",
}
"""Set where the user has not set them."""
LOCK_SECONDS = 120.0
SILENT_SECONDS = 3.0
"""Whoever waits longer for another process is told so."""
TRIES = 3
"""Another machine may be creating the tables of a shared database."""
LONGEST_REASON = 300
IN_REPOSITORY = "export MLFLOW_TRACKING_URI=sqlite:///mlflow.db"
ELSEWHERE = "export MLFLOW_TRACKING_URI=sqlite:///$HOME/mlflow.db"
"""A place that one may write to; the path is absolute, so there are four slashes in all."""
REBUILD = "rm -r mlflow.db mlruns; textmill publish   (today's models come back, older ones do not)"
_SERVERS = ("http://", "https://", "databricks")
_IN_MEMORY = re.compile(r"sqlite(\+\w+)?:(//|///)?(:memory:.*|\?.*|file::memory:.*)?$")
_CREDENTIALS = re.compile(r"//[^/@]*@")
_REASONS = (
    (re.compile(r"No module named '(\w+)'"), r"its driver \1 is not installed here"),
    (re.compile(r"Connection refused", re.I), "connection refused"),
    (re.compile(r"timed out|Timeout", re.I), "no answer in time"),
    (re.compile(r"NameResolution|Name or service not known|getaddrinfo", re.I), "unknown host"),
    (re.compile(r"Connection (aborted|reset)|RemoteDisconnected", re.I), "it broke off"),
    (re.compile(r"database is locked", re.I), "another process holds the database"),
    (
        re.compile(r"out-of-date database schema \(found version (\w+), but expected (\w+)\)"),
        r"its tables are those of another version of MLflow (\1, where this one has \2)",
    ),
    (re.compile(r"filesystem tracking backend"), "that is a folder, and it wants a database"),
    (re.compile(r"Could not parse SQLAlchemy URL"), "that is no address of a database"),
    (re.compile(r"Can't load plugin: sqlalchemy.dialects:(\S+)"), r"it knows no database \1"),
)
_OTHER_VERSION = "out-of-date database schema"
_NO_STORE = re.compile(
    r"filesystem tracking backend|Invalid SQLite URL|Could not parse|Can't load plugin"
)
"""What comes back of an address that can be no store's."""

_HELP = (
    (re.compile(r"database is locked", re.I), "wait for it, then: textmill publish"),
    (re.compile(r"is full|No space", re.I), "make room there, then: textmill publish"),
    (
        re.compile(r"readonly|read-only|unable to open|permission|not permitted", re.I),
        f"give write access there, or: {ELSEWHERE}",
    ),
)
"""What helps a database file, by what came back."""

_log = logging.getLogger(__name__)


class StoreError(UserError):
    """The store did not do what was asked: says which one, what came back, and what then."""


@dataclass(frozen=True, slots=True)
class Store:
    """An open store.

    artifacts: where a new experiment keeps its files; None: the server's way. own: it is the
    repository's own, which nobody else has a say in.
    """

    uri: str
    client: "MlflowClient"
    artifacts: str | None
    own: bool


def store_uri(root: Path = Path()) -> str:
    """The user's `MLFLOW_TRACKING_URI`, else SQLite in the repository; a file path is absolute.

    Raises StoreError for a database in memory.
    """
    given = os.environ.get(ADDRESS, "").strip()
    if not given:
        return own_uri(root)
    try:
        urlsplit(given)
    except ValueError as error:
        raise StoreError(
            f"it is no address ({error})",
            where=f"MLFLOW_TRACKING_URI={shown(given)}",
            next_step="unset MLFLOW_TRACKING_URI, or name a server: http://127.0.0.1:5000",
        ) from None
    if _IN_MEMORY.match(given):
        raise StoreError(
            "a database in memory is gone when the command ends",
            where=f"MLFLOW_TRACKING_URI={given}",
            next_step="unset MLFLOW_TRACKING_URI, or name a file: sqlite:///mlflow.db",
        )
    if (path := _sqlite_path(given)) is not None:
        options = "".join(given.partition("?")[1:])
        return f"sqlite:///{_repository(root) / path}{options}"
    return given


def own_uri(root: Path = Path()) -> str:
    """The store in the repository."""
    return f"sqlite:///{_repository(root) / 'mlflow.db'}"


def exists(uri: str) -> bool:
    """False for an SQLite file that is not there yet; of other stores it is not known."""
    path = _sqlite_path(uri)
    return path is None or path.exists()


def shown(uri: str) -> str:
    """The address without a user's password."""
    return _CREDENTIALS.sub("//", uri)


def artifact_folder(uri: str, root: Path = Path()) -> str | None:
    """Where runs keep small files; None for a server, which decides itself."""
    if uri.startswith(_SERVERS):
        return None
    return str(_home(uri, root) / "mlruns")


@contextmanager
def opened(root: Path = Path()) -> Iterator[Store]:
    """The store, this process alone in it where it is a database. Raises StoreError."""
    uri = store_uri(root)
    with _writing(uri, root), answering(uri, own=uri == own_uri(root)), _alone(uri, root):
        yield open_store(uri, root)


@contextmanager
def _writing(uri: str, root: Path) -> Iterator[None]:
    """What the system refuses of a run's files, as a StoreError: not of the repository's own."""
    artifacts = artifact_folder(uri, root)
    try:
        yield
    except OSError as error:
        where = Path(error.filename or artifacts or "")
        if error.errno not in OUTSIDE or artifacts is None or not where.is_relative_to(artifacts):
            raise
        raise StoreError(
            error.strerror or str(error),
            where=str(where),
            next_step="make room or give access there, then: textmill publish",
        ) from error


def open_store(uri: str, root: Path = Path()) -> Store:
    """The store without its lock, for one that is known to exist."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    for name in ("mlflow", "alembic", "urllib3"):  # what fails is raised; their tracebacks say less
        logging.getLogger(name).setLevel(logging.CRITICAL)
    from mlflow import set_tracking_uri  # noqa: PLC0415
    from mlflow.tracking import MlflowClient  # noqa: PLC0415

    artifacts = artifact_folder(uri, root)
    if artifacts is not None and "://" in uri and not uri.startswith("file:"):
        try:
            make_ready(uri, _sqlite_path(uri), artifacts, own=uri == own_uri(root))
        except OSError as error:
            raise _unusable(uri, error) from error
    given = os.environ.get(ADDRESS)
    set_tracking_uri(uri)  # it also writes the variable, which is the user's alone
    if given is None:
        os.environ.pop(ADDRESS, None)
    else:
        os.environ[ADDRESS] = given
    for left in reversed(range(TRIES)):
        try:
            return Store(uri, MlflowClient(uri, uri), artifacts, own=uri == own_uri(root))
        except Exception:
            if not left or not uri.startswith(("postgresql", "mysql", "mssql")):
                raise
            time.sleep(1.0)
    raise AssertionError("the last try returns or raises")


@contextmanager
def answering(uri: str, *, own: bool = False) -> Iterator[None]:
    """What the store refuses, or that it is not there, as one StoreError.

    own: it is the repository's own, which can be built again.
    """
    from mlflow.exceptions import MlflowException  # noqa: PLC0415
    from requests import RequestException  # noqa: PLC0415
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    try:
        yield
    except (MlflowException, RequestException, SQLAlchemyError, ImportError) as error:
        raise StoreError(
            f"MLflow's store: {in_words(str(error))}",
            where=shown(uri),
            next_step=_what_helps(uri, str(error), own=own),
        ) from error


def _what_helps(uri: str, text: str, *, own: bool) -> str:
    if _sqlite_path(uri) is not None:
        for pattern, words in _HELP:
            if pattern.search(text):
                return words
    if _OTHER_VERSION in text:
        upgrade = f"mlflow db upgrade '{shown(uri)}'   (an older one's; copy it first)"
        return f"{upgrade}, or install the newer MLflow that made it" + (
            f"\n  -> or {REBUILD}" if own else ""
        )
    if _NO_STORE.search(text):
        return f"{IN_REPOSITORY}   (or a server: http://127.0.0.1:5000)"
    if own:
        return REBUILD
    return "see to it that it runs and MLFLOW_TRACKING_URI is right, then: textmill publish"


def _unusable(uri: str, error: OSError) -> StoreError:
    """A file or folder where the store wants another, or none that may be written."""
    path = error.filename or _sqlite_path(uri) or ""
    in_the_way = isinstance(error, IsADirectoryError | NotADirectoryError | FileExistsError)
    return StoreError(
        error.strerror or str(error),
        where=str(path),
        next_step=f"move {path} away, then: textmill publish"
        if in_the_way
        else f"give write access there, or: {ELSEWHERE}",
    )


def in_words(text: str) -> str:
    """The telling part of what came back."""
    for pattern, words in _REASONS:
        if found := pattern.search(text):
            return found.expand(words)
    first = next((line for line in text.splitlines() if line.strip()), "it gave no reason")
    return shown(first)[:LONGEST_REASON]


@contextmanager
def _alone(uri: str, root: Path) -> Iterator[None]:
    """Hold the lock of a database: that of the folder it lies in, which leaves no file behind."""
    if uri.startswith(_SERVERS):
        yield
        return
    folder = _home(uri, root)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise _unusable(uri, error) from error
    try:
        _wait_for(descriptor, uri)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, uri: str) -> None:
    begun, told = time.monotonic(), False
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waited = time.monotonic() - begun
            if waited > LOCK_SECONDS:
                raise StoreError(
                    f"another process has been using it for {LOCK_SECONDS:.0f} s",
                    where=shown(uri),
                    next_step="wait for it, then: textmill publish",
                ) from None
            if waited > SILENT_SECONDS and not told:
                told = True
                _log.warning("textmill: waiting for another process that uses %s", shown(uri))
            time.sleep(0.1)


def _home(uri: str, root: Path) -> Path:
    """The folder of an SQLite file; of any other database, the repository."""
    path = _sqlite_path(uri)
    return path.parent.resolve() if path else _repository(root)


def _repository(root: Path) -> Path:
    """A DVC experiment runs in a folder that is deleted afterwards; DVC names the repository."""
    return Path(os.environ.get("DVC_ROOT") or root).resolve()


def _sqlite_path(uri: str) -> Path | None:
    """The file of an SQLite address, without its options; None where it is of another kind."""
    prefix = "sqlite:///"
    if not uri.startswith(prefix) or uri.startswith(f"{prefix}file:"):
        return None
    return Path(uri.removeprefix(prefix).partition("?")[0])
