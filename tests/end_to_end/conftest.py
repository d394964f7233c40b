"""Throw-away git + dvc repositories with a small text and small models."""

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from ruamel.yaml import YAML

from tests.inside import run_command, shared_folder

PARAMS = """\
corpus: local
corpora:
  local:
    title: a small made-up text
    licence: none
    path: ''
    digest: ''
    files: 0
    bytes: 0
    documents: file
    splits:
      by: share
      valid: 0.1
      test: 0.1
      unit: lines
    cleaning: plain
profiles:
  plain:
    - line_ends
    - byte_order_marks
    - control_characters
    - normal_form
    - white_space
    - blank_lines
tokenizers:
  word:
    kind: word
    minimum_frequency: 2
  subword:
    kind: subword
    pieces: 320
ngrams:
  bigram_word:
    tokenizer: word
    method: additive
    order: 2
    k: 0.1
  kn3_subword:
    tokenizer: subword
    method: kneser_ney
    order: 3
networks:
  lstm_subword:
    tokenizer: subword
    embedding: 16
    hidden: 16
    bptt: 16
    batch: 8
    warmup: 5
    steps: 60
    evaluate_every: 20
    threads: 1
    device: cpu
adapted: {}
mixtures:
  mix_subword:
    first: kn3_subword
    second: lstm_subword
"""


LIBRARY = re.compile(r",\s*textmill/[\w/.]+")
"""Dependencies on the library's code. DVC reads and writes all of dvc.lock with every stage, which
takes it longer than the stage itself; these entries are half of the file, and no test here changes
that code (tests/pipeline_steps/test_declared_code.py knows what belongs there)."""


def small_text(sentences: int, seed: int = 7) -> str:
    """Sentences of a toy grammar, some words rare, so that every method has something to learn."""
    rng = random.Random(seed)
    nouns = ["river", "miller", "stone", "wheel", "sparrow", "harvest", "caf\u00e9", "lantern"]
    verbs = ["turns", "finds", "carries", "watches", "grinds", "leaves"]
    rare = ["".join(rng.choices("abcdefghijklmnop", k=rng.randint(3, 9))) for _ in range(400)]
    lines = []
    for _ in range(sentences):
        words = ["the", rng.choice(nouns), rng.choice(verbs), rng.choice(["a", "the"])]
        words.append(rng.choice(rare) if rng.random() < 0.3 else rng.choice(nouns))
        if rng.random() < 0.4:
            words += ["and", rng.choice(verbs), "it,", "slowly"]
        lines.append(" ".join(words) + ".")
    return "\n".join(lines) + "\n"


class Repository:
    """A checkout in a folder of its own, run by this interpreter's environment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("DVC_", "GIT_"))}
        path_entries = [str(Path(sys.executable).parent), environment["PATH"]]
        self.environment = environment | {
            "PATH": os.pathsep.join(path_entries),
            "DVC_NO_ANALYTICS": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.org",
            "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.org",
        }  # fmt: skip

    def run(self, *command: str, check: bool = True) -> str:
        """Output of a command; a failed one fails the test with its output."""
        done = subprocess.run(
            command, cwd=self.path, env=self.environment, text=True, timeout=280,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        if check and done.returncode:
            pytest.fail(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def fails(self, *command: str) -> str:
        """Output of a command that must fail."""
        done = subprocess.run(
            command, cwd=self.path, env=self.environment, text=True, timeout=280,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode != 0, done.stdout
        return done.stdout

    def textmill(self, *arguments: str, code: int = 0) -> str:
        """Output of the command, called in this process: a new one takes a second to begin."""
        ended = run_command(self.path, *arguments)
        assert ended.returncode == code, ended.said
        return ended.said

    def repro(self, *arguments: str) -> list[str]:
        """Names of the stages that `dvc repro` ran, in order."""
        output = self.run("dvc", "repro", *arguments)
        return re.findall(r"Running stage '([^']+)'", output)

    def edit(self, old: str, new: str) -> None:
        """Replace a piece of params.yaml that must be there once."""
        params = self.path / "params.yaml"
        text = params.read_text()
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        params.write_text(text.replace(old, new))

    def lock(self) -> dict:
        """dvc.lock as parsed YAML."""
        return YAML(typ="safe").load((self.path / "dvc.lock").read_text())

    def copy(self, to: Path) -> "Repository":
        """The same repository with its files and cache in another folder."""
        shutil.copytree(self.path, to, symlinks=True)
        return Repository(to)


@pytest.fixture(scope="session")
def new_repository(root: Path, tmp_path_factory):
    """Make a repository of the checkout's code with the small text pinned, nothing run."""

    def make(name: str, sentences: int = 1500) -> Repository:
        path = tmp_path_factory.mktemp(name)
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"],
            cwd=root, text=True, capture_output=True, check=True,
        )  # fmt: skip
        for relative in listed.stdout.splitlines():
            folders = ("textmill/", "pipeline_steps/", "flows/", ".dvc/", "history/")
            files = [
                "dvc.yaml",
                "prefect.yaml",
                "prefect.toml",
                ".dvcignore",
                ".gitignore",
                "Makefile",
            ]
            if relative.startswith(folders) or relative in files:
                (path / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / relative, path / relative)
        graph = path / "dvc.yaml"
        graph.write_text(LIBRARY.sub("", graph.read_text()))
        (path / "params.yaml").write_text(PARAMS)
        (path / "text.txt").write_text(small_text(sentences), encoding="utf-8")
        repository = Repository(path)
        repository.run("git", "init", "--quiet", "--initial-branch", "main")
        repository.run(sys.executable, "-m", "textmill.cli", "pin", "text.txt")
        repository.run("git", "add", ".")
        repository.run("git", "commit", "--quiet", "-m", "start")
        return repository

    return make


@pytest.fixture(scope="session")
def finished(new_repository, tmp_path_factory) -> Repository:
    """A repository in which the whole pipeline has run and is committed; do not change it.

    Made once for all processes that run tests.
    """
    folder = shared_folder(tmp_path_factory)
    made = folder / "finished"
    with FileLock(folder / "finished.lock"):
        if not made.exists():
            repository = new_repository("finished")
            repository.run("dvc", "repro")
            repository.run("git", "add", ".")
            repository.run("git", "commit", "--quiet", "-m", "run")
            made.write_text(str(repository.path))
    return Repository(Path(made.read_text()))


@pytest.fixture(scope="session")
def prefect_database(tmp_path_factory) -> Path:
    """Prefect's database with its tables and nothing in them, made once for all processes."""
    folder = shared_folder(tmp_path_factory) / "prefect"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            subprocess.run(
                [sys.executable, "-m", "prefect", "server", "database", "upgrade", "-y"],
                env=os.environ | {"PREFECT_HOME": str(folder)}, check=True, capture_output=True,
            )  # fmt: skip
    return folder / "prefect.db"


@pytest.fixture
def repository(finished: Repository, tmp_path: Path) -> Repository:
    """A copy of the finished repository to change."""
    return finished.copy(tmp_path / "repository")
