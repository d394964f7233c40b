from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lineage.asked import make_asked
from tests.lineage.made import make_repository
from textmill.cli.main import app


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A small repository with everything that DVC's stages leave behind."""
    folder = tmp_path / "made"
    folder.mkdir()
    return make_repository(folder)


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    """A repository whose models can be asked."""
    return make_asked(tmp_path_factory.mktemp("asked"))


@pytest.fixture
def run(repository, monkeypatch, tmp_path):
    """run("score", ...) -> what is printed; text files of the test lie in `tmp_path`."""
    monkeypatch.chdir(repository)

    def invoke(*arguments, text=None):
        done = CliRunner().invoke(app, [str(one) for one in arguments], input=text)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return invoke
