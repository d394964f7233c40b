"""Single compressed files, of one stream and of several."""

import errno
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.cleaning import held
from tests.text.packed import KINDS, compress
from textmill.base.errors import UserError
from textmill.base.files import read_json
from textmill.text import raw
from textmill.text.catalogue import Corpus
from textmill.text.compressed import BROKEN, decompressed, is_damage

MakeCorpus = Callable[..., Corpus]
TEXT = "Grüße, gepackt\n".encode() * 5000
kinds = pytest.mark.parametrize("kind", KINDS)


def read(path: Path, kind: str, size: int = 1 << 16) -> bytes:
    with decompressed(path, kind) as stream:
        return b"".join(iter(lambda: stream.read(size), b""))


@kinds
def test_a_compressed_file_gives_one_raw_file_without_the_ending(
    kind: str, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    data = compress(TEXT[:30_000], kind) + compress(TEXT[30_000:], kind)
    (tmp_path / "source").write_bytes(data)
    corpus = corpus_of(data, str(tmp_path / "source"), filename=f"a tale.txt.{kind.upper()}")
    raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    assert held(tmp_path / "raw") == {"a tale.txt": TEXT}
    about = read_json(tmp_path / "raw/source.json")
    assert about["download"]["sha256"] == corpus.sha256
    assert about["files"][0]["bytes"] == len(TEXT)


@kinds
def test_a_name_without_an_ending_leaves_it_to_the_content(
    kind: str, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    data = compress(TEXT, kind)
    (tmp_path / "source").write_bytes(data)
    for name, inside in (("tale", TEXT), ("tale.txt", data)):
        corpus = corpus_of(data, str(tmp_path / "source"), filename=name)
        raw.store("tale", corpus, tmp_path / "downloads", tmp_path / f"raw-{name}")
        assert held(tmp_path / f"raw-{name}") == {name: inside}


@kinds
def test_it_can_be_pinned_by_what_it_holds(
    kind: str, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    (tmp_path / "source").write_bytes(compress(b"one", kind))
    pin = "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"  # of b"one"
    entry = {"filename": f"t.txt.{kind}", "members": {"t.txt": pin}}
    corpus = corpus_of(b"", str(tmp_path / "source"), **entry)
    raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    assert held(tmp_path / "raw") == {"t.txt": b"one"}
    (tmp_path / "source").write_bytes(compress(b"two", kind))
    with pytest.raises(UserError, match=r"the sha256 of its member t\.txt is 3fc4ccfe"):
        raw.store("tale", corpus, tmp_path / "downloads2", tmp_path / "raw2")


@kinds
def test_a_file_cut_anywhere_and_what_follows_a_stream_are_damage(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    one = compress(b"once upon a time", kind)
    for end in range(len(one)):
        for data in (one[:end], one + one[:end]):
            if data in (b"", one):  # nothing after a whole stream is a whole file
                continue
            path.write_bytes(data)
            with pytest.raises(BROKEN):
                read(path, kind)
    for junk in (b"x", b"junk that is no stream", b"\0\0junk"):
        path.write_bytes(one + junk)
        with pytest.raises(BROKEN):
            read(path, kind)
    path.write_bytes(b"")
    with pytest.raises(EOFError, match="empty"):
        read(path, kind)


@kinds
def test_what_the_tool_of_the_format_wrote_is_read(kind: str, tmp_path: Path) -> None:
    tool = {"gz": "gzip", "bz2": "bzip2", "xz": "xz", "zst": "zstd"}[kind]
    if not shutil.which(tool):
        pytest.skip(f"no {tool} here")
    path = tmp_path / "t"
    packed = [
        subprocess.run([tool, "-c"], input=part, capture_output=True, check=True).stdout
        for part in (TEXT[:7], b"", TEXT[7:])
    ]
    path.write_bytes(b"".join(packed))
    assert read(path, kind) == TEXT


def test_the_padding_between_xz_streams_is_none_of_the_text(tmp_path: Path) -> None:
    """Streams are padded to four bytes with zeros (the .xz file format, section 2.2)."""
    path = tmp_path / "t"
    path.write_bytes(compress(b"one", "xz") + bytes(8) + compress(b"two", "xz") + bytes(4))
    assert read(path, "xz") == b"onetwo"


def test_a_single_file_that_unpacks_past_its_limit_is_refused(
    corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    data = compress(bytes(30_000_000), "gz")
    (tmp_path / "source").write_bytes(data)
    entry = {"filename": "t.txt.gz", "unpack_limit": 1000}
    corpus = corpus_of(data, str(tmp_path / "source"), **entry)
    message = r"t\.txt\.gz: unpacks to more than unpack_limit: 1,000 bytes, at the member t\.txt\n"
    with pytest.raises(UserError, match=message):
        raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")


@pytest.mark.parametrize(
    ("name", "data", "same"),
    [
        ("t.txt", TEXT, True),
        ("t.txt", compress(TEXT, "gz"), True),
        ("t.txt.gz", compress(TEXT, "gz"), False),
        ("t", TEXT, True),
        ("t", compress(TEXT, "gz"), False),
    ],
)
def test_the_record_tells_whether_the_raw_file_is_what_the_pin_is_of(
    name: str, data: bytes, same: bool, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    (tmp_path / "source").write_bytes(data)
    corpus = corpus_of(data, str(tmp_path / "source"), filename=name)
    raw.store("tale", corpus, tmp_path / "downloads", tmp_path / "raw")
    (file,) = held(tmp_path / "raw").values()
    assert (file == data) == same
    assert raw.is_download(read_json(tmp_path / "raw/source.json")) == same


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    kind=st.sampled_from(KINDS),
    parts=st.lists(st.binary(max_size=5000), min_size=1),
    size=st.integers(1, 999),
)
def test_any_streams_end_to_end_are_their_contents_end_to_end(
    kind: str, parts: list[bytes], size: int, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"".join(compress(part, kind) for part in parts))
    assert read(path, kind, size) == b"".join(parts)


def test_an_error_of_the_machine_is_no_damage() -> None:
    assert not is_damage(OSError(errno.EIO, "disk"))
    assert is_damage(OSError("Invalid data stream"))
