import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from textmill.base.errors import UserError
from textmill.base.files import read_json
from textmill.text import archive, raw
from textmill.text.catalogue import Corpus

MakeZip = Callable[..., Path]
MakeCorpus = Callable[..., Corpus]
# echo -n one | sha256sum, and so on
ONE = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
TWO = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"


@pytest.mark.parametrize(
    ("member", "why"),
    [
        ("../x", "would land outside"),
        ("a/../../x", "would land outside"),
        ("/etc/x", "would land outside"),
        ("C:x", "would land outside"),
        ("a\\x", "backslash"),
    ],
)
def test_a_member_that_leads_outside_is_refused(member: str, why: str, zip_of: MakeZip) -> None:
    path = zip_of({"good.txt": b"one", member: b"bad"})
    with pytest.raises(archive.ArchiveError, match=why), archive.opened(path):
        pass


def test_a_link_and_a_name_that_is_there_twice_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "link.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(link, "/etc/passwd")
    with pytest.raises(archive.ArchiveError, match=r"link\.txt is a link"), archive.opened(path):
        pass
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("a", "2")
    with pytest.raises(archive.ArchiveError, match="a is there twice"), archive.opened(path):
        pass


def test_an_archive_with_a_bad_member_gives_one_message_and_no_file(
    zip_of: MakeZip, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    source = zip_of({"a/one.txt": b"one", "../x": b"bad"})
    corpus = corpus_of(b"", str(source), members={"a/one.txt": ONE}, filename="t.zip")
    with pytest.raises(UserError, match=r"made\.zip: the member \.\./x would land outside"):
        raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    assert not (tmp_path / "x").exists()
    assert list((tmp_path / "downloads").iterdir()) == []


def test_members_are_pinned_whatever_the_packing_of_the_archive(
    zip_of: MakeZip, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    members = {"a/one.txt": b"one", "a/b/two.txt": b"two"}
    pins = {"a/one.txt": ONE, "a/b/two.txt": TWO}
    folders = []
    for name, extra in (("x.zip", {}), ("y.zip", {"README": b"packed by somebody else"})):
        source = zip_of(members | extra, name)
        corpus = corpus_of(b"", str(source), members=pins, filename="t.zip")
        folder = tmp_path / f"raw-{name}"
        raw.store("tale", corpus, tmp_path / f"downloads-{name}", folder)
        folders.append(folder)
    assert raw.read(folders[0]) == {"b/two.txt": b"two", "one.txt": b"one"}
    assert raw.read(folders[1]) == raw.read(folders[0])
    about = [read_json(folder / "source.json") for folder in folders]
    assert (
        about[0]["files"]
        == about[1]["files"]
        == [
            {"name": "b/two.txt", "bytes": 3, "sha256": TWO},
            {"name": "one.txt", "bytes": 3, "sha256": ONE},
        ]
    )
    assert about[0]["download"] == about[1]["download"] == {"name": "t.zip"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"a/one.txt": b"One"}, "the sha256 of its member a/one.txt is"),
        ({"one.txt": b"one"}, "has no member a/one.txt"),
    ],
)
def test_an_archive_whose_members_differ_is_refused(
    data: dict[str, bytes], why: str, zip_of: MakeZip, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    corpus = corpus_of(b"", str(zip_of(data)), members={"a/one.txt": ONE}, filename="t.zip")
    with pytest.raises(UserError, match=why) as caught:
        raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    assert f"t.zip (a zip with these members and sha256: a/one.txt {ONE})" in str(caught.value)


def test_a_truncated_or_damaged_archive_is_refused(
    zip_of: MakeZip, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    noise = bytes(range(256)) * 8
    path = zip_of({"a": noise})
    whole = path.read_bytes()
    for data in (whole[:-30], whole[:100] + b"\0\0\0\0" + whole[104:]):
        path.write_bytes(data)
        corpus = corpus_of(b"", str(path), members={"a": ONE}, filename="t.zip")
        with pytest.raises(UserError, match="not a whole zip file"):
            raw.store("tale", corpus, tmp_path / "downloads", tmp_path / f"raw{len(data)}")


def test_take_picks_members_by_pattern_and_a_pattern_without_a_member_is_refused(
    zip_of: MakeZip, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    path = zip_of({"p/d/1.txt": b"one", "p/d/2.txt": b"two", "p/code.py": b"x"}, "w.whl")
    data = path.read_bytes()
    corpus = corpus_of(data, str(path), take=("p/d/*.txt",), filename="w.whl")
    raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    assert raw.read(tmp_path / "raw") == {"1.txt": b"one", "2.txt": b"two"}
    about = read_json(tmp_path / "raw/source.json")
    assert about["download"] == {"name": "w.whl", "bytes": len(data), "sha256": corpus.sha256}
    assert about["asked"]["take"] == ["p/d/*.txt"]
    assert about["licence"] == "public domain"
    none = corpus_of(data, str(path), take=("p/*.csv",), filename="w.whl")
    with pytest.raises(UserError, match=r"has no member that fits p/\*\.csv"):
        raw.store("tale", none, tmp_path / "downloads", tmp_path / "raw2")
