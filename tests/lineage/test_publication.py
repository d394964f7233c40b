"""What is to be published: identities, parameters, numbers, curves, datasets."""

import hashlib
import json

import pytest

from tests.lineage.made import PARAMS, change_board, make_repository, write_lock
from textmill.base.errors import UserError
from textmill.lineage.publication import publication


def models(made):
    return {record.name: record for record in publication(made).models}


def test_every_ranked_model_is_there_with_its_numbers(made):
    found = models(made)
    assert found.keys() == {"unigram", "kn3", "lstm", "mix"}
    for name, record in found.items():
        summary = json.loads((made / f"scores/{name}/summary.json").read_text())
        assert record.metrics["test"]["bits_per_byte"] == summary["test"]["bits_per_byte"]
        assert record.metrics["valid"] == {
            "bits_per_byte_valid": summary["valid"]["bits_per_byte"],
            "perplexity_valid": summary["valid"]["perplexity"],
        }
        assert record.metrics["test"]["unknown_rate"] == pytest.approx(16 / 800)
    assert found["lstm"].metrics[""] == {"parameters": 100, "bytes_on_disk": 1000}
    assert found["mix"].metrics[""] == {"bytes_on_disk": 1000, "weight": 0.25}


def test_identity_is_of_files_and_comparison_key(made):
    before = {name: record.identity for name, record in models(made).items()}
    assert len(set(before.values())) == 4
    (made / "models/lstm/model.json").write_text('{"made": "anew"}\n')
    write_lock(made)
    after = {name: record.identity for name, record in models(made).items()}
    assert {name for name in before if before[name] != after[name]} == {"lstm", "mix"}


def test_identity_needs_nothing_of_the_place(made, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    make_repository(elsewhere)
    assert {r.identity for r in publication(elsewhere).models} == {
        r.identity for r in publication(made).models
    }
    assert publication(elsewhere).identity == publication(made).identity


def test_parameters_are_the_models_entry_and_its_tokenizers(made):
    params = made / "params.yaml"
    params.write_text(params.read_text().replace("steps: 30", "steps: 30, stops: [1, 2]"))
    write_lock(made)
    found = models(made)
    assert found["lstm"].params == {
        "group": "networks",
        "tokenizer": "word",
        "embedding": "8",
        "evaluate_every": "10",
        "hidden": "8",
        "warmup": "1",
        "steps": "30",
        "stops": "[1, 2]",
        "tokenizer.kind": "word",
        "tokenizer.minimum_frequency": "2",
    }
    assert found["mix"].params["first"] == "lstm"
    assert "hidden" not in found["mix"].params


def test_parameters_are_those_of_the_run_and_not_todays(made):
    params = made / "params.yaml"
    params.write_text(params.read_text().replace("order: 3", "order: 9"))
    assert PARAMS["ngrams"]["kn3"]["order"] == 3
    assert models(made)["kn3"].params["order"] == "3"


def test_curves_leave_out_what_is_not_a_number(made):
    curve = models(made)["lstm"].curve
    assert [point.step for point in curve] == [10, 20, 30]
    assert [point.values["tokens"] for point in curve] == [1000, 2000, 3000]
    assert [point.values["valid_loss"] for point in curve] == [6.25, 5.75, 5.5]
    assert ["gradient_norm" in point.values for point in curve] == [True, False, True]
    assert models(made)["kn3"].curve == ()


def test_datasets_point_at_dvc_and_at_the_source(made):
    found = {dataset.context: dataset for dataset in publication(made).datasets}
    assert found.keys() == {"training", "validation", "test"}
    test = found["test"]
    assert test.md5 == hashlib.md5((made / "data/clean/test.arrow").read_bytes()).hexdigest()
    assert len(test.md5) <= 36
    assert test.source["path"] == "data/clean/test.arrow"
    assert test.source["urls"] == ["https://example.org/tales.txt"]
    assert test.source["licence"] == "CC0"
    raw = hashlib.sha256((made / "data/raw/files/tales.txt").read_bytes()).hexdigest()
    assert test.source["files"] == [{"name": "tales.txt", "sha256": raw}]
    assert test.profile["lines"] == 160


def test_best_and_baseline_are_chosen_on_validation(made):
    found = publication(made)
    assert (found.best, found.baseline) == ("mix", "kn3")
    change_board(made, unigram={"bits_per_byte_valid": 0.5}, lstm={"bits_per_byte_valid": 0.25})
    found = publication(made)
    assert (found.best, found.baseline) == ("lstm", "unigram")


def test_two_entries_of_one_model_are_one(made):
    """The same bytes under two names are one model: the better ranked name is kept."""
    (made / "models/unigram/record.json").write_bytes(
        (made / "models/kn3/record.json").read_bytes()
    )
    write_lock(made)
    assert [record.name for record in publication(made).models] == ["mix", "kn3", "lstm"]


def test_a_digest_changes_with_anything_that_is_published(made):
    before = {name: record.digest for name, record in models(made).items()}
    assert before == {name: record.digest for name, record in models(made).items()}
    history = made / "history/lstm.csv"
    history.write_text(history.read_text().replace("5.75", "5.76"))
    after = {name: record.digest for name, record in models(made).items()}
    assert {name for name in before if before[name] != after[name]} == {"lstm"}


def test_what_is_not_there_is_said(made):
    (made / "data/clean/test.arrow").unlink()
    with pytest.raises(UserError, match=r"there is no data/clean/test\.arrow") as refused:
        publication(made)
    assert "dvc pull" in str(refused.value)
    (made / "reports/leaderboard.json").unlink()
    with pytest.raises(UserError, match="nothing to publish"):
        publication(made)
