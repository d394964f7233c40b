"""Files that are flushed while they are written."""

import errno
import os

import pytest

from textmill.base import behind
from textmill.base.behind import opened_behind


@pytest.fixture
def flushed(monkeypatch):
    """How long the file was at every flush; a piece is four bytes."""
    lengths = []

    def fsync(descriptor):
        lengths.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(behind, "PIECE", 4)
    monkeypatch.setattr(os, "fsync", fsync)
    return lengths


def test_every_byte_is_written_and_pieces_are_flushed_before_the_end(tmp_path, flushed):
    path = tmp_path / "file"
    with opened_behind(path) as file:
        assert file.write(b"one") == 3
        assert flushed == []
        file.write(memoryview(b"two"))
        file.end()
        assert flushed == [6]
        file.write(b"3")
    assert path.read_bytes() == b"onetwo3"
    assert flushed == [6]


def test_a_flush_that_fails_is_an_error_of_writing(tmp_path, flushed, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"), opened_behind(tmp_path / "file") as file:
        file.write(b"four")
