"""A download on its way: bytes that outlive a killed run, and what must hold to go on with them.

One folder belongs to one source of one pin, so that no two corpora or mirrors mix. `from.json` is
written before the first byte and says by which mark of the source (an ETag, a time of change) the
rest is the rest of the same file. A source without such a mark gives a body that is not kept.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import read_json, write_json
from textmill.base.progress import Progress

CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Asked:
    """What every source is asked for: the name the file is kept under, bytes that it may have."""

    filename: str
    limit: int


class SourceError(Exception):
    """A source gave no file; says what came back.

    again: another try may help; wait: seconds that the source asks for before it.
    """

    def __init__(self, reason: str, *, again: bool = False, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.again = again
        self.wait = wait


@dataclass(frozen=True, slots=True)
class Stand:
    """How far a download came: bytes here, bytes in all (None: not announced), the file's mark."""

    done: int
    total: int | None
    mark: str


class Partial:
    """The folder of a download on its way."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.body = folder / "body"
        self._about = folder / "from.json"

    @property
    def done(self) -> int:
        """Bytes that are here."""
        return self.body.stat().st_size if self.body.is_file() else 0

    def stand(self) -> Stand | None:
        """Where to go on; None where there is nothing to go on with."""
        if not self.done or not self._about.is_file():
            return None
        try:
            about = read_json(self._about)
            return Stand(self.done, about["total"], about["mark"])
        except (UserError, LookupError, TypeError):
            return None

    def start(self, source: str, mark: str, total: int | None) -> None:
        """Forget what is here and begin anew; without a mark the body will not be kept."""
        self.drop()
        self.folder.mkdir(parents=True)
        if mark:
            write_json(self._about, {"source": source, "mark": mark, "total": total})

    def drop(self) -> None:
        """Forget what is here."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(
        self, read: Callable[[int], bytes], asked: Asked, total: int | None, done: int = 0
    ) -> None:
        """Append what `read` gives to the `done` bytes that are here, up to `total`.

        Raises SourceError past the limit, and when the bytes end before `total`; UserError when
        they cannot be written here, since no other mirror would help. `read` raises no OSError.
        """
        self._check_limit(total or 0, asked)
        try:
            with (
                self.body.open("ab" if done else "wb") as file,
                Progress(total, "bytes", asked.filename) as progress,
            ):
                progress.resume(done)
                while total is None or done < total:
                    chunk = read(CHUNK if total is None else min(CHUNK, total - done))
                    if not chunk:
                        break
                    done += len(chunk)
                    self._check_limit(done, asked)
                    file.write(chunk)
                    file.flush()  # a run that is killed loses none of it
                    progress.advance(len(chunk))
        except OSError as error:
            raise self._cannot_write(error) from None
        if total is not None and done != total:
            broke = f"the connection broke off after {done:,} of {total:,} bytes"
            raise SourceError(broke, again=True)

    def _check_limit(self, size: int, asked: Asked) -> None:
        if size > asked.limit:
            self.drop()
            raise SourceError(f"{size:,} bytes or more, and limit is {asked.limit:,}")

    def _cannot_write(self, error: OSError) -> UserError:
        return UserError(
            error.strerror or str(error),
            where=str(self.body),
            next_step="make room or give access there, then: dvc repro",
        )
