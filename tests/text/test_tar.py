"""Tars of every compression: what is read, and what is refused."""

import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.cleaning import held
from tests.text.packed import KINDS, compress, entry, tar_of
from textmill.base.errors import UserError
from textmill.base.files import read_json
from textmill.text import archive, raw
from textmill.text.catalogue import Corpus
from textmill.text.names import ArchiveError

MakeCorpus = Callable[..., Corpus]
ONE = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"  # echo -n one | sha256sum
BIG = bytes(range(256)) * 4000
BOOKS = tar_of(
    (entry("./", tarfile.DIRTYPE), b""), ("./b/one.txt", b"one"), ("./b/c/two.txt", BIG), ("r", b"")
)


def walk(path: Path, limit: int = 1 << 30) -> dict[str, bytes]:
    packed = archive.packing_of(path, path.name, has_members=True)
    assert packed is not None
    return {m.name: b"".join(m.chunks) for m in archive.members(path, packed, limit)}


def refusal(data: bytes, tmp_path: Path, name: str = "t.tar", limit: int = 1 << 30) -> str:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ArchiveError) as caught:
        walk(tmp_path / name, limit)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["", *KINDS])
def test_members_are_taken_from_a_tar_of_every_compression(
    kind: str, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    data = compress(BOOKS, kind)
    source = tmp_path / "source"
    source.write_bytes(data)
    name = f"books.tar.{kind}".rstrip(".")
    corpus = corpus_of(data, str(source), take=("b/*.txt",), filename=name)
    raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    assert held(tmp_path / "raw") == {"c/two.txt": BIG, "one.txt": b"one"}
    assert read_json(tmp_path / "raw/source.json")["download"]["name"] == name
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == ["files", "source.json"]


def test_two_packings_of_one_tar_give_one_folder_when_members_are_pinned(
    corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    found = []
    for kind in ("gz", "xz"):
        source = tmp_path / kind
        source.write_bytes(compress(BOOKS, kind))
        corpus = corpus_of(b"", str(source), members={"b/one.txt": ONE}, filename="books")
        raw.store("tale", corpus, tmp_path / f"d{kind}", tmp_path / f"raw{kind}")
        found.append(
            (
                held(tmp_path / f"raw{kind}"),
                read_json(tmp_path / f"raw{kind}/source.json")["files"],
            )
        )
    assert found[0] == found[1]
    assert found[0][0] == {"one.txt": b"one"}


@pytest.mark.parametrize(
    ("member", "why"),
    [
        ("../x", "the member ../x would land outside the folder"),
        ("/etc/x", "the member /etc/x would land outside the folder"),
        ("a\nb", r"the member 'a\nb' has a name that cannot be printed"),
        ("b/./one.txt", "the member b/one.txt is there twice"),
        ("b/one.txt/x", "the member b/one.txt/x lies inside the file b/one.txt"),
        ("b", "the member b is there twice"),
        (entry("l", tarfile.SYMTYPE, linkname="/etc/passwd"), "the member l is a link"),
        (entry("l", tarfile.LNKTYPE, linkname="b/one.txt"), "the member l is a link"),
        (entry("d", tarfile.CHRTYPE, devmajor=1, devminor=5), "the member d is a device"),
        (entry("d", tarfile.BLKTYPE), "the member d is a device"),
        (entry("d", tarfile.FIFOTYPE), "the member d is a device"),
        (entry("v", b"V"), "the member v is neither a plain file nor a folder"),
    ],
)  # fmt: skip
def test_a_member_that_no_corpus_needs_is_named_and_refused(
    member: tarfile.TarInfo | str, why: str, tmp_path: Path
) -> None:
    assert refusal(tar_of(("b/one.txt", b"one"), (member, b"")), tmp_path) == why


def test_a_name_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    data = tar_of(("b/xx.txt", b"one"))
    header = bytearray(data[:512].replace(b"xx", b"\xe9\xe8"))
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    why = r"the member 'b/\udce9\udce8.txt' has a name that cannot be printed"
    assert refusal(bytes(header) + data[512:], tmp_path) == why


@pytest.mark.parametrize("kind", ["", *KINDS])
def test_a_tar_that_is_cut_anywhere_is_refused(kind: str, tmp_path: Path) -> None:
    whole = tar_of(*((f"{i}.txt", b"%d" % i * 700) for i in range(4)))[: 4 * 3 * 512 + 512]
    (tmp_path / "whole.tar").write_bytes(whole)
    assert len(walk(tmp_path / "whole.tar")) == 4
    packed = compress(whole, kind)
    for cut in range(1, len(packed), 1 if kind else 64):
        message = refusal(packed[:cut], tmp_path, f"t.tar.{kind}".rstrip("."))
        assert message.startswith("not a whole tar"), cut


def test_a_cut_names_the_member_that_it_cuts(tmp_path: Path) -> None:
    assert refusal(BOOKS[:4000], tmp_path) == (
        "not a whole tar file, at the member ./b/c/two.txt (unexpected end of data)"
    )


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (BOOKS[:512] + b"x" * 512 + BOOKS[1024:], "what follows at byte 512 is neither"),
        (BOOKS + BOOKS, "is neither a member nor the end"),
        (BOOKS + b"x", "is neither a member nor the end"),
        (b"", "empty file"),
        (b"x" * 2000, "invalid header"),
    ],
)
def test_what_the_library_takes_for_the_end_of_a_tar_is_refused(
    data: bytes, why: str, tmp_path: Path
) -> None:
    """A damaged header, a second tar or anything else: the members behind it would be lost."""
    assert why in refusal(data, tmp_path)


def test_a_tar_that_unpacks_past_its_limit_ends_there(tmp_path: Path) -> None:
    bomb = compress(tar_of(("a", b"one"), ("zeros", bytes(50_000_000))), "xz")
    assert len(bomb) < 10_000
    assert refusal(bomb, tmp_path, "t.tar.xz", limit=1_000_000) == (
        "unpacks to more than unpack_limit: 1,000,000 bytes, at the member zeros"
    )


def test_the_limit_of_an_entry_holds_and_leaves_nothing(
    corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    data = compress(BOOKS, "gz")
    (tmp_path / "source").write_bytes(data)
    other = {"take": ("b/*",), "filename": "t.tar.gz", "unpack_limit": len(BOOKS) - 1}
    corpus = corpus_of(data, str(tmp_path / "source"), **other)
    with pytest.raises(UserError, match="unpack_limit") as caught:
        raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    kept = tmp_path / "downloads/t.tar.gz"
    assert str(caught.value).startswith(f"corpus tale: {kept}: unpacks to more than unpack_limit")
    enough = corpus_of(data, str(tmp_path / "source"), **(other | {"unpack_limit": len(BOOKS)}))
    raw.store("tale", enough, tmp_path / "downloads", tmp_path / "raw2")
    assert held(tmp_path / "raw2")["one.txt"] == b"one"


@pytest.mark.parametrize("form", ["v7", "gnu", "ustar", "posix"])
def test_what_the_command_tar_wrote_is_read(form: str, tmp_path: Path) -> None:
    if not shutil.which("tar"):
        pytest.skip("no tar here")
    long = f"{'folder-' * 8}/{'a long name ' * 2}" if form in ("v7", "ustar") else "n" * 230
    members = {f"books/{long}.txt": b"one", "books/zwölf.txt": BIG, "books/empty": b""}
    for name, data in members.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    command = ["tar", f"--format={form}", "-cf", "t.tar", "books"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert walk(tmp_path / "t.tar") == members
    joined = (tmp_path / "t.tar").read_bytes()
    packed = compress(joined[:700], "gz") + compress(joined[700:], "gz")
    (tmp_path / "t.tgz").write_bytes(packed)
    assert walk(tmp_path / "t.tgz") == members


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(place=st.integers(0, 4 * 512), value=st.binary(min_size=1, max_size=12), kind=st.booleans())
def test_bytes_that_somebody_changed_end_in_a_refusal_or_in_safe_names(
    place: int, value: bytes, kind: bool, tmp_path: Path
) -> None:
    whole = compress(tar_of(("a", b"one"), ("b/c", b"two")), "gz" if kind else "")
    name = "t.tar.gz" if kind else "t.tar"
    place %= len(whole)
    (tmp_path / name).write_bytes(whole[:place] + value + whole[place + len(value) :])
    try:
        found = walk(tmp_path / name)
    except ArchiveError:
        return
    for member in found:
        assert (tmp_path / member).resolve().is_relative_to(tmp_path.resolve())
