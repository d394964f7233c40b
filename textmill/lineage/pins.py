"""Whether the raw text is what params.yaml pins, and the user's own text still what was pinned."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.lineage.broken import RESTORE, Broken, Check
from textmill.lineage.chain import source
from textmill.repository import layout
from textmill.repository.stages import lookup, read_yaml
from textmill.text import local, raw
from textmill.text.names import shared_folder

FILES = layout.RAW / "files"
SOURCE = layout.RAW / "source.json"
RESTORE_RAW = RESTORE.format(layout.RAW)


def checks(root: Path) -> Iterator[Check]:
    """The record of the raw files, the pin, the text of one's own, every file; sources first."""
    yield partial(_record, root)
    yield partial(_pin, root)
    if source(root)["corpus"] != read_yaml(root / layout.PARAMS)["corpus"]:
        return
    yield partial(_own_text, root)
    for file in source(root)["files"]:
        yield partial(_raw_file, file, root)


def _record(root: Path) -> Broken | None:
    """Whether `source.json` can be read at all."""
    try:
        source(root)
    except UserError as error:
        return Broken(str(SOURCE), "a record of the raw files", error.what, RESTORE_RAW)
    return None


def _raw_file(file: Mapping[str, Any], root: Path) -> Broken | None:
    path = FILES / file["name"]
    if not (root / path).is_file():
        return Broken(str(path), f"sha256 {file['sha256']}", "nothing there", RESTORE_RAW)
    found = sha256_of(root / path)
    if found == file["sha256"]:
        return None
    return Broken(str(path), f"sha256 {file['sha256']}", f"sha256 {found}", RESTORE_RAW)


def _pin(root: Path) -> Broken | None:
    """Whether `source.json` tells of what params.yaml pins."""
    params = read_yaml(root / layout.PARAMS)
    recorded = source(root)
    if recorded["corpus"] != params["corpus"]:
        wanted = f"corpus {params['corpus']}"
        return replace(_not_pinned(wanted, f"corpus {recorded['corpus']}"), unbuilt=True)
    entry = lookup(params, f"corpora.{params['corpus']}")
    for wanted, found in _pinned(entry, recorded, root):
        if wanted != found:
            return _not_pinned(wanted, found)
    return None


def changed_text(entry: Mapping[str, Any], root: Path) -> str | None:
    """The digest of a corpus' text of one's own where it is another than was pinned, or None.

    None too where the text is not on this machine: what was read of it is in data/raw, and pinned.
    """
    if not entry.get("path"):
        return None
    try:
        path = root / local.expanded(entry["path"])
        _, found = local.digest(str(path), entry.get("documents", "file"))
    except UserError:
        return None
    return None if found == entry.get("digest", "") else found


def _own_text(root: Path) -> Broken | None:
    """Whether a text of one's own is still what was pinned, where it lies on this machine."""
    params = read_yaml(root / layout.PARAMS)
    entry = lookup(params, f"corpora.{params['corpus']}")
    found = changed_text(entry, root)
    if found is None:
        return None
    where = f"{entry['path']}, against its pin in {layout.PARAMS}"
    again = f"{local.pin_command(entry['path'])}, then: dvc repro"
    return Broken(where, f"digest {entry['digest']}", f"digest {found}", again)


def _pinned(
    entry: Mapping[str, Any], recorded: Mapping[str, Any], root: Path
) -> Iterator[tuple[str, str]]:
    """What is pinned beside what `source.json` and the raw files say."""
    files = {file["name"]: file["sha256"] for file in recorded["files"]}
    if entry.get("path"):
        own = [file.get("packed", file) for file in recorded["files"]]
        lines = sorted(f"{file['name']}\0{file['sha256']}\n" for file in own)
        found = hashlib.sha256("".join(lines).encode()).hexdigest()
        yield f"digest {entry.get('digest')}", f"digest {found}"
    if entry.get("sha256"):
        said = (recorded.get("download") or {}).get("sha256")
        yield f"sha256 {entry['sha256']}", f"sha256 {said}"
    if entry.get("sha1") and raw.is_download(recorded):
        (name,) = files
        yield f"sha1 {entry['sha1']}", f"sha1 {_sha1(root / FILES / name)}"
    members = entry.get("members") or {}
    for member, sha256 in members.items():
        name = PurePosixPath(member).relative_to(shared_folder(members)).as_posix()
        yield f"{member} sha256 {sha256}", f"{member} sha256 {files.get(name)}"


def _not_pinned(expected: str, found: str) -> Broken:
    where = f"{layout.RAW}/source.json, against the pin in {layout.PARAMS}"
    return Broken(where, expected, found, "dvc repro download")


def _sha1(path: Path) -> str:
    if not path.is_file():
        return "of nothing: the file is not there"
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.sha1(usedforsecurity=False)).hexdigest()
