"""The edge of every step: parameters in, one clear message out.

A step is `exec python -m pipeline_steps.NAME KEY`, so DVC is its parent. It is handed exactly
the parameters that its stage declares in dvc.yaml, parsed strictly into frozen objects; what a
user can mend ends in one message and exit code 1.
"""

import json
import logging
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from textmill.base.environment import switch_telemetry_off
from textmill.base.errors import UserError, as_user_error, nearest
from textmill.repository import facts, layout
from textmill.repository.fingerprints import input_fingerprint
from textmill.repository.names import check_names
from textmill.repository.stages import declared_params, read_stage

_QUOTED = re.compile(r"'([^']+)'")


def load(stage: str, key: str | None = None) -> dict[str, Any]:
    """The nested part of params.yaml that the stage declares in dvc.yaml, and nothing else."""
    check_names()
    return declared_params(read_stage(stage, key))


def parse(config: Any, mapping: Mapping[str, Any], where: str) -> Any:
    """`mapping` as a frozen object of the type `config`, a dataclass or an annotated union.

    Unknown keys are refused with the nearest known one; the message names `where` and the field.
    """
    for dataclass in _dataclasses_in(config):
        dataclass.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        # YAML reads 2024-01-01 as a date; where a text is wanted it is the text that was written.
        content = json.dumps(mapping, default=str)
    except (ValueError, RecursionError):
        raise UserError("it holds itself, by an anchor", where=where) from None
    try:
        return TypeAdapter(config).validate_json(content, strict=True)
    except ValidationError as error:
        next_step = f"correct it in {layout.PARAMS}, then: textmill check"
        raise UserError(_first_problem(error, config), where=where, next_step=next_step) from None


def key() -> str:
    """The entry that this step was started for: `python -m pipeline_steps.NAME KEY`."""
    if len(sys.argv) != 2:
        raise UserError(
            f"{_stage_name()} takes one entry of its group in params.yaml",
            next_step=f"dvc repro {_stage_name()}@NAME",
        )
    return sys.argv[1]


@cache
def fingerprint() -> str:
    """The input fingerprint of the running step."""
    return input_fingerprint(read_stage(_stage_name(), *sys.argv[1:2]))


def scratch() -> Path:
    """Where the running step keeps work in progress; the same input finds it again."""
    return layout.SCRATCH / fingerprint()


def record(**found: Any) -> None:
    """Keep volatile facts of this run (its device, say) beside DVC's outputs."""
    facts.record(fingerprint(), found)


def run(main: Callable[[], None]) -> None:
    """Run a step: a UserError is one message and exit code 1."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    switch_telemetry_off()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    start = time.monotonic()
    try:
        main()
        _record_cost(time.monotonic() - start)
    except (UserError, OSError) as error:
        sys.exit(f"textmill: {as_user_error(error)}")
    except KeyboardInterrupt:
        print("textmill: interrupted; the same command goes on from here", file=sys.stderr)  # noqa: T201
        sys.exit(130)


def _stage_name() -> str:
    return Path(sys.argv[0]).stem


def _record_cost(seconds: float) -> None:
    """Seconds, peak memory, libraries and commit of this run, beside DVC's outputs."""
    unit = 1024 if sys.platform == "linux" else 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    stage = " ".join([_stage_name(), *sys.argv[1:]])
    record(
        stage=stage,
        seconds=round(seconds, 3),
        peak_memory_bytes=peak,
        versions=facts.versions(),
        **facts.commit(),
    )


def _dataclasses_in(annotation: Any) -> Iterator[Any]:
    """Every dataclass type reachable from an annotation."""
    if is_dataclass(annotation) and isinstance(annotation, type):
        yield annotation
        for hint in get_type_hints(annotation).values():
            yield from _dataclasses_in(hint)
    for part in get_args(annotation):
        yield from _dataclasses_in(part)


def _first_problem(error: ValidationError, config: Any) -> str:
    """The first problem in words, with the nearest known name for an unknown key or value."""
    problems = error.errors(include_url=False)
    # A misspelt key is also a missing one: the misspelling is what helps.
    problem = min(problems, key=lambda found: found["type"] != "unexpected_keyword_argument")
    place = _without_tags(config, problem["loc"])
    path = ".".join(str(part) for part in place)
    given = problem["input"]
    match problem["type"]:
        case "unexpected_keyword_argument":
            names = {field.name for cls in _dataclasses_in(config) for field in fields(cls)}
            return f'unknown key "{path}"{nearest(str(place[-1]), sorted(names))}'
        case "missing":
            return f'"{path}" is missing'
        case "union_tag_not_found":
            return f'"{_inside(path, problem)}" is missing'
        case "union_tag_invalid":
            known = _QUOTED.findall(problem["ctx"]["expected_tags"])
            return _not_one_of(_inside(path, problem), problem["ctx"]["tag"], known)
        case "literal_error":
            known = _QUOTED.findall(problem["ctx"]["expected"])
            return _not_one_of(path, given, known)
    message = str(problem["msg"]).removeprefix("Value error, ")
    shown = "" if not path or isinstance(given, dict) else f" (it is {given!r})"
    return f'"{path}": {message}{shown}' if path else message


def _without_tags(annotation: Any, place: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keys as they stand in params.yaml: pydantic puts a union's tag between them."""
    if not place:
        return ()
    if is_dataclass(annotation):
        hint = get_type_hints(annotation, include_extras=True).get(str(place[0]))
        return (place[0], *_without_tags(hint, place[1:]))
    return place[1:] if get_origin(annotation) is Annotated else place


def _inside(path: str, problem: Any) -> str:
    """The key that tells the members of a union apart, `splits.by` say."""
    key = problem["ctx"]["discriminator"].strip("'")
    return f"{path}.{key}" if path else key


def _not_one_of(path: str, given: Any, known: list[str]) -> str:
    hint = nearest(str(given), known)
    return f'"{path}" is {given!r}, not one of {", ".join(known)}{hint}'
