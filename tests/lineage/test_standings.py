"""A leaderboard that is not of the text that params.yaml names says so."""

import pytest

from textmill.lineage import params, standings

PARAMS = """\
corpus: local
corpora:
  local: {path: '', digest: '', files: 0, bytes: 0}
  other: {sources: [x]}
"""


@pytest.fixture
def board():
    def of(corpus):
        text = type("Text", (), {"corpus": corpus})()
        return type("Board", (), {"text": text})()

    return of


def test_a_leaderboard_of_another_corpus_or_a_changed_text_says_so(board, tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "text.txt").write_text("one\n")
    params.pin(str(tmp_path / "text.txt"), tmp_path)
    assert standings.out_of_date(board("local"), tmp_path) is None
    assert "this is corpus sotu; params.yaml says local" in standings.out_of_date(
        board("sotu"), tmp_path
    )
    (tmp_path / "text.txt").write_text("one\ntwo\n")
    assert "text.txt changed after it was pinned" in standings.out_of_date(board("local"), tmp_path)
    (tmp_path / "text.txt").unlink()
    assert "textmill pin" in standings.out_of_date(board("local"), tmp_path)
    params.choose_corpus("other", tmp_path)
    assert standings.out_of_date(board("other"), tmp_path) is None
