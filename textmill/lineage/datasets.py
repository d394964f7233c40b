"""The cleaned text as datasets: what each split is, its hash, and where it came from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.base.files import read_record
from textmill.lineage.chain import source
from textmill.lineage.hashes import md5_of
from textmill.repository import layout

CONTEXTS = {"train": "training", "valid": "validation", "test": "test"}
FILES_NAMED = 20
"""So many raw files are named with their hashes; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One split. source: path, DVC's md5 and where the text came from; profile: its sizes."""

    name: str
    context: str
    md5: str
    source: Mapping[str, Any]
    profile: Mapping[str, Any]


def datasets(root: Path = Path()) -> tuple[Dataset, ...]:
    """The three splits of the cleaned text. Raises UserError where one is not there."""
    cleaned = read_record(root / layout.CLEAN_SUMMARY, "sha256", "documents", "lines", "bytes")
    for name in ("sha256", "documents", "lines", "bytes"):
        if not isinstance(cleaned[name], dict) or not cleaned[name].keys() >= CONTEXTS.keys():
            raise UserError(
                f"{name} is not known of every split",
                where=str(root / layout.CLEAN_SUMMARY),
                next_step=f"rm -r {layout.CLEAN}; dvc checkout {layout.CLEAN}",
            )
    origin = _origin(source(root))
    return tuple(_dataset(split, cleaned, origin, root) for split in CONTEXTS)


def _dataset(
    split: str, cleaned: Mapping[str, Any], origin: Mapping[str, Any], root: Path
) -> Dataset:
    path = layout.clean_split(split)
    if not (root / path).is_file():
        raise UserError(f"there is no {path}", next_step="dvc pull, or: dvc repro")
    md5 = md5_of(root / path)
    return Dataset(
        name=f"{origin['corpus']}.{split}",
        context=CONTEXTS[split],
        md5=md5,
        source={
            "path": path.as_posix(),
            "md5": md5,
            "text_sha256": cleaned["sha256"][split],
            **origin,
        },
        profile={name: cleaned[name][split] for name in ("documents", "lines", "bytes")},
    )


def _origin(found: Mapping[str, Any]) -> dict[str, Any]:
    """Addresses, hashes and licence of the raw text."""
    download = found.get("download") or {}
    files = [download] if download.get("sha256") else found["files"]
    asked = found["asked"]
    return {
        "corpus": found["corpus"],
        "title": found.get("title", ""),
        "licence": found["licence"],
        "urls": list(asked.get("sources", ())) or [asked.get("path", "")],
        "files": [{"name": file["name"], "sha256": file["sha256"]} for file in files[:FILES_NAMED]],
        "more_files": max(0, len(files) - FILES_NAMED),
    }
