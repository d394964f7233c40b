"""Bring one file from one source into a scratch folder, or say what came back.

Sources are `https://` and `http://`, `pypi:NAME==VERSION` (a wheel, through `pip download`, so that
the user's own index settings hold; nothing is installed), `file:` or a plain path, and any other
address that fsspec knows. Nothing here trusts what arrives: the caller checks the hash before the
file gets its name.
"""

import logging
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from textmill.text.partial import Asked, Partial, SourceError
from textmill.text.places import from_path
from textmill.text.remote import from_remote
from textmill.text.web import from_web

_log = logging.getLogger(__name__)
_WORTH = 1 << 20
"""Bytes; a try that brought so many more than any before it is none of the failed ones."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds without an answer, and the pauses before each further try of one mirror.

    longest: seconds that a server may ask for (Retry-After) before the next mirror is tried.
    """

    seconds: float = 30.0
    pauses: tuple[float, ...] = (1.0, 4.0)
    longest: float = 60.0


@dataclass(frozen=True, slots=True)
class Arrived:
    """A file in the scratch folder; `whole` unless it is the rest of an earlier download."""

    path: Path
    whole: bool = True


def bring(source: str, folder: Path, patience: Patience, asked: Asked) -> Arrived:
    """The file that `source` holds, brought into `folder`. Raises SourceError.

    What an earlier run left in `folder` is gone on with where the source allows; what this one
    leaves after a failure is there only if a later one can go on with it.
    """
    partial = Partial(folder)
    try:
        if source.startswith("pypi:"):
            partial.start(source, "", None)
            return Arrived(_from_index(source.removeprefix("pypi:"), folder))
        return Arrived(partial.body, _with_tries(source, partial, asked, patience))
    except SourceError as failure:
        if partial.stand():
            kept = f"{failure}; what came is kept, and dvc repro goes on from there"
            raise SourceError(kept) from None
        partial.drop()
        raise


def _with_tries(source: str, partial: Partial, asked: Asked, patience: Patience) -> bool:
    tries, failed, furthest = 0, 0, partial.done
    while True:
        try:
            return _once(source, partial, asked, patience)
        except SourceError as failure:
            tries += 1
            if partial.done >= furthest + _WORTH:
                failed, furthest = 0, partial.done
            in_words = f"{failure} ({tries} tries)" if tries > 1 else str(failure)
            if not failure.again or failed == len(patience.pauses):
                raise SourceError(in_words) from None
            if failure.wait > patience.longest:
                asks = f"{in_words}; it asks to wait for {failure.wait:,.0f} s"
                raise SourceError(asks) from None
            pause = max(patience.pauses[failed], failure.wait)
            failed += 1
            _log.info("%s: %s; trying again in %g s", source, failure, pause)
            time.sleep(pause)


def _once(source: str, partial: Partial, asked: Asked, patience: Patience) -> bool:
    """Whether the file came in one piece."""
    if source.startswith(("https://", "http://")):
        return from_web(source, partial, asked, patience.seconds)
    if "://" in source and not source.startswith("file:"):
        return from_remote(source, partial, asked)
    from_path(source, partial, asked)
    return True


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
