"""The raw folder: the files of a corpus as they came, and `source.json` beside them.

`source.json` holds what was asked, the licence, and the bytes and sha256 of every file. It says
neither which mirror answered nor when, so that one pin gives one folder, byte for byte.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.base.files import read_record, sha256_of, write_json
from textmill.text import archive, local, packing
from textmill.text.catalogue import Corpus
from textmill.text.fetch import fetch
from textmill.text.mirrors import Patience
from textmill.text.names import ArchiveError
from textmill.text.unpack import unpack

_FILES = "files"
_SOURCE = "source.json"


def store(
    name: str, corpus: Corpus, downloads: Path, folder: Path, patience: Patience | None = None
) -> None:
    """Put the files of a corpus and its `source.json` into `folder`. Raises UserError."""
    files = folder / _FILES
    kept: Path | None = None
    packed: dict[str, local.LocalFile] = {}
    if corpus.is_local:
        for file in local.gather(name, corpus):
            taken = _take_own(name, corpus, file, files)
            if taken != file.name:
                packed[taken] = file
    else:
        kept = fetch(name, corpus, downloads, patience)
        try:
            _take(corpus, kept, files)
        except ArchiveError as error:
            raise UserError(
                f"{kept}: {error}",
                where=f"corpus {name}",
                next_step=f"correct its entry in params.yaml, or delete {kept}; then: dvc repro",
            ) from None
    write_json(folder / _SOURCE, _source(name, corpus, kept, files, packed))


def files_of(folder: Path) -> dict[str, Path]:
    """Where the files lie, by name. A missing one is a UserError."""
    source = read_record(folder / _SOURCE, "files")
    files = {entry["name"]: folder / _FILES / entry["name"] for entry in source["files"]}
    for path in files.values():
        if not path.is_file():
            raise UserError(f"there is no {path}", next_step="dvc repro")
    return files


def is_download(source: Mapping[str, Any]) -> bool:
    """Whether a `source.json` has one file, which is the download and not what came out of it."""
    name = source["files"][0]["name"]
    download = source.get("download") or {"name": name}
    if len(source["files"]) > 1 or name != download["name"] or packing.by_name(name):
        return False
    return not packing.says_nothing(name) or source["files"][0]["sha256"] == download.get("sha256")


def _take_own(name: str, corpus: Corpus, file: local.LocalFile, files: Path) -> str:
    """Take a file of one's own; the name under which it lies in `files`.

    One of rows is unpacked where its name says that it is compressed.
    """
    packed = packing.by_name(file.name) if corpus.documents == "row" else None
    if packed is None or packed.container:
        _copy(file.path, files / file.name)
        return file.name
    target = files / packed.stem
    if target.exists():
        raise UserError(
            f"{file.name} and another file both hold {packed.stem}",
            where=f"corpus {name}",
            next_step=f"remove one of them, then: {local.pin_command(str(corpus.path))}",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as unpacked:
            for member in archive.members(file.path, packed, corpus.unpack_limit):
                unpacked.writelines(member.chunks)
    except ArchiveError as error:
        where = f"corpus {name}"
        raise UserError(f"{file.path}: {error}", where=where, next_step="unpack it") from None
    return packed.stem


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def _take(corpus: Corpus, kept: Path, files: Path) -> None:
    packed = archive.packing_of(kept, corpus.filename, has_members=corpus.has_members)
    if packed is None:
        _copy(kept, files / kept.name)
    else:
        unpack(kept, packed, corpus, files)


def _source(
    name: str,
    corpus: Corpus,
    kept: Path | None,
    files: Path,
    packed: Mapping[str, local.LocalFile],
) -> dict[str, Any]:
    """packed: what files of one's own were unpacked from, which is what their pin covers."""
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
            _file(path, path.relative_to(files).as_posix(), packed)
            for path in sorted(files.rglob("*"))
            if path.is_file()
        ],
    }


def _file(path: Path, name: str, packed: Mapping[str, local.LocalFile]) -> dict[str, Any]:
    entry = {"name": name} | _bytes_and_hash(path)
    if name not in packed:
        return entry
    return entry | {"packed": {"name": packed[name].name} | _bytes_and_hash(packed[name].path)}


def _download(corpus: Corpus, kept: Path) -> dict[str, Any]:
    """An archive pinned by its members is left without its own hash: mirrors pack differently."""
    return {"name": kept.name} | ({} if corpus.members else _bytes_and_hash(kept))


def _bytes_and_hash(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
