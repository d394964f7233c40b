import os
from collections.abc import Callable
from pathlib import Path

import pytest

from textmill.base.errors import UserError
from textmill.text import local, raw
from textmill.text.catalogue import Corpus, ShareSplits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "my texts"
    (folder / "b").mkdir(parents=True)
    (folder / "b/two.txt").write_bytes(b"two\n")
    (folder / "one.TXT").write_bytes(b"one\n")
    (folder / "notes.md").write_bytes(b"not a text\n")
    (folder / ".hidden.txt").write_bytes(b"hidden\n")
    return folder


def own(path: Path, digest: str) -> Corpus:
    pinned = local.pin_text(str(path))
    return Corpus(
        title="mine",
        licence="mine",
        splits=ShareSplits(by="share"),
        cleaning="plain",
        path=str(path),
        digest=digest,
        files=int(pinned["files"]),
        bytes=int(pinned["bytes"]),
    )


def names(text: str) -> list[str]:
    return [file.name for file in local.find(text)]


def test_a_file_a_folder_and_a_pattern_mean_their_files(folder: Path) -> None:
    assert names(str(folder / "notes.md")) == ["notes.md"]
    assert names(str(folder)) == ["b/two.txt", "one.TXT"]
    assert names(str(folder / "*.md")) == ["notes.md"]
    assert names(str(folder / "**" / "two*")) == ["b/two.txt"]
    assert names(str(folder.parent / "my*" / "b" / "*.txt")) == ["my texts/b/two.txt"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nothing.txt", "there is no file or folder"),
        ("*.csv", "no file fits the pattern"),
        ("empty", "no .txt file in the folder"),
    ],
)
def test_a_path_without_text_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=why):
        local.find(str(tmp_path / text))


def test_the_digest_covers_names_and_bytes_and_nothing_else(folder: Path) -> None:
    before = local.digest(str(folder))[1]
    elsewhere = folder.rename(folder.parent / "moved")
    os.utime(elsewhere / "one.TXT", (1, 1))
    (elsewhere / "notes.md").write_bytes(b"changed\n")
    assert local.digest(str(elsewhere))[1] == before
    (elsewhere / "one.TXT").rename(elsewhere / "uno.txt")
    renamed = local.digest(str(elsewhere))[1]
    assert renamed != before
    (elsewhere / "uno.txt").write_bytes(b"One\n")
    assert local.digest(str(elsewhere))[1] not in (before, renamed)


def test_the_digest_is_the_documented_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"abc")
    # sha256 of "a.txt", NUL, the hexadecimal sha256 of "abc", LF, by sha256sum
    expected = "641065b51358d6c475d161b79876d3653393f67ead92a0458384c40813245f0a"
    assert local.digest(str(tmp_path / "a.txt"))[1] == expected


def test_what_pin_writes_holds_anywhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    pinned = local.pin_text("b")
    assert pinned == {
        "path": str(folder / "b"),
        "digest": local.digest(str(folder / "b"))[1],
        "files": 1,
        "bytes": 4,
    }
    assert local.pin_text("b", relative_to=folder)["path"] == "b"
    assert local.pin_text("..", relative_to=folder)["path"] == str(folder.parent)


def test_a_text_that_changed_since_it_was_pinned_is_refused(folder: Path, tmp_path: Path) -> None:
    corpus = own(folder, local.digest(str(folder))[1])
    raw.store("local", corpus, tmp_path / "downloads", tmp_path / "raw")
    assert raw.read(tmp_path / "raw") == {"b/two.txt": b"two\n", "one.TXT": b"one\n"}
    (folder / "three.txt").write_bytes(b"three\n")
    with pytest.raises(UserError) as caught:
        raw.store("local", corpus, tmp_path / "downloads", tmp_path / "raw2")
    message = str(caught.value)
    assert "no longer matches its pin: pinned were 2 file(s) of 8 bytes" in message
    assert "now there are 3 of 14 bytes" in message
    assert message.endswith(f"-> textmill pin '{folder}'")


def test_the_template_without_a_path_says_how_to_pin(corpus_of: Callable[..., Corpus]) -> None:
    template = Corpus(
        title="t", licence="l", splits=ShareSplits(by="share"), cleaning="plain", path=""
    )
    with pytest.raises(UserError, match="textmill pin PATH"):
        local.gather("local", template)
