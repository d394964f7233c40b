"""What is to be published: identities, parameters, numbers, curves, datasets."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.lineage.made import change_board, make_repository, write_lock
from textmill.base.errors import UserError
from textmill.lineage import lines
from textmill.lineage.lock import last_runs
from textmill.lineage.publication import _identities, publication


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


def double(made: Path, name: str, other: str) -> None:
    """The files of one model become those of another, as if both entries said the same."""
    for folder in ("models", "scores"):
        shutil.rmtree(made / folder / name)
        shutil.copytree(made / folder / other, made / folder / name)
    summary = made / f"scores/{name}/summary.json"
    summary.write_text(summary.read_text().replace(f'"{other}"', f'"{name}"'))
    board = json.loads((made / "reports/leaderboard.json").read_text())
    numbers = {one["name"]: one for one in board["models"]}[other]
    measured = {field: numbers[field] for field in numbers if "bits" in field or "perp" in field}
    change_board(made, **{name: measured})
    write_lock(made)


def test_two_entries_with_the_same_files_are_one_model(made):
    double(made, "unigram", "kn3")
    record = publication(made)
    (published,) = {one.name for one in record.models} & {"unigram", "kn3"}
    other = ({"unigram", "kn3"} - {published}).pop()
    assert record.doubles == {other: published}
    assert record.identities["unigram"] == record.identities["kn3"]
    assert len(record.models) == len(record.identities) - 1 == 3


def test_without_the_lock_there_is_nothing_to_publish(made):
    (made / "dvc.lock").unlink()
    with pytest.raises(UserError, match="not run since something changed") as refused:
        publication(made)
    assert "dvc repro" in str(refused.value)


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


def test_a_model_that_was_not_run_with_todays_parameters_is_not_published(made):
    params = made / "params.yaml"
    params.write_text(params.read_text().replace("order: 3", "order: 9"))
    with pytest.raises(UserError, match="not run since something changed: ngram@kn3") as refused:
        publication(made)
    assert refused.value.next_step == "dvc repro, then: textmill publish"


def test_numbers_of_another_commit_are_not_published_under_this_ones_hashes(made):
    """`git checkout` brings another dvc.lock and leaves the scores as they are."""
    path = made / "scores/kn3/summary.json"
    found = json.loads(path.read_text())
    found["valid"]["perplexity"] *= 2
    path.write_text(json.dumps(found))
    with pytest.raises(UserError, match=r"not what dvc\.lock records: scores/kn3") as refused:
        publication(made)
    assert refused.value.next_step.startswith("dvc checkout scores/kn3 ")


def test_a_name_that_left_a_group_leaves_no_writer_behind(made):
    """dvc.lock keeps the stages of models that left; another group's may write there now."""
    before = models(made)["kn3"]
    lock = made / "dvc.lock"
    entry = "{path: models/kn3, hash: md5, md5: 0123456789abcdef0123456789abcdef.dir, size: 1}"
    lock.write_text(lock.read_text() + f"  train@kn3:\n    cmd: x\n    outs: [{entry}]\n")
    assert models(made)["kn3"] == before


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
    write_lock(made)
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


@pytest.mark.parametrize(
    "content",
    [b"step,tokens\n1,two\n", b"step,tokens\n1\n", b"tokens\n3\n", b"\xff\xfe", b"step,a\n1,2,3\n"],
)
def test_a_damaged_history_is_named(made, content):
    (made / "history/lstm.csv").write_bytes(content)
    with pytest.raises(UserError, match="it is not a whole learning history") as refused:
        publication(made)
    assert refused.value.where.endswith("history/lstm.csv")
    assert "dvc checkout" in refused.value.next_step


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("reports/leaderboard.json", b"\xff\x00"),
        ("scores/kn3/summary.json", b"{}"),
        ("scores/kn3/summary.json", b"\xff"),
        ("data/clean/summary.json", b'{"sha256": 1, "documents": 1, "lines": 1, "bytes": 1}'),
        ("data/raw/source.json", b"\xff"),
        ("scores/kn3/test.arrow", b"ARROW1"),
    ],
)
def test_a_damaged_file_is_named(made, file, content):
    (made / file).write_bytes(content)
    with pytest.raises(UserError) as refused:
        publication(made)
    assert file in str(refused.value) or str(Path(file).parent) in str(refused.value)
    assert refused.value.next_step


def test_numbers_that_are_texts_are_named(made):
    path = made / "scores/kn3/summary.json"
    found = json.loads(path.read_text())
    found["valid"]["perplexity"] = "seven"
    path.write_text(json.dumps(found))
    write_lock(made)
    with pytest.raises(UserError, match="its numbers are not those of a model"):
        publication(made)


def test_lines_of_another_model_are_refused(made):
    """They would make the worst model champion."""
    shutil.copy(made / "scores/mix/test.arrow", made / "scores/unigram/test.arrow")
    write_lock(made)
    with pytest.raises(UserError, match=r"its lines need 1\.69") as refused:
        publication(made)
    assert refused.value.where.endswith("scores/unigram/test.arrow")
    assert "scores/unigram" in refused.value.next_step


def test_lines_are_those_that_the_number_is_of(made):
    summary = json.loads((made / "scores/kn3/summary.json").read_text())
    told = summary["test"]["bits_per_byte"]
    table = lines.of_model("kn3", summary, made)
    assert table["nats"].to_numpy().sum() == pytest.approx(
        told * table["bytes"].to_numpy().sum() * np.log(2), rel=1e-12
    )
    assert lines.why_not(table, told * (1 + 1e-10)) is None
    assert lines.why_not(table, told * (1 + 1e-8)) is not None
    assert lines.why_not(table, None) is None
    assert "no nats" in lines.why_not(table.drop_columns(["nats"]), told)
    assert lines.digest(table) == models(made)["kn3"].lines
    assert lines.digest(table) != lines.digest(table.slice(1))


def test_what_adapts_is_known_by_its_network_and_what_was_chosen(made):
    path = made / "scores/mix/summary.json"
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, "adapts": True}))
    write_lock(made)
    assert {name: one.adapts for name, one in models(made).items() if one.adapts} == {"mix": True}
    assert "it learns from the test text" in models(made)["mix"].note
    assert "it learns from the test text" not in models(made)["lstm"].note


def test_a_mixture_of_what_adapts_has_an_identity_of_its_own(made):
    locked = last_runs(made)
    cache = {"model": "lstm", "cache": {"window": 500, "theta": 0.3, "weight": 0.1}}
    summaries = {
        "mix": {"parts": ["cached", "kn3"], "weight": 0.5},
        "cached": {"adapted": cache},
        "lstm": {},
        "kn3": {},
    }
    found = _identities(summaries, locked, "key")
    assert found.keys() == summaries.keys()
    assert len(set(found.values())) == 4
    cache["cache"]["window"] = 501
    other = _identities(summaries, locked, "key")
    assert {name for name in found if found[name] != other[name]} == {"cached", "mix"}
    del summaries["lstm"]
    assert _identities(summaries, locked, "key").keys() == {"kn3"}
