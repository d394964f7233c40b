"""Without a model's name everything is looked at that was made, whether a model needs it or not."""

import json
import shutil

import pytest
from ruamel.yaml import YAML

from tests.lineage.made import write_lock
from textmill.base.errors import UserError
from textmill.base.files import write_json
from textmill.cli import lineage
from textmill.lineage.verify import verify

CORPUS_HALF = {
    "data/raw/files/tales.txt": "data/raw/files/tales.txt",
    "data/clean/train.arrow": "data/clean",
    "data/vocabulary/byte/record.json": "data/vocabulary/byte",
    "data/shards/byte/record.json": "data/shards/byte",
    "metrics/clean.json": "metrics/clean.json",
}
MODELS = ("ngrams", "networks", "adapted", "mixtures")


def flip(path):
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


def change(made, **groups):
    params = YAML(typ="safe").load((made / "params.yaml").read_text())
    with (made / "params.yaml").open("w") as file:
        YAML(typ="safe").dump(params | groups, file)


def write_tokenizer(made, name):
    """Vocabulary and shards of one more tokenizer, which no model reads."""
    change(made, tokenizers={"word": {"kind": "word"}, name: {"kind": name}})
    for folder in ("vocabulary", "shards"):
        write_json(made / "data" / folder / name / "record.json", {"made": name})
    write_lock(made)


@pytest.fixture(params=["with models", "without"])
def corpus_half(made, request):
    """Shards of bytes, which no model reads; with models of words, or with none at all."""
    write_tokenizer(made, "byte")
    if request.param == "without":
        change(made, **{group: {} for group in MODELS})
        for folder in ("models", "scores", "reports"):
            shutil.rmtree(made / folder)
    return made


def test_shards_that_no_model_reads_are_looked_at(corpus_half):
    links, broken, not_made = verify(None, corpus_half)
    there = (corpus_half / "reports").exists()
    reports = () if there else ("reports/leaderboard.json", "reports/leaderboard.html")
    assert (broken, not_made) == (None, reports)
    # raw, clean, two vocabularies, two sets of shards; what they read (1 + 2 + 4); the raw file,
    # the record, the pin and the text of one's own; metrics of the text
    assert links >= 6 + 7 + 4 + 1


@pytest.mark.parametrize("file", CORPUS_HALF)
def test_a_flipped_byte_of_the_corpus_half_is_named(corpus_half, file):
    flip(corpus_half / file)
    assert verify(None, corpus_half).broken.link == CORPUS_HALF[file]


def test_what_only_a_part_of_the_pipeline_made_is_looked_at(made):
    """`dvc repro shard@word` in a fresh clone, with every stage in dvc.lock and with none other."""
    for folder in ("models", "scores", "reports", "history", "metrics/models"):
        shutil.rmtree(made / folder)
    later = [f"models/{name}" for name in ("kn3", "unigram", "lstm")]
    later += [f"scores/{name}" for name in ("kn3", "unigram", "lstm", "mix")]
    later += [f"reports/leaderboard.{kind}" for kind in ("json", "html")]
    assert verify(None, made) == (4 + 4 + 4 + 1, None, tuple(later))
    lock = YAML(typ="safe").load((made / "dvc.lock").read_text())
    made_of = ("download", "clean", "vocabulary@word", "shard@word")
    lock["stages"] = {name: lock["stages"][name] for name in made_of}
    with (made / "dvc.lock").open("w") as file:
        YAML(typ="safe").dump(lock, file)
    assert verify(None, made) == (4 + 4 + 4 + 1, None, tuple(later))
    flip(made / "data/shards/word/record.json")
    assert verify(None, made).broken.link == "data/shards/word"


def test_shards_whose_text_somebody_removed_are_no_half_built_pipeline(made):
    shutil.rmtree(made / "data/clean")
    broken = verify(None, made).broken
    assert (broken.link, broken.found, broken.unbuilt) == ("data/clean", "nothing there", False)


def test_where_no_stage_ever_ran_nothing_is_called_whole(made):
    (made / "dvc.lock").unlink()
    with pytest.raises(UserError, match=r"nothing was built here yet: dvc\.lock has none"):
        verify(None, made)


def test_the_command_lists_what_was_not_made(made, monkeypatch, capsys):
    shutil.rmtree(made / "scores/mix")
    monkeypatch.chdir(made)
    lineage.verify(None)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("all ")
    assert said[1:] == ["not made yet (to make them: dvc repro)", "  scores/mix"]
    lineage.verify(None, as_json=True)
    assert json.loads(capsys.readouterr().out)["not_made"] == ["scores/mix"]
    lineage.verify("kn3")
    assert len(capsys.readouterr().out.splitlines()) == 1
