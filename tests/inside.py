"""Commands and steps as a process runs them, but inside this one: a new one takes a second to begin."""

import importlib
import io
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline_steps import settings
from textmill.cli.main import main


@dataclass(frozen=True, slots=True)
class Ended:
    """What a process would have left: its exit code, and what it printed and logged."""

    returncode: int
    said: str


def run_command(folder: Path, *arguments: str, **environment: str) -> Ended:
    """`textmill ARGUMENTS` in a folder."""
    with _inside(folder, "textmill", *arguments, **environment) as said:
        return _ended(main, said)


def run_step(folder: Path, step: str, *arguments: str) -> Ended:
    """A step as DVC runs it in a repository."""
    with _inside(folder, f"{step}.py", *arguments) as said:
        module = importlib.import_module(f"pipeline_steps.{step}")
        settings.inputs.cache_clear()
        try:
            return _ended(lambda: settings.run(module.main), said)
        finally:
            settings.inputs.cache_clear()


@contextmanager
def _inside(folder: Path, *argv: str, **environment: str) -> Iterator[io.StringIO]:
    """A process's folder, arguments, environment, output and log."""
    said, log = io.StringIO(), logging.getLogger()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        patch.setattr(sys, "argv", list(argv))
        patch.setattr(log, "handlers", [logging.StreamHandler(said)])
        patch.setattr(log, "level", logging.INFO)
        for name, value in environment.items():
            patch.setenv(name, value)
        yield said


def _ended(act: Callable[[], None], said: io.StringIO) -> Ended:
    try:
        act()
    except SystemExit as ended:  # a text as its code goes to standard error, and the code is 1
        if isinstance(ended.code, str):
            return Ended(1, f"{said.getvalue()}{ended.code}\n")
        return Ended(int(ended.code or 0), said.getvalue())
    return Ended(0, said.getvalue())


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The temporary folder of all processes that run tests."""
    folder = factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
