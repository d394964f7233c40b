import gzip
import json
import lzma
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.text.cleaning import held
from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.text import local, raw
from textmill.text.catalogue import Corpus, ShareSplits
from textmill.text.kinds import tally
from textmill.text.local import find, left_out, pin_text
from textmill.text.raw import files_of
from textmill.text.reading import Reader, Reading


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
        ("**.txt", "cannot be read .*'..' can only be an entire path component"),
        ("empty", "no .txt file in the folder"),
    ],
)
def test_a_path_without_text_is_refused(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=why):
        local.find(str(tmp_path / text))


def refusal(function: Callable[..., object], *args: object) -> str:
    with pytest.raises(UserError) as caught:
        function(*args)
    return str(caught.value)


def test_a_missing_path_names_the_nearest_and_where_paths_count_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert refusal(local.find, "note.md") == (
        f'there is no file or folder note.md (no note.md in {folder}; did you mean "notes.md"?)\n'
        f"  -> a path counts from {folder}"
    )
    assert "did you mean" not in refusal(local.find, "mild.TXT"), "a shared ending is no likeness"
    deeper = refusal(local.find, "c/d/e.txt")
    assert f"there is no file or folder c/d/e.txt (no c in {folder})" in deeper
    whole = refusal(local.find, f"{folder}/zzz")
    assert whole.endswith(f"(no zzz in {folder})\n  -> check the spelling")
    assert f"({folder}/notes.md is not a folder)" in refusal(local.find, "notes.md/x")
    (folder / "link.txt").symlink_to("nowhere")
    assert f"({folder}/link.txt is a broken link)" in refusal(local.find, "link.txt")
    assert f"{folder}/link.txt is not a file (a broken link" in refusal(local.find, str(folder))


def test_a_home_folder_of_nobody_is_named() -> None:
    message = refusal(local.pin_text, "~no-such-user/x")
    assert message.startswith("there is no home folder ~no-such-user for ~no-such-user/x\n  -> ")


@pytest.mark.parametrize("text", ["{}", "{}/**/*.txt", "{}/*/*.txt", "{}/b/*.txt"])
def test_a_folder_that_cannot_be_read_is_named_and_not_skipped(
    text: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "b/two.txt" in names(text.format(folder)) or text.endswith("b/*.txt")
    scandir = os.scandir

    def closed(path: "str | Path") -> object:
        # A superuser can read anything, so the system's answer is played.
        if Path(path) == folder / "b":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    message = refusal(local.find, text.format(folder))
    assert message.startswith(f"cannot read the folder {folder}/b (Permission denied)\n  -> ")


def test_a_text_without_a_byte_is_not_pinned_and_one_empty_file_among_others_is(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    assert refusal(local.pin_text, f"{tmp_path}/a.txt").startswith(
        f"there is no text in {tmp_path}/a.txt: 0 bytes\n"
    )
    (tmp_path / "b.txt").write_bytes(b"")
    assert f"there is no text in {tmp_path}: 2 files of 0 bytes" in refusal(
        local.pin_text, str(tmp_path)
    )
    (tmp_path / "b.txt").write_bytes(b"b\n")
    pinned = local.pin_text(str(tmp_path))
    assert (pinned["files"], pinned["bytes"]) == (2, 2)


def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    strange = os.fsdecode(bytes(tmp_path) + b"/\xff")
    Path(strange).mkdir()
    Path(strange, "a.txt").write_bytes(b"a\n")
    assert "udcff' is not UTF-8" in refusal(local.pin_text, strange)


def test_titles_are_the_names_of_what_was_pinned(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert local.title_of("notes.md") == "notes.md"
    assert local.title_of("b") == local.title_of("b/../b/") == "b/"
    assert local.title_of(".") == "my texts/"
    assert local.title_of("*.md") == "my texts/*.md"
    assert local.title_of(f"{folder.parent}/my*/**/*.txt") == f"{folder.parent.name}/my*/**/*.txt"


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
    assert held(tmp_path / "raw") == {"b/two.txt": b"two\n", "one.TXT": b"one\n"}
    (folder / "three.txt").write_bytes(b"three\n")
    with pytest.raises(UserError) as caught:
        raw.store("local", corpus, tmp_path / "downloads", tmp_path / "raw2")
    message = str(caught.value)
    assert "no longer matches its pin: pinned were 2 file(s) of 8 bytes" in message
    assert "now there are 3 of 14 bytes" in message
    assert message.endswith(f"-> textmill pin '{folder}'")


def test_a_pinned_text_that_is_gone_may_be_replaced_by_another(
    folder: Path, tmp_path: Path
) -> None:
    corpus = own(folder, local.digest(str(folder))[1])
    folder.rename(tmp_path / "my text")
    message = refusal(local.gather, "local", corpus)
    assert message.startswith(f"corpus local: there is no file or folder {folder} (no my texts in")
    assert 'did you mean "my text"?' in message
    assert message.endswith("; or pin another text: textmill pin PATH")


def test_the_template_without_a_path_says_how_to_pin(corpus_of: Callable[..., Corpus]) -> None:
    template = Corpus(
        title="t", licence="l", splits=ShareSplits(by="share"), cleaning="plain", path=""
    )
    with pytest.raises(UserError, match="textmill pin PATH"):
        local.gather("local", template)


def test_a_link_is_pinned_by_its_own_name(tmp_path):
    (tmp_path / "text.txt").write_text("one two\n")
    (tmp_path / "link.txt").symlink_to("text.txt")
    pinned = local.pin_text(str(tmp_path / "link.txt"))
    assert pinned["path"] == str(tmp_path / "link.txt")
    assert local.digest(pinned["path"])[1] == pinned["digest"]
    assert local.title_of(str(tmp_path / "link.txt")) == "link.txt"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A folder with rows of several kinds, compressed ones among them, and other files."""
    folder = tmp_path / "mine"
    (folder / "more").mkdir(parents=True)
    lines = b'{"text": "one"}\n{"text": "two"}\n'
    (folder / "a.jsonl").write_bytes(lines)
    (folder / "more/b.JSONL.gz").write_bytes(gzip.compress(lines))
    (folder / "c.tsv.xz").write_bytes(lzma.compress(b"text\nthree\n"))
    (folder / "notes.txt").write_bytes(b"no row\n")
    (folder / "README").write_bytes(b"no row\n")
    (folder / "d.tar.gz").write_bytes(b"none either")
    return folder


def test_a_folder_of_rows_gives_its_rows_unpacked_and_tells_the_rest(
    rows: Path, tmp_path: Path
) -> None:
    names = [file.name for file in find(str(rows), "row")]
    assert names == ["a.jsonl", "c.tsv.xz", "more/b.JSONL.gz"]
    assert tally(names) == "1 .jsonl, 1 .jsonl.gz, 1 .tsv.xz"
    assert tally(left_out(str(rows), "row")) == "1 without an ending, 1 .tar.gz, 1 .txt"
    assert [file.name for file in find(str(rows))] == ["notes.txt"]
    corpus = Corpus(
        title="t",
        licence="l",
        splits=ShareSplits(by="share"),
        cleaning="plain",
        documents="row",
        **pin_text(str(rows), kind="row"),
    )
    raw.store("local", corpus, tmp_path / "downloads", tmp_path / "raw")
    files = files_of(tmp_path / "raw")
    assert sorted(files) == ["a.jsonl", "c.tsv", "more/b.JSONL"]
    documents = Reader(files, Reading(kind="row")).documents()
    assert [d.text for d in documents] == ["one", "two", "three", "one", "two"]
    record = json.loads((tmp_path / "raw/source.json").read_text())
    packed = {file["name"]: file.get("packed", {}) for file in record["files"]}
    pinned = {file.name: sha256_of(file.path) for file in find(str(rows), "row")}
    assert packed.pop("a.jsonl") == {}  # the pin covers it as it lies in data/raw
    assert {one["name"]: one["sha256"] for one in packed.values()} == {
        name: pinned[name] for name in ("c.tsv.xz", "more/b.JSONL.gz")
    }
    (rows / "c.tsv").write_bytes(b"text\nfour\n")
    corpus = replace(corpus, **pin_text(str(rows), kind="row"))
    with pytest.raises(UserError, match=r"c\.tsv\.xz and another file both hold c\.tsv"):
        raw.store("local", corpus, tmp_path / "downloads", tmp_path / "raw2")


@pytest.mark.parametrize("name", ["essay.txt", "rows.tar.gz", "essay.jsonl.txt", "README"])
def test_rows_are_refused_in_files_of_another_kind(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"a\n")
    for text in (tmp_path / name, tmp_path / "*"):
        with pytest.raises(UserError, match=f"^{name}: rows are read from .jsonl, .ndjson"):
            find(str(text), "row")
    (tmp_path / name).rename(tmp_path / "essay.jsonl.gz")
    assert [file.name for file in find(str(tmp_path / "*"), "row")] == ["essay.jsonl.gz"]


def test_a_folder_without_rows_says_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_bytes(b"x")
    with pytest.raises(UserError) as caught:
        find(str(tmp_path), "row")
    assert "no .jsonl, .ndjson, .parquet, .csv or .tsv file in the folder" in str(caught.value)
    assert "(there are 1 .md)" in str(caught.value)
    with pytest.raises(UserError, match=r"for rows set corpora\.local\.documents: row"):
        find(str(tmp_path))
