"""Files that are whole or absent: everything is written beside its place and renamed into it.

A stage may be killed at any moment. A reader must never find half a file, so every write here
goes to a temporary name in the same folder, is flushed to disk and then renamed. Tables are
Arrow IPC files: unlike Parquet they do not carry the writer's version, so the same rows give
the same bytes, and they can be memory-mapped without a copy.
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from textmill.base.errors import UserError

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What the system says of a full disk names the file: where a write fails, it does not."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success it is flushed and renamed to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    try:
        with naming(path):
            yield temporary
            _flush(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a fresh temporary folder; on success it takes the place of `path` by rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _beside(path)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        with naming(path):
            yield temporary
            for file in temporary.rglob("*"):
                if file.is_file():
                    _flush(file)
        if path.exists():
            shutil.rmtree(path)
        temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _beside(path: Path) -> Path:
    """One temporary name for each path, so that the next start clears what a killed one left."""
    return path.with_name(f".{path.name}.part")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write `data` (text as UTF-8, line ends as they are) so that `path` is whole or untouched."""
    with replacing(path) as temporary:
        temporary.write_bytes(data.encode() if isinstance(data, str) else data)


def write_json(path: Path, content: Any) -> None:
    """Write JSON with a final line end. NaN and infinities are refused (ValueError)."""
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(path, text + "\n")


def read_json(path: Path) -> Any:
    """Read JSON; a missing or damaged file is a UserError that names it."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"there is no {path}", next_step="dvc repro") from None
    except ValueError as error:
        raise UserError(
            f"{path} is not whole JSON ({error})", next_step=f"delete {path}, then: dvc repro"
        ) from None


def read_record(path: Path, *needed: str) -> dict[str, Any]:
    """Read a JSON mapping that holds the `needed` names; anything else is a UserError."""
    content = read_json(path)
    missing = [name for name in needed if not isinstance(content, dict) or name not in content]
    if missing or not isinstance(content, dict):
        raise UserError(
            f"{path} is not the record that this version writes (no {', '.join(missing)} in it)",
            next_step=f"delete {path.parent}, then: dvc repro",
        )
    return content


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON mapping and beside its names `checksum`, which `read_sealed` looks at."""
    write_json(path, content | {"checksum": seal_of(content)})


def read_sealed(path: Path, *needed: str) -> dict[str, Any]:
    """Read what `write_sealed` wrote. UserError where it is not as it was written."""
    content = read_record(path, *needed)
    if content.pop("checksum", None) != seal_of(content):
        raise UserError(
            f"{path} is not as it was written",
            next_step=f"delete {path.parent}, then: dvc repro",
        )
    return content


def seal_of(content: dict[str, Any]) -> str:
    """sha256 of a mapping as JSON, whatever the order of its names."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow IPC file as one record batch: equal tables, equal bytes, no copy to read."""
    with (
        replacing(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table.combine_chunks(), max_chunksize=max(len(table), 1))


def read_table(path: Path) -> pa.Table:
    """Memory-map an Arrow IPC file. A missing or damaged one is a UserError that names it."""
    try:
        return pa.ipc.open_file(pa.memory_map(str(path), "r")).read_all()
    except FileNotFoundError:
        raise UserError(f"there is no {path}", next_step="dvc repro") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(
            f"{path} is not a whole Arrow file ({error})",
            next_step=f"delete {path}, then: dvc repro",
        ) from None


def sha256_of(path: Path) -> str:
    """sha256 of a file's bytes, as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
