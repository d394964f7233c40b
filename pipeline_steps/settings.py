"""The edge of every step: parameters in, one clear message out.

A step is `exec python -m pipeline_steps.NAME KEY`, so DVC is its parent. It is handed exactly
the parameters that its stage declares in dvc.yaml, parsed strictly into frozen objects; what a
user can mend ends in one message and exit code 1.
"""

import json
import logging
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from pipeline_steps import INTERRUPTED, end_importing
from textmill.base.environment import switch_telemetry_off
from textmill.base.errors import UserError, as_user_error
from textmill.base.problems import dataclasses_in, first_problem
from textmill.repository import facts, layout
from textmill.repository.fingerprints import fingerprint_of, read_inputs
from textmill.repository.names import check_names
from textmill.repository.stages import declared_params, read_stage

SHOWN = 3
"""Names of inputs in a message."""
CORRECT = f"correct it in {layout.PARAMS}, then: textmill check"
"""What to do about an entry, where nothing more telling can be said."""


def load(stage: str, key: str | None = None) -> dict[str, Any]:
    """The nested part of params.yaml that the stage declares in dvc.yaml, and nothing else."""
    check_names()
    return declared_params(read_stage(stage, key))


def parse(config: Any, mapping: Mapping[str, Any], where: str) -> Any:
    """`mapping` as a frozen object of the type `config`, a dataclass or an annotated union.

    Unknown keys are refused with the nearest known one; the message names `where` and the field.
    """
    for dataclass in dataclasses_in(config):
        dataclass.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        # YAML reads 2024-01-01 as a date; where a text is wanted it is the text that was written.
        content = json.dumps(mapping, default=str)
    except (ValueError, RecursionError):
        raise UserError("it holds itself, by an anchor", where=where) from None
    try:
        return TypeAdapter(config).validate_json(content, strict=True)
    except ValidationError as error:
        raise UserError(first_problem(error, config), where=where, next_step=CORRECT) from None


def key() -> str:
    """The entry that this step was started for: `python -m pipeline_steps.NAME KEY`."""
    if len(sys.argv) != 2:
        raise UserError(
            f"{_stage_name()} takes one entry of its group in params.yaml",
            next_step=f"dvc repro {_stage_name()}@NAME",
        )
    return sys.argv[1]


@cache
def inputs() -> dict[str, str]:
    """What the running step reads, as it was when it began."""
    return _inputs_now()


def read_anew() -> None:
    """Inputs are those from here on: the step itself has changed them."""
    if inputs.cache_info().currsize:
        inputs.cache_clear()
        inputs()


def _inputs_now() -> dict[str, str]:
    return read_inputs(read_stage(_stage_name(), *sys.argv[1:2]))


def fingerprint() -> str:
    """The input fingerprint of the running step."""
    return fingerprint_of(inputs())


def scratch() -> Path:
    """Where the running step keeps work in progress; the same input finds it again."""
    return layout.SCRATCH / fingerprint()


def record(**found: Any) -> None:
    """Keep volatile facts of this run (its device, say) beside DVC's outputs."""
    facts.record(fingerprint(), found)


def run(main: Callable[[], None]) -> None:
    """Run a step: a UserError is one message and exit code 1, Ctrl-C another and 130.

    DVC writes into dvc.lock what parameters, code and files are when a step has ended. So a step
    whose inputs changed while it ran fails, or dvc.lock would say that it ran with the new ones.
    What it keeps in its scratch folder stays then: with the old ones it would go on from there.
    """
    if signal.getsignal(signal.SIGINT) is end_importing:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    switch_telemetry_off()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    start = time.monotonic()
    try:
        with suppress(UserError):  # the step itself says what is missing
            inputs()
        main()
        if os.environ.get("RANK", "0") == "0":
            check_inputs(inputs(), _inputs_now())
            _record_cost(time.monotonic() - start)
            shutil.rmtree(scratch(), ignore_errors=True)
    except (UserError, OSError) as error:
        message = str(as_user_error(error))
        _let_the_first_speak()
        sys.exit(f"textmill: {message}")
    except KeyboardInterrupt:
        if "RANK" not in os.environ:  # the process that started several speaks for them
            sys.stderr.write(INTERRUPTED)
        sys.exit(130)


def check_inputs(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """UserError naming what changed or went. A file that came is none that the step has read."""
    changed = [name for name in before if now.get(name) != before[name]]
    if not changed:
        return
    more = f" and {len(changed) - SHOWN:,} more" if len(changed) > SHOWN else ""
    raise UserError(
        f"{', '.join(changed[:SHOWN])}{more} changed while {_stage_name()} ran, so what it made is "
        "of the ones before and is not recorded",
        next_step="the same command runs it with the new ones; with the old ones back it goes on",
    )


def _let_the_first_speak() -> None:
    """Of the processes that train one network, the others speak where the first has not ended.

    Where it has, torchrun ends them before their turn.
    """
    time.sleep(5 * int(os.environ.get("RANK", "0")))


def _stage_name() -> str:
    return Path(sys.argv[0]).stem


def _record_cost(seconds: float) -> None:
    """Seconds, peak memory, libraries and commit of this run, beside DVC's outputs.

    The seconds of a step that went on from a checkpoint are those until there, too.
    """
    unit = 1024 if sys.platform == "linux" else 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    stage = " ".join([_stage_name(), *sys.argv[1:]])
    before = facts.to_add_to(fingerprint()).get("seconds_before", 0.0)
    record(
        stage=stage,
        seconds=round(seconds + before, 3),
        peak_memory_bytes=peak,
        versions=facts.versions(),
        **facts.commit(),
    )
