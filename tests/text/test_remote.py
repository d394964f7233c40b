"""Sources that fsspec opens, and those on this machine."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest

from textmill.base.errors import UserError
from textmill.text.catalogue import Corpus
from textmill.text.fetch import fetch
from textmill.text.mirrors import Patience

TEXT = bytes(range(256)) * 100
ONCE = Patience(seconds=5, pauses=())
MakeCorpus = Callable[..., Corpus]


@pytest.fixture
def memory() -> Iterator[fsspec.AbstractFileSystem]:
    files = fsspec.filesystem("memory")
    yield files
    files.store.clear()


def refusal(corpus: Corpus, downloads: Path, patience: Patience = ONCE) -> str:
    with pytest.raises(UserError) as caught:
        fetch("tale", corpus, downloads, patience)
    return str(caught.value)


def test_a_file_of_another_file_system_is_brought(
    memory: fsspec.AbstractFileSystem, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    memory.pipe("/books/a tale.txt", TEXT)
    corpus = corpus_of(TEXT, "memory://books/a tale.txt")
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_what_it_has_not_is_told_in_the_one_message(
    memory: fsspec.AbstractFileSystem, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    memory.pipe("/books/t", TEXT)
    sources = ["memory://gone", "memory://books", "nosuch://a/b", "memory://books/t"]
    corpus = corpus_of(TEXT, *sources, limit=100)
    lines = refusal(corpus, tmp_path).splitlines()
    assert lines[2] == "  memory://gone: No such file or directory"
    assert lines[3] == "  memory://books: is a folder, and a source is one file"
    assert lines[4].startswith("  nosuch://a/b: nosuch: Protocol not known: nosuch")
    assert lines[5] == "  memory://books/t: 25,600 bytes or more, and limit is 100"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("source", "package"), [("s3://bucket/t", "s3fs"), ("gs://b/t", "gcsfs"), ("memory://t", "fsspec")]
)  # fmt: skip
def test_a_package_that_is_not_installed_is_named_with_the_line_to_type(
    source: str, package: str, corpus_of: MakeCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, package, None)
    if package == "fsspec":
        monkeypatch.setitem(sys.modules, "fsspec.core", None)
    message = refusal(corpus_of(TEXT, source), tmp_path)
    assert f"{source}: needs a package that is not installed: pip install {package}\n" in message


class Broken:
    """A stream of a file system whose connection breaks off."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.sought: list[int] = []

    def __enter__(self) -> "Broken":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def seek(self, place: int) -> None:
        self.sought.append(place)

    def read(self, size: int) -> bytes:
        if not self.data:
            raise OSError("the bucket went away")
        given, self.data = self.data, b""
        return given


@pytest.mark.parametrize("changed", [False, True])
def test_a_broken_download_goes_on_by_seeking_while_the_file_is_the_same(
    changed: bool, memory: fsspec.AbstractFileSystem, corpus_of: MakeCorpus, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    memory.pipe("/t", TEXT)
    corpus = corpus_of(TEXT, "memory://t")
    with monkeypatch.context() as patched:
        patched.setattr(type(memory), "open", lambda *_: Broken(TEXT[:5000]))
        message = refusal(corpus, tmp_path)
    assert "memory://t: memory: the bucket went away; what came is kept" in message
    if changed:
        memory.pipe("/t", TEXT)  # with another time of creation
    sought: list[int] = []
    opened = type(memory).open

    def watched(*args: object) -> object:
        stream = opened(*args)
        monkeypatch.setattr(stream, "seek", lambda n, seek=stream.seek: sought.append(n) or seek(n))
        return stream

    monkeypatch.setattr(type(memory), "open", watched)
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
    assert sought[0] == (0 if changed else 5000)


def test_fsspec_is_imported_only_for_a_source_of_its_own(root: Path) -> None:
    code = "import sys, textmill.text.raw; print('fsspec' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(root)}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "False", ended.stdout


def test_a_folder_stands_for_the_file_in_it_and_a_pattern_for_the_one_that_fits(
    corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirror-2026"
    mirror.mkdir()
    (mirror / "text.txt").write_bytes(TEXT)
    forms = [mirror, f"file://{mirror}", f"{tmp_path}/mirror-*", f"{tmp_path}/mirror-*/t*.txt"]
    for number, form in enumerate(forms):
        corpus = corpus_of(TEXT, str(form))
        assert fetch("tale", corpus, tmp_path / str(number), ONCE).read_bytes() == TEXT


def test_a_file_whose_own_name_looks_like_a_pattern_is_that_file(
    corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    (tmp_path / "t[1].txt").write_bytes(TEXT)
    (tmp_path / "t1.txt").write_bytes(b"other")
    corpus = corpus_of(TEXT, f"{tmp_path}/t[[]1].txt", f"{tmp_path}/t[1].txt")
    assert fetch("tale", corpus, tmp_path / "d", ONCE).read_bytes() == TEXT


def test_what_is_no_single_file_is_told_in_the_one_message(
    corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(TEXT)
    os.mkfifo(tmp_path / "pipe")
    sources = [f"{tmp_path}/*.txt", f"{tmp_path}/*.md", str(tmp_path), f"{tmp_path}/pipe"]
    lines = refusal(corpus_of(TEXT, *sources), tmp_path / "d").splitlines()
    assert lines[2] == (
        f"  {tmp_path}/*.txt: 2 files fit the pattern ({tmp_path}/a.txt, {tmp_path}/b.txt, ...), and "
        f"a source is one file; several are a text of one's own: textmill pin '{tmp_path}/*.txt'"
    )
    assert lines[3] == f"  {tmp_path}/*.md: nothing fits the pattern"
    assert lines[4] == f"  {tmp_path}: a folder without text.txt"
    assert lines[5] == f"  {tmp_path}/pipe: {tmp_path}/pipe is not a file"
