"""The `pypi:` source, through the real pip and a folder of wheels instead of an index."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.text.cleaning import held
from textmill.base.errors import UserError
from textmill.text import raw
from textmill.text.catalogue import Corpus

MakeCorpus = Callable[..., Corpus]
WHEEL = "talebook-1.0-py3-none-any.whl"
META = b"Metadata-Version: 2.1\nName: talebook\nVersion: 1.0\n"
RUN_ME = b"raise SystemExit('a downloaded package was run')\n"


@pytest.fixture
def index(tmp_path: Path, zip_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one wheel, made pip's only source by the user's own settings."""
    folder = tmp_path / "index"
    folder.mkdir()
    info = "talebook-1.0.dist-info"
    made = zip_of(
        {
            "talebook/__init__.py": RUN_ME,
            "talebook/texts/1900-one.txt": b"once upon a time\n",
            "talebook/texts/1901-two.txt": b"the end\n",
            f"{info}/METADATA": META,
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: hand\n"
            b"Root-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": b"",
        }
    )
    made.rename(folder / WHEEL)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder / WHEEL


def test_the_texts_of_a_wheel_are_taken_and_nothing_is_installed(
    index: Path, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    corpus = corpus_of(
        index.read_bytes(), "pypi:talebook==1.0", take=("talebook/texts/*.txt",), filename=WHEEL
    )
    raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    assert held(tmp_path / "raw") == {
        "1900-one.txt": b"once upon a time\n",
        "1901-two.txt": b"the end\n",
    }
    kept = tmp_path / "downloads" / WHEEL
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == corpus.sha256
    assert [path.name for path in kept.parent.iterdir()] == [WHEEL]


def test_what_pip_said_and_a_wheel_with_another_hash_stand_in_the_message(
    index: Path, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    corpus = corpus_of(
        b"other", "pypi:talebook==2.0", "pypi:talebook==1.0", take=("*.txt",), filename=WHEEL
    )
    with pytest.raises(UserError) as caught:
        raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    message = str(caught.value)
    assert "pypi:talebook==2.0: pip download ended with 1: " in message
    assert "No matching distribution found for talebook==2.0" in message
    found = hashlib.sha256(index.read_bytes()).hexdigest()
    assert f"bytes whose sha256 is {found}, not the pinned {corpus.sha256}" in message
    assert f"put the file by hand at {tmp_path}/downloads/{WHEEL}" in message


def test_a_wheel_over_the_limit_is_refused(
    index: Path, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    data = index.read_bytes()
    other = {"take": ("*.txt",), "filename": WHEEL, "limit": len(data) - 1}
    corpus = corpus_of(data, "pypi:talebook==1.0", **other)
    with pytest.raises(UserError, match=f"{len(data):,} bytes, and limit is {len(data) - 1:,}"):
        raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    assert list((tmp_path / "downloads").iterdir()) == []
