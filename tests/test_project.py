"""What holds for the checkout as a whole."""

import configparser
import importlib
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import textmill
from textmill.base.environment import TELEMETRY, switch_telemetry_off


def test_imports_go_down_only(root):
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=root, text=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "2 kept, 0 broken" in done.stdout


def test_the_stage_graph_can_be_read_in_one_sitting(root):
    lines = (root / "dvc.yaml").read_text().splitlines()
    assert len(lines) < 150
    assert max(map(len, lines)) <= 110


def test_the_version_is_that_of_the_project_and_is_looked_up_when_asked_for(root):
    expected = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert textmill.__version__ == expected
    assert "__version__" not in vars(textmill)
    with pytest.raises(AttributeError, match="has no attribute 'version'"):
        _ = textmill.version


def test_make_alone_prints_help(root):
    done = subprocess.run(["make"], cwd=root, text=True, capture_output=True, check=True)
    for target in ("run", "test", "check", "bench", "clean", "long"):
        assert f"make {target}" in done.stdout


def test_nothing_phones_home(root, monkeypatch):
    config = configparser.ConfigParser()
    config.read(root / ".dvc/config")
    assert config["core"]["analytics"] == "false"
    prefect = tomllib.loads((root / "prefect.toml").read_text())
    assert prefect["server"]["analytics_enabled"] is False
    switches = dict(line.split("=") for line in TELEMETRY.read_text().splitlines())
    for name in switches:
        monkeypatch.delenv(name, raising=False)
    switch_telemetry_off()
    assert {name: os.environ[name] for name in switches} == switches
    shown = subprocess.run(
        ["make", "--eval", "show: ; @env", "show"], cwd=root, text=True, capture_output=True,
        env={"PATH": os.environ["PATH"]}, check=True,
    )  # fmt: skip
    for name, value in switches.items():
        assert f"{name}={value}" in shown.stdout.splitlines()


def test_what_make_runs_keeps_its_compiled_python(root):
    """Many a container sets this; three quarters of a step's seconds would be compiling again."""
    shown = subprocess.run(
        ["make", "--eval", "show: ; @env", "show"], cwd=root, text=True, capture_output=True,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}, check=True,
    )  # fmt: skip
    assert "PYTHONDONTWRITEBYTECODE" not in shown.stdout


def test_ci_calls_what_the_readme_says(root):
    script = (root / ".ci/run").read_text()
    assert script.rstrip().splitlines()[-1] == "make test"
    assert "make test" in (root / "README.md").read_text()


def test_a_foreign_interpreter_is_told_apart(root, tmp_path):
    """A step started without the project's packages says so in one message."""
    base = Path(sys.base_prefix) / "bin/python3"
    if not base.exists():
        pytest.skip("no base interpreter beside this environment")
    probe = "import importlib.util as u; raise SystemExit(u.find_spec('pyarrow') is not None)"
    if subprocess.run([base, "-I", "-c", probe], check=False).returncode:
        pytest.skip("the base interpreter has pyarrow too")
    done = subprocess.run(
        [base, "-m", "pipeline_steps.download"], cwd=root, text=True, capture_output=True,
        env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.returncode == 1
    assert "does not have the project's packages" in done.stderr
    assert "make run" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("target", ["run", "test"])
def test_a_first_install_says_what_happens_and_how_long_it_takes(root, target):
    """pip is silent meanwhile."""
    planned = subprocess.run(
        ["make", "-n", "-B", target], cwd=root, text=True, capture_output=True, check=True
    ).stdout
    said, installed = planned.index("Installing "), planned.index("pip install --quiet")
    assert said < installed
    assert "minutes" in planned[said:installed]


@pytest.mark.parametrize(
    "text", ["a $b.txt", 'it\'s "here".txt', "$(shell touch PWNED).txt", "-x;y", ""]
)
def test_the_name_of_a_text_reaches_its_command_as_it_is(root, text):
    show = "show: ; @printf '%s' \"$$OWN_TEXT\"; printenv TEXT || true"
    done = subprocess.run(
        ["make", "--eval", show, "show", f"TEXT={text}"],
        cwd=root, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout == text
    assert not (root / "PWNED").exists()
    planned = subprocess.run(
        ["make", "-n", "run", f"TEXT={text}"], cwd=root, text=True, capture_output=True, check=True
    )
    assert 'textmill pin -- "$OWN_TEXT"' in planned.stdout


def test_a_text_and_a_corpus_exclude_each_other(root):
    done = subprocess.run(
        ["make", "-n", "run", "TEXT=a", "CORPUS=b"], cwd=root, text=True, capture_output=True
    )
    assert done.returncode == 2
    assert "leave CORPUS= out" in done.stderr


@pytest.mark.parametrize("given", ["text=a", "Corpus=b", "TXT=c", "CORE=2"])
def test_a_variable_that_make_does_not_know_is_refused(root, given):
    done = subprocess.run(["make", "-n", "run", given], cwd=root, text=True, capture_output=True)
    assert done.returncode != 0
    assert f"there is no {given.split('=')[0]}=: make takes TEXT CORPUS" in done.stderr


@pytest.mark.parametrize("name", ["TEXT", "CORPUS", "TARGETS", "CORES", "FORCE"])
def test_make_reads_nothing_into_what_is_given(root, tmp_path, name):
    given = f"{name}=$(shell touch {tmp_path / 'made'})"
    for target in ("run", "flow"):
        subprocess.run(["make", "-n", target, given], cwd=root, capture_output=True, check=True)
    assert not (tmp_path / "made").exists()


def test_what_the_pages_import_is_there(root):
    """Documentation that is newer or older than the code would send people astray."""
    pages = [root / "README.md", *(root / "docs").glob("*.md")]
    shown = [
        (page.name, *found)
        for page in pages
        for found in re.findall(r"from (textmill[\w.]*) import (.+)", page.read_text())
    ]
    assert len(shown) > 5
    for page, module, names in shown:
        for name in names.split("#")[0].split(","):
            assert hasattr(importlib.import_module(module), name.strip()) or (
                importlib.util.find_spec(f"{module}.{name.strip()}")
            ), f"{page}: {module}.{name}"
