"""A leaderboard that is not of the text that params.yaml names says so."""

import shutil

import pytest
from ruamel.yaml import YAML

from textmill.lineage import params, standings
from textmill.lineage.consistency import out_of_step
from textmill.repository import layout

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
        return type("Board", (), {"text": text, "models": ()})()

    return of


def test_a_leaderboard_of_another_corpus_or_a_changed_text_says_so(board, tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    (tmp_path / "text.txt").write_text("one\n")
    params.pin(str(tmp_path / "text.txt"), tmp_path)
    assert standings.out_of_date(board("local"), tmp_path) is None
    assert "this is corpus sotu; params.yaml says local" in standings.out_of_date(
        board("sotu"), tmp_path
    )
    (tmp_path / "text.txt").write_text("one\ntwo\n")
    note = standings.out_of_date(board("local"), tmp_path)
    assert "text.txt changed after it was pinned" in note
    assert note.endswith("-> textmill pin text.txt, then: dvc repro")
    (tmp_path / "text.txt").unlink()  # elsewhere: what was read of it is in data/raw
    assert standings.out_of_date(board("local"), tmp_path) is None
    params.choose_corpus("other", tmp_path)
    assert standings.out_of_date(board("other"), tmp_path) is None


def test_a_pinned_folder_of_rows_is_known_again(board, tmp_path):
    (tmp_path / "params.yaml").write_text(PARAMS.replace("local: {", "local: {documents: row, "))
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/a.jsonl").write_text('{"text": "one"}\n')
    (tmp_path / "rows/notes.txt").write_text("none of it\n")
    params.pin(str(tmp_path / "rows"), tmp_path)
    assert standings.out_of_date(board("local"), tmp_path) is None
    (tmp_path / "rows/a.jsonl").write_text('{"text": "two"}\n')
    assert "rows changed after it was pinned" in standings.out_of_date(board("local"), tmp_path)


def test_a_stage_that_has_not_run_since_a_change_says_so(board, tmp_path):
    (tmp_path / "params.yaml").write_text("corpus: other\ncorpora: {other: {sources: [x]}}\n")
    (tmp_path / "dvc.yaml").write_text("stages: {clean: {cmd: x, params: [corpus]}}\n")
    note = standings.out_of_date(board("other"), tmp_path)
    assert note == "not run since something changed: clean  -> dvc repro"


def test_scores_newer_than_the_ranking_say_so(board, tmp_path):
    (tmp_path / "params.yaml").write_text("corpus: other\ncorpora: {other: {sources: [x]}}\n")
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    (tmp_path / "scores/kn").mkdir(parents=True)
    (tmp_path / "scores/kn/summary.json").write_text('{"test": {"bits_per_byte": 1.5}}')
    ranked = board("other")
    ranked.models = (type("Entry", (), {"name": "kn", "bits_per_byte": 1.5})(),)
    assert standings.out_of_date(ranked, tmp_path) is None
    ranked.models[0].bits_per_byte = 1.6
    assert "scored anew since this ranking: kn" in standings.out_of_date(ranked, tmp_path)


def test_what_is_made_of_other_parameters_is_named_with_its_stages(made):
    model, scores, mixed = layout.model("kn3"), layout.scores("kn3"), layout.scores("mix")
    for path in (model, scores, mixed, None):
        assert out_of_step(path, made) is None
    path = made / "params.yaml"
    path.write_text(path.read_text().replace("minimum_frequency: 2", "minimum_frequency: 1"))
    note = "not run since something changed: vocabulary@word  -> dvc repro"
    for one in (model, scores, mixed, layout.model("unigram")):
        assert out_of_step(one, made) == note
    path.write_text(path.read_text().replace("order: 3", "order: 4"))
    assert "vocabulary@word, ngram@kn3" in out_of_step(model, made)
    assert "vocabulary@word, ngram@kn3" in out_of_step(root=made)
    assert out_of_step(layout.model("unigram"), made) == note


def test_scores_of_a_model_that_was_made_anew_are_old(made):
    """A run that stopped between the two stages; and where nothing says who made them."""
    lock = made / "dvc.lock"
    content = YAML(typ="safe").load(lock.read_text())
    content["stages"]["ngram@kn3"]["outs"][0]["md5"] = "0" * 32 + ".dir"
    with lock.open("w") as file:
        YAML().dump(content, file)
    assert out_of_step(layout.model("kn3"), made) is None
    assert "evaluate_ngram@kn3" in out_of_step(layout.scores("kn3"), made)
    assert "evaluate_ngram@kn3" in out_of_step(layout.scores("mix"), made)
    del content["stages"]["evaluate_ngram@unigram"]
    with lock.open("w") as file:
        YAML().dump(content, file)
    assert "evaluate_ngram@unigram" in out_of_step(layout.scores("unigram"), made)
    shutil.rmtree(made / layout.scores("unigram"))
    (made / layout.model_metrics("unigram")).unlink()
    assert out_of_step(layout.scores("unigram"), made) is None
