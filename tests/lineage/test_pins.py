"""A text pinned by the members of its archive, or by the sha1 of its download."""

import hashlib
import io
import json
import tarfile
import zipfile

import pytest
from ruamel.yaml import YAML

from textmill.lineage import pins
from textmill.text import raw
from textmill.text.catalogue import Corpus, ShareSplits

NAMES = {
    "one folder": ("p/a.txt", "p/b.txt"),
    "one name in two folders": ("p/a.txt", "p/z/a.txt"),
    "a name that ends like another": ("p/a.txt", "p/z/p/a.txt", "p/za.txt"),
    "no folder": ("a.txt", "z/a.txt"),
}


def in_full(**changes):
    entry = {"title": "T", "licence": "CC0", "cleaning": "plain", "splits": {"by": "share"}}
    return entry | changes


def stored(tmp_path, data, filename, **fields):
    """A repository whose raw folder holds a download of these bytes, and its entry."""
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / filename).write_bytes(data)
    entry = in_full(sources=["file:/nowhere"], filename=filename, **fields)
    corpus = Corpus(**entry | {"splits": ShareSplits(by="share"), "sources": ("file:/nowhere",)})
    (tmp_path / "data/raw").mkdir(parents=True)
    raw.store("tales", corpus, tmp_path / "downloads", tmp_path / "data/raw")
    pinned(tmp_path, entry)
    return entry


def pinned(root, entry):
    with (root / "params.yaml").open("w") as file:
        YAML(typ="safe").dump({"corpus": "tales", "corpora": {"tales": entry}}, file)


def first_broken(root):
    return next((broken for check in pins.checks(root) if (broken := check())), None)


def zipped(names):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, f"the text of {name}\n")
    return packed.getvalue()


def tarred(names):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in names:
            data = f"the text of {name}\n".encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize(("pack", "filename"), [(zipped, "t.zip"), (tarred, "t.tar")])
def test_members_are_held_against_their_own_files(tmp_path, names, pack, filename):
    sha256 = {name: hashlib.sha256(f"the text of {name}\n".encode()).hexdigest() for name in names}
    entry = stored(tmp_path, pack(names), filename, members=sha256)
    assert first_broken(tmp_path) is None
    for name in names:
        pinned(tmp_path, entry | {"members": sha256 | {name: "b" * 64}})
        broken = first_broken(tmp_path)
        assert broken.expected == f"{name} sha256 {'b' * 64}"
        assert broken.found == f"{name} sha256 {sha256[name]}"
        assert broken.next_step == "dvc repro download"


def test_a_member_that_was_pinned_later_is_not_there(tmp_path):
    sha256 = {name: hashlib.sha256(f"the text of {name}\n".encode()).hexdigest() for name in "ab"}
    entry = stored(tmp_path, zipped("ab"), "t.zip", members=sha256)
    pinned(tmp_path, entry | {"members": sha256 | {"c": "c" * 64}})
    assert first_broken(tmp_path).found == "c sha256 None"


def test_a_download_is_held_against_its_sha1(tmp_path):
    data = b"once upon a time\n"
    entry = stored(tmp_path, data, "tale.txt", sha1=hashlib.sha1(data).hexdigest())
    assert first_broken(tmp_path) is None
    pinned(tmp_path, entry | {"sha1": "d" * 40})
    broken = first_broken(tmp_path)
    assert broken.expected == f"sha1 {'d' * 40}"
    assert broken.found == f"sha1 {entry['sha1']}"


def test_a_download_that_changed_with_its_record_does_not_fit_its_sha1(tmp_path):
    data = b"once upon a time\n"
    stored(tmp_path, data, "tale.txt", sha1=hashlib.sha1(data).hexdigest())
    other = b"once upon a lime\n"
    (tmp_path / "data/raw/files/tale.txt").write_bytes(other)
    source = tmp_path / "data/raw/source.json"
    record = json.loads(source.read_text())
    for file in (record["download"], *record["files"]):
        file["sha256"] = hashlib.sha256(other).hexdigest()
    source.write_text(json.dumps(record))
    assert first_broken(tmp_path).found == f"sha1 {hashlib.sha1(other).hexdigest()}"
    (tmp_path / "data/raw/files/tale.txt").unlink()
    assert "the file is not there" in first_broken(tmp_path).found
