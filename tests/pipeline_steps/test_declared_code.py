"""Code is a dependency of its stage: dvc.yaml lists exactly what each step's imports reach."""

import ast
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pipeline_steps.check import check
from textmill.repository.stages import Stage, read_stages

PACKAGES = ("textmill", "pipeline_steps")


def module_file(root: Path, module: str) -> Path | None:
    base = root / Path(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def imported_files(root: Path, file: Path) -> set[Path]:
    """Files of the project that `file` imports anywhere, in functions too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            modules = [node.value]  # a module that the step starts: python -m NAME
        for module in modules:
            if module.split(".")[0] in PACKAGES and (path := module_file(root, module)):
                found.add(path)
    return found


def closure(root: Path, start: Path) -> set[Path]:
    seen, waiting = set(), [start]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting.extend(imported_files(root, file))
    return seen


def is_only_docstring(file: Path) -> bool:
    body = ast.parse(file.read_text()).body
    return len(body) == 1 and isinstance(body[0], ast.Expr)


def stages() -> dict[str, Stage]:
    """A stage of every kind: the group `adapted` is empty, so its documented example fills it."""
    root = Path(__file__).parents[2]
    with TemporaryDirectory() as folder:
        shutil.copy(root / "dvc.yaml", folder)
        params = with_example((root / "params.yaml").read_text())
        (Path(folder) / "params.yaml").write_text(params)
        return {stage.name.split("@")[0]: stage for stage in read_stages(Path(folder))}


def with_example(params: str) -> str:
    """params.yaml with the example of `adapted:` that stands there as a comment."""
    example = re.search(r"^#   (cache_word: .*)$", params, re.MULTILINE)
    assert params.count("\nadapted: {}\n") == 1
    return params.replace("\nadapted: {}\n", f"\nadapted:\n  {example[1]}\n")


STAGES = stages()


def test_the_example_of_an_adapted_model_is_sound(root, tmp_path):
    (tmp_path / "params.yaml").write_text(with_example((root / "params.yaml").read_text()))
    assert check(tmp_path)["adapted"] == 1


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_depends_on_the_code_it_runs(root, name):
    stage = STAGES[name]
    step = root / "pipeline_steps" / f"{name}.py"
    assert f"exec python -m pipeline_steps.{name}" in stage.command
    code = [dep for dep in stage.deps if dep.split("/")[0] in PACKAGES]
    reached = {
        file.relative_to(root).as_posix()
        for file in closure(root, step)
        if not (file.name == "__init__.py" and is_only_docstring(file))
    }
    reached.discard("pipeline_steps/__init__.py")  # it only refuses a wrong interpreter
    reached.discard("textmill/__init__.py")  # it only says the version
    undeclared = {
        file
        for file in reached
        if not any(file == dep or file.startswith(dep + "/") for dep in code)
    }
    assert undeclared == set()
    idle = {
        dep
        for dep in code
        if not any(file == dep or file.startswith(dep + "/") for file in reached)
    }
    assert idle == set()


def test_every_stage_says_what_it_does(root):
    graph = (root / "dvc.yaml").read_text()
    assert graph.count("desc:") == len(STAGES)
    assert len(graph.splitlines()) < 170


def test_package_folders_hold_only_docstrings_and_the_uppermost_the_version(root):
    for file in (root / "textmill").rglob("__init__.py"):
        if file.parent.parent == root:
            _, *rest = ast.parse(file.read_text()).body
            assert [one.name for one in rest] == ["__getattr__"]
        else:
            assert is_only_docstring(file), file
