"""The chain of a model names every link in order, with hashes, parameters and versions."""

import hashlib
import json

import pytest
from ruamel.yaml import YAML

from tests.lineage.made import FACTS, add_facts, write_lock
from textmill.base.errors import UserError
from textmill.lineage.trace import NOT_RECORDED, render, trace


def locked_md5(made, path):
    lock = YAML(typ="safe").load((made / "dvc.lock").read_text())
    outs = [out for stage in lock["stages"].values() for out in stage["outs"]]
    return next(out["md5"] for out in outs if out["path"] == path)


def test_the_chain_runs_from_the_model_to_the_raw_text(made):
    traced = trace("kn3", made)
    paths = [link["path"] for link in traced["links"]]
    assert paths == [
        "models/kn3",
        "data/shards/word",
        "data/vocabulary/word",
        "data/clean",
        "data/raw",
    ]
    for link in traced["links"]:
        assert link["md5"] == locked_md5(made, link["path"])
    model, shards, vocabulary, *_ = traced["links"]
    assert model["params"] == {
        "ngrams.kn3": {"tokenizer": "word", "method": "kneser_ney", "order": 3}
    }
    assert vocabulary["params"]["tokenizers.word"]["minimum_frequency"] == 2
    assert shards["made_of"].keys() == {"data/clean", "data/vocabulary/word"}


def test_the_number_of_the_leaderboard_stands_before_the_model(made):
    traced = trace("kn3", made)
    assert traced["scores"]["path"] == "scores/kn3"
    assert traced["scores"]["md5"] == locked_md5(made, "scores/kn3")
    summary = json.loads((made / "scores/kn3/summary.json").read_text())
    assert traced["scores"]["bits_per_byte"] == summary["test"]["bits_per_byte"]
    first, second, third, fourth, *_ = render(traced).split("\n")
    assert first == f"kn3: {summary['test']['bits_per_byte']:.3f} bits per byte on test"
    assert second.startswith("scores/kn3  ")
    assert third.strip() == "stage evaluate_ngram@kn3"
    assert fourth.startswith("models/kn3  ")
    mixed = render(trace("mix", made))
    assert mixed.count("scores/mix  ") == 1
    (made / "scores/kn3/summary.json").unlink()
    assert render(trace("kn3", made)).startswith("scores/kn3  ")


def test_the_source_has_address_hash_and_licence(made):
    source = trace("lstm", made)["source"]
    sha256 = hashlib.sha256((made / "data/raw/files/tales.txt").read_bytes()).hexdigest()
    assert source["urls"] == ["https://example.org/tales.txt"]
    assert source["licence"] == "CC0"
    assert source["files"][0]["sha256"] == sha256
    text = render(trace("lstm", made))
    assert "https://example.org/tales.txt" in text
    assert sha256 in text
    assert "licence: CC0" in text


def test_of_the_cleaning_profiles_those_that_the_corpus_takes_are_named(made):
    graph, params = made / "dvc.yaml", made / "params.yaml"
    text = graph.read_text()
    old = "pipeline_steps.clean\n    deps"
    assert old in text
    new = 'pipeline_steps.clean\n    params: [corpus, "corpora.${corpus}", profiles]\n    deps'
    graph.write_text(text.replace(old, new))
    content = YAML(typ="safe").load(params.read_text())
    own = {"mine": ["plain", {"line_length": {"max_characters": 9}}], "other": ["white_space"]}
    content["profiles"] |= own
    for cleaning, names in (
        ("plain", {"plain"}),
        ("mine", {"plain", "mine"}),
        (["other", "blank_lines"], {"other"}),
        (["line_ends"], None),
    ):
        content["corpora"]["tales"]["cleaning"] = cleaning
        with params.open("w") as file:
            YAML(typ="safe").dump(content, file)
        write_lock(made)
        link = next(one for one in trace("kn3", made)["links"] if one["stage"] == "clean")
        found = link["params"].get("profiles")
        assert (found and found.keys()) == names
        assert link["params"]["corpora.tales"]["cleaning"] == cleaning


def test_a_mixture_is_made_of_two_models(made):
    paths = [link["path"] for link in trace("mix", made)["links"]]
    assert paths[0] == "scores/mix"
    assert {"models/lstm", "models/kn3"} <= set(paths)
    assert "models/unigram" not in paths
    assert len(paths) == len(set(paths))
    for path in ("models/lstm", "models/kn3"):
        assert paths.index(path) < paths.index("data/shards/word") < paths.index("data/raw")


def test_versions_and_commit_are_those_of_the_run(made):
    assert NOT_RECORDED in render(trace("kn3", made))
    add_facts(made, "ngram@kn3")
    model, shards, *_ = trace("kn3", made)["links"]
    assert (model["versions"], model["commit"], model["dirty"]) == (
        FACTS["versions"],
        FACTS["commit"],
        True,
    )
    assert shards["versions"] is None
    text = render(trace("kn3", made))
    assert "libraries: python 3.11.7, torch 2.13.0" in text
    assert f"commit: {'a' * 40} with uncommitted changes" in text


def test_facts_of_another_input_are_not_taken_for_those_of_the_run(made):
    add_facts(made, "ngram@kn3")
    params = made / "params.yaml"
    params.write_text(params.read_text().replace("order: 3", "order: 4"))
    assert trace("kn3", made)["links"][0]["versions"] is None


def test_it_is_plain_json(made):
    assert json.loads(json.dumps(trace("mix", made)))["model"] == "mix"


def test_an_unknown_or_unmade_model_is_refused(made):
    with pytest.raises(UserError, match='there is no model "kn"; did you mean "kn3"'):
        trace("kn", made)
    (made / "dvc.lock").unlink()
    with pytest.raises(UserError, match="kn3 has not been made yet"):
        trace("kn3", made)


@pytest.mark.parametrize(
    "change",
    [{"seconds": "many"}, {"seconds": True}, {"peak_memory_bytes": []}, {"versions": "torch"},
     {"commit": 7}, {"tokens_per_second": -1}, {"peak_device_memory_bytes": "much"}],
)  # fmt: skip
def test_facts_that_are_none_are_named(made, change):
    add_facts(made)
    for path in (made / ".textmill/facts").iterdir():
        path.write_text(json.dumps({**FACTS, **change}))
    with pytest.raises(UserError, match=next(iter(change))) as refused:
        trace("kn3", made)
    assert ".textmill/facts/" in refused.value.where
    assert refused.value.next_step.startswith("rm ")


def test_nothing_is_said_twice(made):
    lines = render(trace("kn3", made)).splitlines()
    assert len(lines) == len(set(lines))
    for link in trace("kn3", made)["links"]:
        assert f"    stage {link['stage']}" in lines
