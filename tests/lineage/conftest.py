from pathlib import Path

import pytest

from tests.lineage.made import make_repository


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A small repository with everything that DVC's stages leave behind."""
    folder = tmp_path / "made"
    folder.mkdir()
    return make_repository(folder)
