import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Whoever starts the tests in the background may have them ignore Ctrl-C, and all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# `make test` tells every make below it that it is one of its own: those under test are nobody's.
for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
    os.environ.pop(name, None)

# What is imported is compiled once and kept, as by every command that make runs.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Threads sleep soon instead of spinning, as in every step: other tests want the cores.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

# Prefect makes a home of its own as soon as it is imported: not in the checkout under test.
os.environ["PREFECT_HOME"] = tempfile.mkdtemp(prefix="textmill-prefect-")
atexit.register(shutil.rmtree, os.environ["PREFECT_HOME"], ignore_errors=True)

# Machine code is kept by the content of its source, so every process of every test shares it.
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(__file__).parent.parent / ".pytest_cache" / "numba")
)

# How long an example takes says how busy the machine is, nothing else.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

ROOT = Path(__file__).parent.parent
LONGEST = (
    "tests/end_to_end/test_flow.py",
    "tests/end_to_end/test_publish.py::test_a_training_killed",
    "tests/end_to_end",
)
TEST_DATA = Path(os.environ.get("TEXTMILL_TEST_DATA", ROOT.parent / "shared" / "data"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest, so that the others are not waited for at the end."""

    def rank(item: pytest.Item) -> int:
        places = (n for n, name in enumerate(LONGEST) if item.nodeid.startswith(name))
        return next(places, len(LONGEST))

    items.sort(key=rank)


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


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KB, or a skip that says why there is none."""
    place = tmp_path / "small"
    place.mkdir()
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux may mount a small file system")
    options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    mounted = subprocess.run(["mount", *options], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no small file system may be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", str(place)], check=True)
