"""dvc.lock as records: what every stage read and wrote when it last ran, with its hashes.

DVC rewrites the file in place while stages run, so a reader may meet half of it: reading is tried
again before half a file is called damaged.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.repository import layout
from textmill.repository.stages import Stage, declared_params, read_stages, read_yaml

LOCK = Path("dvc.lock")
TRIES = 5
PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A file or folder as DVC recorded it; a folder's md5 ends in `.dir`."""

    path: str
    md5: str
    size: int


@dataclass(frozen=True, slots=True)
class LockedStage:
    """A stage's last run. params: dotted name -> value in params.yaml."""

    name: str
    command: str
    params: Mapping[str, Any]
    deps: Mapping[str, LockedFile]
    outs: Mapping[str, LockedFile]


def read_lock(root: Path = Path()) -> dict[str, LockedStage]:
    """Every stage that has run, by name; none where there is no dvc.lock yet.

    Raises UserError where it is not whole, naming what is wrong.
    """
    path = root / LOCK
    if not path.exists():
        return {}
    for left in reversed(range(TRIES)):
        try:
            return _stages(read_yaml(path))
        except UserError as error:
            if not left:
                raise UserError(
                    f"it is not a whole lock file ({error.what})",
                    where=str(path),
                    next_step=f"git checkout {LOCK}, then: dvc repro",
                ) from None
            time.sleep(PAUSE)
    raise AssertionError("the last try returns or raises")


def last_runs(root: Path = Path()) -> dict[str, LockedStage]:
    """The last run of every stage that dvc.yaml declares with today's params.yaml.

    dvc.lock keeps those of models that left, and what they wrote may be another stage's by now: a
    name that moved from one group of models to another has two stages with one output.
    """
    declared = {stage.name for stage in read_stages(root)}
    return {name: stage for name, stage in read_lock(root).items() if name in declared}


def stale(stages: list[Stage], locked: Mapping[str, LockedStage], root: Path = Path()) -> list[str]:
    """Names of stages whose last run is not of today's command, parameters or inputs.

    Only records are compared, nothing is hashed: a change of code or of a file by hand is seen by
    `dvc status`, not here.
    """
    written = {path: file.md5 for one in locked.values() for path, file in one.outs.items()}
    return [
        stage.name
        for stage in stages
        if stage.name not in locked or _differs(stage, locked[stage.name], written, root)
    ]


def _differs(stage: Stage, last: LockedStage, written: Mapping[str, str], root: Path) -> bool:
    if stage.command != last.command or set(stage.deps) != set(last.deps):
        return True
    if _flat(declared_params(stage, root), stage.params) != dict(last.params):
        return True
    return any(written.get(path, file.md5) != file.md5 for path, file in last.deps.items())


def _flat(nested: Mapping[str, Any], paths: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in paths:
        value: Any = nested
        for part in path.split("."):
            value = value[part]
        found[path] = value
    return found


def _stages(content: Mapping[str, Any]) -> dict[str, LockedStage]:
    stages = content.get("stages")
    if not isinstance(stages, Mapping):
        raise UserError("it has no stages")
    return {name: _stage(name, entry) for name, entry in stages.items()}


def _stage(name: str, entry: Any) -> LockedStage:
    if not isinstance(entry, Mapping) or "cmd" not in entry:
        raise UserError(f"stage {name} has no cmd")
    by_file = entry.get("params") or {}
    params = by_file.get(str(layout.PARAMS), {}) if isinstance(by_file, Mapping) else None
    if not isinstance(params, Mapping):
        raise UserError(f"params of stage {name} are no names with values")
    return LockedStage(
        name=name,
        command=str(entry["cmd"]),
        params=params,
        deps=_files(name, entry.get("deps")),
        outs=_files(name, entry.get("outs")),
    )


def _files(stage: str, entries: Any) -> dict[str, LockedFile]:
    found = {}
    for one in entries or [] if isinstance(entries, list | None) else [entries]:
        file = one if isinstance(one, Mapping) else {}
        for name, kind in (("path", str), ("md5", str), ("size", int)):
            if not isinstance(file.get(name), kind):
                raise UserError(f"{name} of a file of stage {stage} is {file.get(name)!r}")
        found[file["path"]] = LockedFile(file["path"], file["md5"], file["size"])
    return found
