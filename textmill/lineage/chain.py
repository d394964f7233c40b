"""What a model was made of, link by link, as dvc.lock has it.

The chain is the part of DVC's graph behind a model: every output that a stage behind it wrote.
It is walked, not listed, so another stage between raw text and model is another link.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError, nearest
from textmill.base.files import read_json, read_record
from textmill.lineage.lock import LOCK, LockedFile, LockedStage, last_runs
from textmill.repository import layout
from textmill.repository.fingerprints import input_fingerprint
from textmill.repository.stages import read_stage, read_stages

SCORES = "scores/"
AMOUNTS = ("seconds", "peak_memory_bytes", "peak_device_memory_bytes", "tokens_per_second")
"""What of a stage's facts is a number from 0 up."""


@dataclass(frozen=True, slots=True)
class Link:
    """An output in DVC's hands and the stage that wrote it.

    inputs: what the stage read of other stages' outputs, with the md5 it had then.
    """

    path: str
    md5: str
    size: int
    stage: str
    params: Mapping[str, Any]
    inputs: Mapping[str, str]


def model_names(root: Path = Path()) -> tuple[str, ...]:
    """Every declared model, in the order of dvc.yaml's stages."""
    outs = (out for stage in read_stages(root) for out in stage.outs)
    return tuple(out.removeprefix(SCORES) for out in outs if out.startswith(SCORES))


def check_model(name: str, root: Path = Path()) -> None:
    """UserError with the nearest name where no such model is declared."""
    known = model_names(root)
    if name not in known:
        raise UserError(
            f'there is no model "{name}"{nearest(name, known)}',
            where=str(layout.PARAMS),
            next_step=f"known: {', '.join(known) or 'none'}",
        )


def model_path(name: str, locked: Mapping[str, LockedStage]) -> str:
    """What the model is: its files, or its scores: a mixture has none, nor one that adapts."""
    outs = {path for stage in locked.values() for path in stage.outs}
    return next(
        (path for path in (str(layout.model(name)), str(layout.scores(name))) if path in outs), ""
    )


def chain(path: str, locked: Mapping[str, LockedStage]) -> tuple[Link, ...]:
    """The output at `path` and all that it was made of: every link stands before its inputs."""
    writers = {out: stage for stage in locked.values() for out in stage.outs}
    return tuple(reversed(list(_made_of(path, writers, set()))))


def model_chain(name: str, root: Path = Path()) -> tuple[Link, ...]:
    """The chain of a declared model, the model first. Raises UserError."""
    check_model(name, root)
    locked = last_runs(root)
    path = model_path(name, locked)
    if not path:
        raise UserError(f"{name} has not been made yet", where=str(LOCK), next_step="dvc repro")
    return chain(path, locked)


def known_facts(link: Link, root: Path = Path()) -> dict[str, Any]:
    """What this machine recorded when it ran the stage with today's inputs; else nothing."""
    try:
        fingerprint = input_fingerprint(read_stage(link.stage, root=root), root)
    except UserError:  # not declared any more, or its inputs are not here
        return {}
    return recorded(fingerprint, root)


def recorded(fingerprint: str, root: Path = Path()) -> dict[str, Any]:
    """The facts of this fingerprint. UserError where the file holds something else."""
    path = root / layout.FACTS / f"{fingerprint}.json"
    if not path.exists():
        return {}
    known = read_json(path)
    wrong = "it is no record" if not isinstance(known, dict) else _wrong_fact(known)
    if wrong:
        raise UserError(wrong, where=str(path), next_step=f"rm {path}   (only costs are lost)")
    return dict(known)


def _wrong_fact(known: Mapping[str, Any]) -> str:
    for name in AMOUNTS:
        value = known.get(name)
        if value is not None and not _is_amount(value):
            return f"{name} is no amount: {value!r}"
    if not isinstance(known.get("versions", {}), dict):
        return f"versions are no mapping: {known['versions']!r}"
    if not isinstance(known.get("commit", ""), str):
        return f"commit is no text: {known['commit']!r}"
    return ""


def _is_amount(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
        and value >= 0
    )


def source(root: Path = Path()) -> dict[str, Any]:
    """What stage download recorded: addresses, files with sha256, licence."""
    path = root / layout.RAW / "source.json"
    found = read_record(path, "corpus", "title", "licence", "asked", "files")
    if wrong := _wrong_source(found):
        raise UserError(
            wrong, where=str(path), next_step=f"rm -r {layout.RAW}; dvc checkout {layout.RAW}"
        )
    return found


def _wrong_source(found: Mapping[str, Any]) -> str:
    for name in ("corpus", "title", "licence"):
        if not isinstance(found[name], str):
            return f"{name} is no text: {found[name]!r}"
    asked, files, download = found["asked"], found["files"], found.get("download")
    sources = asked.get("sources", []) if isinstance(asked, dict) else None
    if not isinstance(sources, list) or not all(isinstance(one, str) for one in sources):
        return f"asked does not say where the text came from: {asked!r}"
    if not isinstance(files, list) or not all(map(_is_file, files)):
        return "files are not a list of names with sha256"
    if download and not (isinstance(download, dict) and isinstance(download.get("name"), str)):
        return f"download is no file: {download!r}"
    return ""


def _is_file(found: Any) -> bool:
    return (
        isinstance(found, dict)
        and all(isinstance(found.get(name), str) for name in ("name", "sha256"))
        and ("packed" not in found or _is_file(found["packed"]))
    )


def _made_of(path: str, writers: Mapping[str, LockedStage], seen: set[str]) -> Iterator[Link]:
    """Depth first, inputs before what was made of them."""
    seen.add(path)
    stage = writers[path]
    inputs = {dep: file.md5 for dep, file in stage.deps.items() if dep in writers}
    # The nearest input last, so that it comes right behind its output once the list is turned.
    for dep in sorted(inputs):
        if dep not in seen:
            yield from _made_of(dep, writers, seen)
    yield _link(stage.outs[path], stage, inputs)


def _link(file: LockedFile, stage: LockedStage, inputs: Mapping[str, str]) -> Link:
    return Link(file.path, file.md5, file.size, stage.name, stage.params, inputs)
