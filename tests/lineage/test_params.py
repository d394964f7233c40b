"""params.yaml is edited as a person would: the named lines change, nothing else."""

import shutil

import pytest

from textmill.base.errors import UserError
from textmill.lineage import params


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


def test_pinning_writes_path_and_digest(repository):
    before = (repository / "params.yaml").read_text()
    (repository / "my text.txt").write_text("one\ntwo\n")
    pinned = params.pin(str(repository / "my text.txt"), repository)
    assert pinned["bytes"] == 8
    assert changed_lines(repository, before) == [
        "corpus: local",
        "    path: my text.txt",
        f"    digest: {pinned['digest']}",
        "    files: 1",
        "    bytes: 8",
    ]


def test_an_unknown_corpus_leaves_the_file_alone(repository):
    before = (repository / "params.yaml").read_text()
    with pytest.raises(UserError, match='did you mean "sotu"'):
        params.choose_corpus("soto", repository)
    assert (repository / "params.yaml").read_text() == before
