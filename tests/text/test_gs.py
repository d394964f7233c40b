"""`gs://` against a server of that protocol on this machine; skipped where the packages are not."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from textmill.text.catalogue import Corpus
from textmill.text.fetch import fetch

NEEDED = "pip install gcp-storage-emulator gcsfs"
gcsfs = pytest.importorskip("gcsfs", reason=NEEDED)
emulator = pytest.importorskip("gcp_storage_emulator.server", reason=NEEDED)
pytestmark = pytest.mark.filterwarnings("ignore")  # those packages' own
DATA = b"a tale\n" * 1_000_000


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bucket that holds books/tale.txt."""
    server = emulator.create_server("127.0.0.1", 9123, in_memory=True, default_bucket="texts")
    server.start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9123")
    gcsfs.GCSFileSystem.clear_instance_cache()
    gcsfs.GCSFileSystem(token="anon").pipe("texts/books/tale.txt", DATA)
    yield "gs://texts"
    server.stop()


def test_a_text_is_brought(bucket: str, corpus_of: Callable[..., Corpus], tmp_path: Path) -> None:
    """What is not there takes gcsfs two minutes to believe, so it is not asked here."""
    kept = fetch("tale", corpus_of(DATA, f"{bucket}/books/tale.txt"), tmp_path)
    assert kept.read_bytes() == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]
