"""params.yaml is edited as a person would: the named lines change, nothing else."""

import shutil

import pytest

from textmill.base.errors import UserError
from textmill.lineage import params
from textmill.repository.stages import read_yaml


@pytest.fixture
def repository(root, tmp_path):
    shutil.copy(root / "params.yaml", tmp_path / "params.yaml")
    return tmp_path


def changed_lines(repository, before):
    after = (repository / "params.yaml").read_text().splitlines()
    assert len(after) == len(before.splitlines())
    return [
        new.replace("'", "")
        for old, new in zip(before.splitlines(), after, strict=True)
        if old != new
    ]  # quotes stay as they were


def test_choosing_a_corpus_changes_one_line(repository):
    before = (repository / "params.yaml").read_text()
    params.choose_corpus("wikitext2", repository)
    assert changed_lines(repository, before) == ["corpus: wikitext2"]


def test_pinning_writes_title_path_and_digest(repository):
    before = (repository / "params.yaml").read_text()
    (repository / "my text.txt").write_text("one\ntwo\n")
    pinned = params.pin(str(repository / "my text.txt"), repository)
    assert pinned["bytes"] == 8
    assert changed_lines(repository, before) == [
        "corpus: local",
        "    title: my text.txt",
        "    path: my text.txt",
        f"    digest: {pinned['digest']}",
        "    files: 1",
        "    bytes: 8",
    ]


def _edit(path, fields):
    params._edit(path, {f"corpora.local.{name}": value for name, value in fields.items()})


def local_entry(repository):
    return read_yaml(repository / "params.yaml")["corpora"]["local"]


def test_the_title_follows_the_pinned_text_until_the_user_gives_one(repository, tmp_path):
    assert local_entry(repository)["title"] == params.DEFAULT_TITLE
    for name in ("essays/a.txt", "book.txt", "notes/b.txt"):
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("text\n")
    titles = []
    for text in ("essays", "book.txt", "notes/*.txt", "essays/a.txt"):
        params.pin(str(repository / text), repository)
        titles.append(local_entry(repository)["title"])
    assert titles == ["essays/", "book.txt", "notes/*.txt", "a.txt"]
    params.pin(str(repository / "essays"), repository)
    (repository / "essays").rename(repository / "gone")
    params.pin(str(repository / "book.txt"), repository)
    assert local_entry(repository)["title"] == "book.txt", "whatever became of the old text"
    text = (repository / "params.yaml").read_text()
    (repository / "params.yaml").write_text(text.replace("title: book.txt", "title: My diary"))
    assert "title" not in params.pin(str(repository / "gone"), repository)
    assert local_entry(repository)["title"] == "My diary"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (".", "the folder . is this repository, with data/raw and all that DVC keeps"),
        ("..", "the folder .. holds this repository"),
        ("data", "data/raw/files/a.txt lies in data/, which belongs to the pipeline"),
        ("data/raw/files/a.txt", "lies in data/"),
        ("**/*.txt", "lies in data/"),
        (".venv/lib", "lies in .venv/"),
        ("link", "lies in data/"),
    ],
)
def test_the_pipelines_own_folders_are_no_text(repository, monkeypatch, text, why):
    for own in ("data/raw/files/a.txt", ".venv/lib/top_level.txt", "essays/a.txt"):
        (repository / own).parent.mkdir(parents=True, exist_ok=True)
        (repository / own).write_text("text\n")
    (repository / "link").symlink_to("data/raw/files")
    before = (repository / "params.yaml").read_text()
    monkeypatch.chdir(repository)
    with pytest.raises(UserError) as caught:
        params.pin(text)
    assert why in str(caught.value)
    assert (repository / "params.yaml").read_text() == before
    assert params.pin("essays")["files"] == 1


NUL = "it is no text: a NUL at byte "
UTF_16 = (
    "ab\ncd\ne\0\u0100\n"  # U+0100 begins with a NUL in one order, and ends with one in the other
)


@pytest.mark.parametrize(
    ("data", "fields", "why"),
    [
        (
            b"a\nb\nc\0d\n",
            {},
            f"{NUL}5, line 3\n  -> leave it out; or, if it is UTF-16, set corpora.",
        ),
        (b"\xef\xbb\xbfa\n\0", {}, f"{NUL}5, line 2"),
        (b"\x89PNG\r\n\x1a\n\0", {}, "not UTF-8 at byte 0, line 1 (invalid start byte)"),
        (b"a\ncaf\xe9\n", {}, "at byte 5, line 2"),
        (b"caf\xe9\n\0", {"encoding": "latin-1"}, f"{NUL}5, line 2"),
        (b"caf\xe9\n\0", {"decoding_errors": "replace"}, f"{NUL}5, line 2"),
        (b"caf\n\0", {"encoding": "utf-8-sig"}, f"{NUL}4, line 2"),
        (b"\xef", {"encoding": "utf-8-sig"}, "not UTF-8 at byte 0, line 1"),
        (UTF_16.encode("utf-16-le"), {"encoding": "utf-16-le"}, f"{NUL}14, line 3"),
        (UTF_16.encode("utf-16-be"), {"encoding": "utf-16-be"}, f"{NUL}14, line 3"),
        (UTF_16.encode("utf-16"), {}, f"{NUL}16, line 3"),
        (b"\n\\data\\\nngram 1=3\n", {}, "it is a language model in ARPA's format, not a text"),
        (b"a\n", {"encoding": "utf8x"}, 'encoding: no encoding "utf8x" is known'),
        (b"PK\x03\x04 and more", {}, "it is packed (zip), not text\n  -> unpack it"),
        (b"\x1f\x8b\x08 and more", {}, "it is packed (gz), not text"),
        (b"a,text\n1,b\0\n", {"documents": "row"}, f"{NUL}10, line 2"),
    ],
)
def test_a_file_that_is_no_text_is_not_pinned(repository, data, fields, why):
    _edit(repository / "params.yaml", fields)
    before = (repository / "params.yaml").read_text()
    (repository / "texts").mkdir()
    suffix = ".csv" if fields.get("documents") == "row" else ".txt"
    (repository / f"texts/good{suffix}").write_text("text\na\n", encoding="utf-16")
    (repository / f"texts/odd{suffix}").write_bytes(data)
    with pytest.raises(UserError) as caught:
        params.pin(str(repository / "texts"), repository)
    assert why in str(caught.value)
    assert "\n  -> " in str(caught.value)
    assert (repository / "params.yaml").read_text() == before
    (repository / f"texts/odd{suffix}").unlink()
    assert fields.get("encoding") == "utf8x" or params.pin(str(repository / "texts"), repository)


def test_what_decodes_as_declared_is_pinned(repository):
    for name, data in (
        ("a.csv", b"text\na\n"),
        ("b.jsonl.gz", b"\x1f\x8b\x08"),
        ("c.parquet", b"PAR1\0"),
    ):
        (repository / name).write_bytes(data)
    (repository / "texts").mkdir()
    (repository / "texts/a.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    _edit(repository / "params.yaml", {"decoding_errors": "replace"})
    assert params.pin(str(repository / "texts"), repository)["files"] == 1
    _edit(repository / "params.yaml", {"documents": "row"})
    assert params.pin(str(repository / "?.[cjp]*"), repository)["files"] == 3


def test_an_unknown_corpus_leaves_the_file_alone(repository):
    before = (repository / "params.yaml").read_text()
    with pytest.raises(UserError, match='did you mean "sotu"'):
        params.choose_corpus("soto", repository)
    assert (repository / "params.yaml").read_text() == before


@pytest.mark.parametrize("name", ["essay.jsonl", "essay.CSV", "essay.tsv.gz"])
def test_rows_are_not_pinned_as_plain_text(repository, name):
    (repository / name).write_text('{"text": "a line"}\n' * 30)
    with pytest.raises(UserError, match=f"^params.yaml.*{name} holds rows") as refused:
        params.pin(str(repository / name), repository)
    assert "`documents: row`" in refused.value.next_step
    assert "corpus: sotu" in (repository / "params.yaml").read_text()
