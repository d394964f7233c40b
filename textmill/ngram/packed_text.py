"""Text files of models and counts, as they are or compressed; the name's ending says how."""

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from textmill.base.behind import FlushedBehind, opened_behind
from textmill.base.errors import UserError
from textmill.text.compressed import BROKEN, compression_of, decompressed, is_damage


@contextmanager
def reading(path: Path) -> Iterator[TextIO]:
    """A text file in UTF-8, its line ends as they are.

    UserError where there is none, and with the line where it is damaged.
    """
    try:
        with _unpacked(path) as file:
            yield io.TextIOWrapper(file, encoding="utf-8-sig", newline="\n")
    except FileNotFoundError:
        raise UserError(f"there is no {path}", next_step="correct the path") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"it is not UTF-8 ({error.reason})",
            where=f"{path}, line {_whole_lines(path) + 1:,}",
            next_step="save it as UTF-8",
        ) from None
    except BROKEN as error:
        if not is_damage(error):
            raise
        raise UserError(
            f"it is cut off or damaged ({error})",
            where=f"{path}, line {_whole_lines(path) + 1:,}",
            next_step="copy it anew from where it was whole",
        ) from None


def _whole_lines(path: Path) -> int:
    """How many lines can be read before the first that cannot."""
    lines = 0
    with suppress(UnicodeDecodeError, *BROKEN), _unpacked(path) as file:
        for line in file:
            line.decode()
            lines += 1
    return lines


@contextmanager
def _unpacked(path: Path) -> Iterator[BinaryIO]:
    with decompressed(path, compression_of(path)) as stream:
        yield cast(BinaryIO, stream)


@contextmanager
def writing(path: Path, ending: str) -> Iterator[BinaryIO | FlushedBehind]:
    """A file of bytes, compressed where `ending` is .gz; the same bytes for the same content."""
    with opened_behind(path) as raw:
        if ending != ".gz":
            yield raw
            return
        with gzip.GzipFile("", "wb", 6, cast(BinaryIO, raw), mtime=0) as file:
            yield cast(BinaryIO, file)
