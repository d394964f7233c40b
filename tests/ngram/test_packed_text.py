"""Damaged and foreign text files of models and counts: one message with the line that was reached."""

import bz2
import gzip
import lzma

import pytest

from textmill.base.errors import UserError
from textmill.ngram.arpa_read import read_arpa
from textmill.ngram.counts_text import read_counts
from textmill.ngram.packed_text import reading

LINES = [f"word{i}\t{i * i}" for i in range(20_000)]
TEXT = "\n".join(LINES).encode()
PACKERS = {".gz": gzip, ".bz2": bz2, ".xz": lzma}


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_cut_file_names_the_first_line_that_is_not_whole(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    packed = PACKERS[suffix].compress(TEXT)
    path.write_bytes(packed[: len(packed) // 2])
    read = []
    with pytest.raises(UserError) as error, reading(path) as file:
        read.extend(file)
    where = str(error.value).split(":")[0]
    line = int(where.removeprefix(f"{path}, line ").replace(",", ""))
    assert "it is cut off or damaged" in str(error.value)
    assert "-> copy it anew" in str(error.value)
    assert read == [f"{one}\n" for one in LINES[: len(read)]]
    # Text is decoded some thousand bytes at a time, so the last of them were not handed out.
    assert len(read) < line < len(read) + 2000 < len(LINES)


@pytest.mark.parametrize("suffix", PACKERS)
def test_bytes_that_were_changed_are_damage(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    packed = bytearray(PACKERS[suffix].compress(TEXT))
    for at in range(len(packed) // 2, len(packed) // 2 + 40):
        packed[at] ^= 0x5A
    path.write_bytes(packed)
    with (
        pytest.raises(UserError, match=r"line [\d,]+: it is cut off or damaged"),
        reading(path) as file,
    ):
        file.read()


@pytest.mark.parametrize("suffix", ["", *PACKERS])
@pytest.mark.parametrize("read", [read_arpa, read_counts])
def test_what_is_not_utf8_is_named_with_its_line(tmp_path, suffix, read):
    path = tmp_path / f"x{suffix}"
    lines = [one.encode() for one in LINES]
    lines[7776] = "caf\u00e9\t1".encode("latin-1")
    data = b"\n".join(lines)
    path.write_bytes(PACKERS[suffix].compress(data) if suffix else data)
    with pytest.raises(UserError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}, line 7,777: it is not UTF-8")
    assert "-> save it as UTF-8" in str(error.value)


def test_an_error_of_the_machine_stays_what_it_is(tmp_path):
    with pytest.raises(IsADirectoryError), reading(tmp_path):
        pass
