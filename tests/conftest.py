import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEST_DATA = Path(os.environ.get("TEXTMILL_TEST_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout under test."""
    return ROOT


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of real texts, or a skip that says what is missing."""
    if not TEST_DATA.is_dir():
        pytest.skip(f"no real texts in {TEST_DATA} (set TEXTMILL_TEST_DATA)")
    return TEST_DATA
