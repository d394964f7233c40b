"""Files are whole or untouched, and the same content is the same bytes."""

import errno
import json
import os

import pyarrow as pa
import pytest

from textmill.base.errors import UserError, as_user_error, nearest
from textmill.base.files import (
    read_json,
    read_record,
    read_table,
    replacing,
    replacing_folder,
    sha256_of,
    write_atomically,
    write_json,
    write_table,
)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_failed_folder_leaves_the_old_folder(tmp_path):
    folder = tmp_path / "f"
    with replacing_folder(folder) as temporary:
        (temporary / "x").write_text("old")
    with pytest.raises(RuntimeError), replacing_folder(folder) as temporary:
        (temporary / "x").write_text("half")
        raise RuntimeError
    assert (folder / "x").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
@pytest.mark.parametrize("context", [replacing, replacing_folder])
def test_a_full_disk_names_the_file_that_was_written(tmp_path, context):
    """A write that fails names no file by itself."""
    with (
        pytest.raises(OSError, match="No space") as refused,
        context(tmp_path / "a"),
        open("/dev/full", "w") as full,
    ):
        full.write("x")
    said = str(as_user_error(refused.value))
    assert said.startswith(f"{tmp_path / 'a'}: No space left on device\n  -> make room")
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_cleared_by_the_next(tmp_path):
    (tmp_path / ".f.part").mkdir()
    (tmp_path / ".f.part/stale").write_text("stale")
    with replacing_folder(tmp_path / "f") as temporary:
        (temporary / "x").write_text("new")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["f", "x"]


def test_json_refuses_what_other_readers_cannot_read(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert not (tmp_path / "a.json").exists()
    write_json(tmp_path / "a.json", {"é": [1, None]})
    assert json.loads((tmp_path / "a.json").read_text()) == {"é": [1, None]}


def test_damaged_files_are_named(tmp_path):
    (tmp_path / "a.json").write_text('{"x": 1')
    with pytest.raises(UserError, match=r"a\.json is not whole JSON"):
        read_json(tmp_path / "a.json")
    with pytest.raises(UserError, match=r"there is no .*b\.json"):
        read_json(tmp_path / "b.json")
    table = pa.table({"x": list(range(1000))})
    write_table(tmp_path / "t.arrow", table)
    data = (tmp_path / "t.arrow").read_bytes()
    (tmp_path / "t.arrow").write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match=r"t\.arrow is not a whole Arrow file"):
        read_table(tmp_path / "t.arrow")


def test_a_record_of_another_shape_is_named(tmp_path):
    path = tmp_path / "r.json"
    for content in ("[]", "null", "{}", '{"kind": 1}'):
        path.write_text(content)
        with pytest.raises(UserError, match=r"r\.json is not the record .* size"):
            read_record(path, "kind", "size")
    path.write_text('{"kind": 1, "size": 2}')
    assert read_record(path, "kind", "size") == {"kind": 1, "size": 2}


def test_equal_tables_are_equal_bytes_however_they_are_chunked(tmp_path):
    whole = pa.table({"x": list(range(200_000))})
    pieces = pa.concat_tables([whole.slice(0, 7), whole.slice(7)])
    write_table(tmp_path / "a", whole)
    write_table(tmp_path / "b", pieces)
    assert sha256_of(tmp_path / "a") == sha256_of(tmp_path / "b")
    assert read_table(tmp_path / "a")["x"].num_chunks == 1


def test_an_error_says_where_what_and_the_next_step():
    error = UserError("no such thing", where="params.yaml", next_step="dvc repro")
    assert str(error) == "params.yaml: no such thing\n  -> dvc repro"
    assert nearest("hiden", ["hidden", "layers"]) == '; did you mean "hidden"?'
    assert nearest("zzz", ["hidden", "layers"]) == ""


def test_what_the_system_refuses_is_one_message_and_a_bug_stays_a_bug():
    full = as_user_error(OSError(errno.ENOSPC, "No space left on device", "models/x"))
    assert str(full).startswith("models/x: No space left on device\n  -> ")
    with pytest.raises(FileNotFoundError):
        as_user_error(FileNotFoundError(errno.ENOENT, "No such file", "x"))
