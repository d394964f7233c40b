"""What a stage declares in dvc.yaml: its parameters, dependencies and outputs, filled in.

The graph is written once, in dvc.yaml. Everything that needs to know what a stage reads (its
parameters, its input fingerprint, the tests) asks here, so an undeclared parameter cannot be read.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from textmill.base.errors import UserError, nearest
from textmill.repository import layout

_SECTIONS = ("params", "deps", "outs", "metrics", "plots")
_PLACEHOLDER = re.compile(r"\$\{([^}]+)\}")


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage with its placeholders filled in. name: `shard@word`, say."""

    name: str
    command: str
    params: tuple[str, ...]
    deps: tuple[str, ...]
    outs: tuple[str, ...]


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML mapping; UserError with line and column where it is not one."""
    try:
        content = copy.deepcopy(_parsed(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UserError(
            f"there is no {path} in {Path.cwd()}", next_step="go to the root of the repository"
        ) from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8: {error}", next_step="save it as UTF-8") from None
    except (YAMLError, ValueError) as error:
        what = f"it is not valid YAML: {_problem(error)}"
        raise UserError(what, where=str(path), next_step=f"correct {path} there") from None
    except RecursionError:
        what = "it is nested too deeply, or in itself by an anchor"
        raise UserError(what, where=str(path), next_step="write out what it means") from None
    if not isinstance(content, dict):
        raise UserError(
            "it must hold a mapping of names to values",
            where=str(path),
            next_step=f"git checkout {path}   (puts the last committed one back)",
        )
    return content


def _problem(error: Exception) -> str:
    """Line, column and what is wrong there."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return str(error).partition("\n")[0]
    mark = error.problem_mark
    what = ", ".join(text for text in (error.context, error.problem) if text)
    return f"line {mark.line + 1}, column {mark.column + 1}: {what}"


@lru_cache(maxsize=8)
def _parsed(text: str) -> Any:
    """Parsing is slow, and whoever asks about every stage asks for the same file each time."""
    return YAML(typ="safe").load(text)


def read_stages(root: Path = Path()) -> Iterator[Stage]:
    """Every stage of dvc.yaml, one for each entry of a `foreach` group."""
    graph, params = _graph(root), read_yaml(root / layout.PARAMS)
    for name, entry in graph.items():
        if "foreach" not in entry:
            yield _stage(name, entry, params)
            continue
        group = str(entry["foreach"]).removeprefix("${").removesuffix("}")
        for key, item in (params.get(group) or {}).items():
            yield _stage(f"{name}@{key}", entry["do"], {**params, "key": key, "item": item})


def read_stage(stage: str, key: str | None = None, *, root: Path = Path()) -> Stage:
    """One stage; UserError with the nearest entry where `key` is not in its group."""
    stages = {found.name: found for found in read_stages(root)}
    name = stage if key is None else f"{stage}@{key}"
    if name not in stages:
        hint = nearest(name, stages)
        raise UserError(f"there is no stage {name}{hint}", next_step="dvc stage list")
    return stages[name]


def declared_params(stage: Stage, root: Path = Path()) -> dict[str, Any]:
    """The nested part of params.yaml that the stage declares, and nothing else."""
    params, declared = read_yaml(root / layout.PARAMS), dict[str, Any]()
    for path in stage.params:
        *parents, last = path.split(".")
        target = reduce(lambda level, part: level.setdefault(part, {}), parents, declared)
        target[last] = lookup(params, path)
    return declared


def lookup(params: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; UserError with the nearest known name."""
    value: Any = params
    for depth, part in enumerate(path.split(".")):
        if not isinstance(value, Mapping) or part not in value:
            above = ".".join(path.split(".")[:depth]) or "the top level"
            known = [str(name) for name in value] if isinstance(value, Mapping) else []
            raise UserError(
                f'there is no "{part}" in {above}{nearest(part, known)}',
                where=str(layout.PARAMS),
                next_step=f"known there: {', '.join(known)}" if known else "",
            )
        value = value[part]
    return value


def _graph(root: Path) -> Mapping[str, Any]:
    """The entries of dvc.yaml's stages; UserError for the first that is only half there."""
    stages = read_yaml(root / layout.GRAPH).get("stages")
    if not isinstance(stages, Mapping):
        raise _half_written("it has no stages")
    for name, entry in stages.items():
        body = entry.get("do") if isinstance(entry, Mapping) and "foreach" in entry else entry
        if not isinstance(body, Mapping) or not body.get("cmd"):
            raise _half_written(f"stage {name} has no cmd")
        for section in _SECTIONS:
            items = body.get(section) or []
            if not isinstance(items, list) or not all(map(_is_named, items)):
                raise _half_written(f"{section} of stage {name} is no list of names")
    return stages


def _is_named(item: Any) -> bool:
    """A name, or one with what DVC should know about it."""
    name = next(iter(item)) if isinstance(item, Mapping) and len(item) == 1 else item
    return isinstance(name, str)


def _half_written(what: str) -> UserError:
    return UserError(
        what,
        where=str(layout.GRAPH),
        next_step=f"git checkout {layout.GRAPH}   (puts the last committed one back)",
    )


def _stage(name: str, entry: Mapping[str, Any], names: Mapping[str, Any]) -> Stage:
    def filled(section: str) -> tuple[str, ...]:
        items = entry.get(section) or []
        texts = [item if isinstance(item, str) else next(iter(item)) for item in items]
        return tuple(_fill(text, names) for text in texts)

    outs = (*filled("outs"), *filled("metrics"), *filled("plots"))
    command = _fill(str(entry["cmd"]), names)
    return Stage(name, command, filled("params"), filled("deps"), outs)


def _fill(text: str, names: Mapping[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda match: str(lookup(names, match[1].strip())), text)
