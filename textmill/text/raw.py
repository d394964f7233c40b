"""The raw folder: the files of a corpus as they came, and `source.json` beside them.

`source.json` holds what was asked, the licence, and the bytes and sha256 of every file. It says
neither which mirror answered nor when, so that one pin gives one folder, byte for byte.
"""

import os
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from textmill.base.errors import UserError
from textmill.base.files import read_record, sha256_of, write_json
from textmill.text import archive, local
from textmill.text.catalogue import Corpus
from textmill.text.fetch import fetch
from textmill.text.mirrors import Patience

_FILES = "files"
_SOURCE = "source.json"


def store(
    name: str, corpus: Corpus, downloads: Path, folder: Path, patience: Patience | None = None
) -> None:
    """Put the files of a corpus and its `source.json` into `folder`. Raises UserError."""
    files = folder / _FILES
    files.mkdir(parents=True)
    kept: Path | None = None
    if corpus.is_local:
        for file in local.gather(name, corpus):
            _copy(file.path, files / file.name)
    else:
        kept = fetch(name, corpus, downloads, patience)
        if corpus.is_archive:
            _unpack(corpus, kept, files)
        else:
            _copy(kept, files / kept.name)
    write_json(folder / _SOURCE, _source(name, corpus, kept, files))


def read(folder: Path) -> dict[str, bytes]:
    """The files' bytes by name, sorted by name. A missing one is a UserError."""
    source = read_record(folder / _SOURCE, "files")
    names = sorted(entry["name"] for entry in source["files"])
    try:
        return {name: (folder / _FILES / name).read_bytes() for name in names}
    except OSError as error:
        raise UserError(
            f"cannot read {error.filename} ({error.strerror})", next_step="dvc repro"
        ) from None


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def _unpack(corpus: Corpus, kept: Path, files: Path) -> None:
    """Write the wanted members under their names relative to the folder they share."""
    with archive.opened(kept) as opened:
        names = sorted(corpus.members) or archive.matching(opened, corpus.take)
        shared = os.path.commonpath([PurePosixPath(name).parent for name in names])
        for name in names:
            target = files / PurePosixPath(name).relative_to(shared)
            target.parent.mkdir(parents=True, exist_ok=True)
            with opened.open(name) as member, target.open("wb") as file:
                shutil.copyfileobj(member, file)


def _source(name: str, corpus: Corpus, kept: Path | None, files: Path) -> dict[str, Any]:
    asked = {
        "sources": list(corpus.sources),
        "sha256": corpus.sha256,
        "sha1": corpus.sha1,
        "take": list(corpus.take),
        "members": dict(corpus.members),
        "path": corpus.path,
        "digest": corpus.digest,
    }
    return {
        "corpus": name,
        "title": corpus.title,
        "licence": corpus.licence,
        "asked": {key: value for key, value in asked.items() if value},
        "download": _download(corpus, kept) if kept else None,
        "files": [
            {"name": path.relative_to(files).as_posix()} | _bytes_and_hash(path)
            for path in sorted(files.rglob("*"))
            if path.is_file()
        ],
    }


def _download(corpus: Corpus, kept: Path) -> dict[str, Any]:
    """An archive pinned by its members is left without its own hash: mirrors pack differently."""
    return {"name": kept.name} | ({} if corpus.members else _bytes_and_hash(kept))


def _bytes_and_hash(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
