"""Steps of the pipeline as DVC runs them, but in this process: a new one takes a second to begin."""

import importlib
import io
import logging
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline_steps import settings


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process would have left."""

    returncode: int
    stderr: str


def run_step(folder: Path, step: str, *arguments: str) -> Ended:
    """Run a step in a repository; what it prints and logs is its `stderr`."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    log = logging.getLogger()
    settings.inputs.cache_clear()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        patch.setattr(sys, "argv", [f"{step}.py", *arguments])
        patch.setattr(log, "handlers", [handler])
        patch.setattr(log, "level", logging.INFO)
        module = importlib.import_module(f"pipeline_steps.{step}")
        try:
            settings.run(module.main)
            code = 0
        except SystemExit as ended:  # as Python ends a process: a text goes to standard error
            code = ended.code if isinstance(ended.code, int) else 1
            said.write("" if isinstance(ended.code, int) else f"{ended.code}\n")
    settings.inputs.cache_clear()
    return Ended(code, said.getvalue())
