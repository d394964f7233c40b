from pathlib import Path

import pytest

from tests.text.packed import KINDS, compress, tar_of
from textmill.text.archive import packing_of
from textmill.text.names import ArchiveError
from textmill.text.packing import Packing, by_name

TAR = tar_of(("a.txt", b"one"))


@pytest.mark.parametrize(
    ("name", "packing"),
    [
        ("a.zip", Packing("zip", "", "a")),
        ("a-1.0-py3-none-any.whl", Packing("zip", "", "a-1.0-py3-none-any")),
        ("a.tar", Packing("tar", "", "a")),
        ("A.Tar.GZ", Packing("tar", "gz", "A")),
        ("a.tgz", Packing("tar", "gz", "a")),
        ("a.tbz2", Packing("tar", "bz2", "a")),
        ("a.txz", Packing("tar", "xz", "a")),
        ("a.tar.zst", Packing("tar", "zst", "a")),
        ("a.txt.zst", Packing("", "zst", "a.txt")),
        ("a.gz", Packing("", "gz", "a")),
        ("a.txt", None),
        ("gz", None),
        ("a.gz.txt", None),
    ],
)
def test_the_ending_of_a_name_says_how_it_is_packed(name: str, packing: Packing | None) -> None:
    assert by_name(name) == packing


@pytest.mark.parametrize("kind", ["", *KINDS])
def test_an_entry_with_members_looks_into_a_file_whose_name_says_nothing(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "books.dat"
    path.write_bytes(compress(TAR, kind))
    assert packing_of(path, path.name, has_members=True) == Packing("tar", kind, path.name)
    assert packing_of(path, path.name, has_members=False) is None, "the ending is not an archive's"
    in_words = f"tar.{kind}".rstrip(".")
    with pytest.raises(ArchiveError, match=f"is a {in_words} archive, and take does not say"):
        packing_of(path, "books", has_members=False)


def test_a_name_that_says_something_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(TAR)
    assert packing_of(path, "a.zip", has_members=True) == Packing("zip", "", "a")


def test_members_are_not_looked_for_in_a_plain_text(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b"BZh is no archive")
    with pytest.raises(ArchiveError, match="neither its name nor its content"):
        packing_of(path, path.name, has_members=True)
    assert packing_of(path, "plain", has_members=False) is None
    path.write_bytes(compress(b"one", "bz2")[:20])
    with pytest.raises(ArchiveError, match="not a whole bz2 file"):
        packing_of(path, "plain", has_members=False)
