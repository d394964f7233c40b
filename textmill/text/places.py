"""Sources on this machine: `file:PATH` or a plain path, which counts from the working folder.

A folder stands for the file in it that has the corpus's `filename`: a mounted disk that mirrors
several corpora is named once. A pattern stands for the one file that fits it, for a folder whose
name holds a date. A source of several files would not be a mirror: those are a text of one's own.
"""

import glob
import re
import urllib.parse
from pathlib import Path

from textmill.text.partial import Asked, Partial, SourceError

_THIS_MACHINE = re.compile(r"^//(?:localhost(?=/))?", re.IGNORECASE)
"""What may stand before the path of an address (RFC 8089)."""


def from_path(source: str, partial: Partial, asked: Asked) -> None:
    """Copy the file that the source means. Raises SourceError."""
    if source.startswith("file:"):
        source = _THIS_MACHINE.sub("", source.removeprefix("file:"))
        source = urllib.parse.unquote(source)
    try:
        path = _meant(source, asked.filename)
        size = path.stat().st_size
        stream = path.open("rb")
    except OSError as error:
        raise SourceError(error.strerror or str(error)) from None
    except (RuntimeError, ValueError) as error:  # no such ~user; a zero byte in the name
        raise SourceError(str(error)) from None

    def read(n: int) -> bytes:
        try:
            return stream.read(n)
        except OSError as error:
            raise SourceError(error.strerror or str(error)) from None

    with stream:
        partial.start(source, "", size)
        partial.receive(read, asked, size)


def _meant(source: str, filename: str) -> Path:
    path = Path(source).expanduser()
    if not path.exists() and glob.has_magic(source):
        # Path.glob takes no absolute pattern.
        found = glob.glob(str(path), recursive=True)  # noqa: PTH207
        path = _only(sorted(found), source)
    if path.is_dir():
        path /= filename
        if not path.exists():
            raise SourceError(f"a folder without {filename}")
    if path.exists() and not path.is_file():
        raise SourceError(f"{path} is not a file")
    return path


def _only(found: list[str], source: str) -> Path:
    if not found:
        raise SourceError("nothing fits the pattern")
    if len(found) > 1:
        raise SourceError(
            f"{len(found):,} files fit the pattern ({found[0]}, {found[1]}, ...), and a source is "
            f"one file; several are a text of one's own: textmill pin '{source}'"
        )
    return Path(found[0])
