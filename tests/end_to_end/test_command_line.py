"""The `textmill` command on a finished repository."""

import json

import numpy
import pyarrow as pa
import pytest

pytestmark = pytest.mark.slow


def test_leaderboard_joins_the_training_times_of_this_machine(finished):
    kept = json.loads((finished.path / "reports/leaderboard.json").read_text())
    shown = json.loads(finished.textmill("leaderboard", "--json"))
    assert [m["name"] for m in shown["models"]] == [m["name"] for m in kept["models"]]
    assert [m["bits_per_byte"] for m in shown["models"]] == [
        m["bits_per_byte"] for m in kept["models"]
    ]
    times = {name: facts["training_seconds"] for name, facts in shown["facts"].items()}
    assert set(times) == {m["name"] for m in kept["models"]} - {"mix_subword"}
    assert all(seconds > 0 for seconds in times.values())
    assert "training_seconds" not in json.dumps(kept)


def test_leaderboard_names_every_model_and_what_to_try_next(finished):
    shown = finished.textmill("leaderboard", "--next")
    for name in ("bigram_word", "kn3_subword", "lstm_subword", "mix_subword"):
        assert name in shown
    assert "dvc repro" in shown
    assert "training" in shown


def test_page_with_times_goes_where_asked(finished, tmp_path):
    page = tmp_path / "page.html"
    finished.textmill("leaderboard", "--html", str(page))
    text = page.read_text()
    assert text.lower().startswith("<!doctype html>")
    assert "training" in text
    assert "lstm_subword" in text


@pytest.mark.parametrize("name", ["dvc.lock", "", "."])
def test_the_page_overwrites_nothing_else(finished, name):
    lock = finished.lock()
    assert "is no name for it" in finished.textmill("leaderboard", "--html", name, code=2)
    assert finished.lock() == lock


def test_every_command_has_help_with_an_example(finished):
    listed = finished.textmill("--help")
    for command in ("leaderboard", "use", "pin", "check"):
        assert command in listed
        assert "Example: textmill " + command in finished.textmill(command, "--help")


@pytest.mark.parametrize("arguments", [("leaderbord",), ("pin",), ("pin", "no/such/file")])
def test_wrong_use_is_exit_code_two(finished, arguments):
    assert "Traceback" not in finished.textmill(*arguments, code=2)


def test_a_leaderboard_of_a_half_finished_run_says_so(repository):
    assert "not up to date" not in repository.textmill("leaderboard")
    repository.edit("order: 2", "order: 1")
    note = "not up to date: not run since something changed: ngram@bigram_word"
    assert note in repository.textmill("leaderboard")
    repository.run("dvc", "repro", "evaluate_ngram@bigram_word")
    assert "not run since something changed: compare" in repository.textmill("leaderboard")
    repository.run("dvc", "repro", "compare")
    assert "not up to date" not in repository.textmill("leaderboard")


def test_a_sub_folder_is_as_good_as_the_root(finished):
    shown = finished.run("sh", "-c", "cd data/clean && python -m textmill.cli leaderboard")
    assert shown == finished.textmill("leaderboard")


def test_facts_name_versions_and_the_commit(finished):
    head = finished.run("git", "rev-list", "--max-parents=0", "HEAD").strip()
    facts = [json.loads(p.read_text()) for p in (finished.path / ".textmill/facts").glob("*.json")]
    assert {one["stage"] for one in facts} >= {"clean", "train lstm_subword", "compare"}
    for one in facts:
        assert one["commit"] == head
        assert one["dirty"] is False
        assert one["versions"]["numpy"] == numpy.__version__


def test_verify_names_a_text_of_ones_own_that_changed_since_its_pin(repository):
    assert "links hold" in repository.textmill("verify")
    with (repository.path / "text.txt").open("a") as file:
        file.write("One more line.\n")
    output = repository.textmill("verify", code=1)
    assert "broken link: text.txt, against its pin in params.yaml" in output
    assert "textmill pin text.txt, then: dvc repro" in output
    (repository.path / "text.txt").unlink()
    assert "links hold" in repository.textmill("verify")


def test_a_network_is_diagnosed_beside_an_ngram(finished, tmp_path):
    arguments = ("lstm_subword", "kn3_subword", "--out", str(tmp_path), "--json")
    network, ngram = json.loads(finished.textmill("diagnose", *arguments))
    assert (network["name"], ngram["name"]) == ("lstm_subword", "kn3_subword")
    assert len(network["gates"][0]["units"]) == 16
    assert ngram["gradients"] == {}
    kept = json.loads((tmp_path / "lstm_subword.json").read_text())
    assert kept == network
    assert "How far back a loss is felt" in (tmp_path / "index.html").read_text()
    assert "did you mean" in finished.textmill("diagnose", "lstm_subwrd", code=2)


def test_a_mixture_with_a_network_scores_a_text_as_its_stage_did(finished, tmp_path):
    documents = pa.ipc.open_file(finished.path / "data/clean/test.arrow").read_all()
    assert len(documents) == 1
    (tmp_path / "test.txt").write_text(documents["text"][0].as_py())
    shown = json.loads(
        finished.textmill("score", "mix_subword", str(tmp_path / "test.txt"), "--json")
    )
    kept = json.loads((finished.path / "metrics/models/mix_subword.json").read_text())
    assert shown["bits_per_byte"] == pytest.approx(kept["bits_per_byte"]["test"], rel=1e-6)
    assert shown["perplexity"] == pytest.approx(kept["perplexity"]["test"], rel=1e-6)
