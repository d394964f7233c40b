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


def test_an_unknown_corpus_leaves_the_file_alone(repository):
    before = (repository / "params.yaml").read_text()
    with pytest.raises(UserError, match='did you mean "sotu"'):
        params.choose_corpus("soto", repository)
    assert (repository / "params.yaml").read_text() == before
