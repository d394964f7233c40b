"""Bad input, a full and a read-only disk through the stages download, clean and vocabulary."""

import gzip
import json
import subprocess

import pytest

from tests.inside import run_step
from tests.pipeline_steps.corpus_half import make, record
from tests.text.cleaning import LISTS
from textmill.base.files import read_table
from textmill.text.local import digest

LINES = b"".join(b"line %d of a text that is long enough\n" % number for number in range(100_000))

ROWS = b"".join(b'{"text": "row %d"}\n' % number for number in range(2_000))
PACKED = gzip.compress(ROWS)


def cleaned(repository):
    for step in ("download", "clean"):
        ended = run_step(repository, step)
        if ended.returncode:
            return ended
    return ended


def refusal(ended):
    assert ended.returncode == 1
    assert "Traceback" not in ended.said
    assert "\n  -> " in ended.said
    return ended.said


def left(folder):
    """What a refused stage has left, hidden files too."""
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("filler", [b"x", b"word "], ids=["a word", "a line"])
def test_a_megabyte_in_one_piece_is_cleaned_like_any_other(tmp_path, filler):
    long = (filler * (1_000_000 // len(filler))).strip()
    data = b"\n".join([long, *(b"line %d" % number for number in range(20))]) + b"\n"
    ended = cleaned(make(tmp_path, data))
    assert ended.returncode == 0, ended.said
    texts = read_table(tmp_path / "data/clean/train.arrow")["text"].to_pylist()
    assert texts[0].split("\n")[0].encode() == long
    assert sum(record(tmp_path / "metrics/clean.json")["bytes"].values()) == len(data)


def test_one_byte_is_told_how_many_lines_are_needed(tmp_path):
    said = refusal(cleaned(make(tmp_path, b"x")))
    assert "the text has 1 line after cleaning, and at least 6 are needed" in said
    assert left(tmp_path / "data/clean") == []


@pytest.mark.parametrize("kind", ["line", "paragraph", "file"])
def test_a_wrong_byte_behind_documents_that_were_written_leaves_none_of_them(tmp_path, kind):
    repository = make(tmp_path, LINES + b"caf\xe9\n", documents=kind)
    said = refusal(cleaned(repository))
    assert f"byte {len(LINES) + 3:,}" in said
    assert [path.parent.name for path in left(tmp_path / "data")] == ["raw", "files"]
    assert not (tmp_path / "metrics").exists()
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"text": "\\ud800"}\n', "it is not a whole .jsonl file"),
        (b'{"text": "\xed\xa0\x80"}\n', "not UTF-8 at byte"),
        (b'{"text": "a"', "it is not a whole .jsonl file"),
        (b'{"n": 1}\r{"n": 2}\r', "set text_column to one of: n"),
    ],
)
def test_json_that_is_no_text_is_one_message(tmp_path, data, words):
    assert words in refusal(cleaned(make(tmp_path, data, "rows.jsonl", documents="row")))
    assert left(tmp_path / "data/clean") == []


def test_a_damaged_row_behind_whole_ones_leaves_none_of_them(tmp_path):
    repository = make(tmp_path, ROWS + b'{"text": "a"', "rows.jsonl", documents="row")
    assert "it is not a whole .jsonl file" in refusal(cleaned(repository))
    assert left(tmp_path / "data/clean") == []


@pytest.mark.parametrize(
    ("data", "changes", "words"),
    [
        (PACKED[: len(PACKED) // 2], {}, "rows.jsonl.gz: not a whole gz file"),
        (PACKED[:50] + b"\0\0\0" + PACKED[53:], {}, "rows.jsonl.gz: not a whole gz file"),
        (b"no gzip at all", {}, "rows.jsonl.gz: not a whole gz file"),
        (
            PACKED,
            {"unpack_limit": len(ROWS) - 1},
            f"more than unpack_limit: {len(ROWS) - 1:,} bytes",
        ),
    ],
    ids=["cut short", "damaged", "another kind", "too large"],
)
def test_rows_of_ones_own_that_cannot_be_unpacked_are_one_message(tmp_path, data, changes, words):
    repository = own_rows(tmp_path, data, changes)
    ended = run_step(repository, "download")
    assert words in refusal(ended)
    assert left(tmp_path / "data") == []
    enough = own_rows(tmp_path, PACKED, {"unpack_limit": len(ROWS)})
    assert cleaned(enough).returncode == 0
    assert record(tmp_path / "data/clean/summary.json")["documents"]["train"] > 1_000


def own_rows(root, data, changes):
    """A repository of a text of one's own, compressed rows."""
    make(root, data, "rows.jsonl.gz")
    path = root / "there/rows.jsonl.gz"
    entry = {"title": "T", "licence": "CC0", "cleaning": "plain", "documents": "row"}
    entry |= {"splits": {"by": "share"}, "path": str(path), "digest": digest(str(path), "row")[1]}
    params = {"corpus": "t", "corpora": {"t": entry | changes}, "profiles": LISTS}
    (root / "params.yaml").write_text(json.dumps(params | {"tokenizers": {}}))
    return root


@pytest.fixture
def on_small_disk(tmp_path, small_disk):
    """A repository whose data lie on a disk of 64 KB, but for the raw file and what is given."""
    repository = make(tmp_path, LINES[:400_000], tokenizers={"word": {"kind": "word"}})
    for step in ("download", "clean"):
        assert run_step(repository, step).returncode == 0
    (tmp_path / "data").rename(tmp_path / "roomy")
    (tmp_path / "data").symlink_to(small_disk)
    for name in ("raw", "clean"):
        (small_disk / name).symlink_to(tmp_path / "roomy" / name)
    return repository


WRITTEN = {"clean": [], "vocabulary": ["word"]}


@pytest.mark.parametrize("step", WRITTEN)
def test_a_full_disk_is_one_message_and_leaves_nothing(on_small_disk, small_disk, step):
    if step == "clean":
        (small_disk / "clean").unlink()
    said = refusal(run_step(on_small_disk, step, *WRITTEN[step]))
    assert "No space left on device" in said
    assert left(small_disk) == []
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert run_step(on_small_disk, step, *WRITTEN[step]).returncode == 0


@pytest.mark.parametrize("step", WRITTEN)
def test_a_read_only_disk_is_one_message(on_small_disk, small_disk, step):
    if step == "clean":
        (small_disk / "clean").unlink()
    there = sorted(small_disk.rglob("*"))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert "Read-only file system" in refusal(run_step(on_small_disk, step, *WRITTEN[step]))
    assert sorted(small_disk.rglob("*")) == there
