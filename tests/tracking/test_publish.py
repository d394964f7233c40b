"""Publishing into a real store: everything once, whatever happened before."""

import json
import math
import shutil
import subprocess

import pytest
from mlflow.tracking import MlflowClient

from tests.lineage.made import FACTS, add_facts, write_lock
from textmill.base.errors import UserError
from textmill.lineage.publication import publication
from textmill.tracking import runs as runs_module
from textmill.tracking import tags
from textmill.tracking.publish import publish
from textmill.tracking.store import opened

MODELS = {"unigram", "kn3", "lstm", "mix"}


def summary(made, name):
    return json.loads((made / f"scores/{name}/summary.json").read_text())


def parent_of(found):
    return next(run for run in found.values() if run.data.tags[tags.ROLE] == tags.PARENT)


def test_a_run_for_each_model_under_one_parent(repository, runs):
    outcome = publish(repository)
    assert (len(outcome.models), outcome.written, outcome.versions) == (4, 4, 4)
    ids = {name: run.info.run_id for name, run in runs(repository).items()}
    for one in outcome.models:
        assert one.run_id == ids[one.model]
        assert one.link.endswith(f"/runs/{one.run_id}")
    found = runs(repository)
    parent = parent_of(found)
    assert found.keys() == MODELS | {parent.info.run_name}
    assert parent.info.run_name == f"tales, {publication(repository).comparison_key[:8]}"
    for name in MODELS:
        run = found[name]
        assert run.data.tags["mlflow.parentRunId"] == parent.info.run_id
        assert run.info.status == "FINISHED"
        test = summary(repository, name)["test"]
        assert run.data.metrics["bits_per_byte"] == test["bits_per_byte"]
        assert run.data.metrics["perplexity"] == test["perplexity"]
        assert run.data.metrics["unknown_rate"] == test["unknown_rate"]
        assert run.data.tags["dvc.md5"].endswith(".dir")
        assert f"textmill trace {name}" in run.data.tags["mlflow.note.content"]
    assert found["lstm"].data.params["tokenizer.minimum_frequency"] == "2"
    assert found["kn3"].data.params["order"] == "3"


def test_publishing_again_adds_nothing(repository, content):
    add_facts(repository)
    publish(repository)
    before = content(repository)
    outcome = publish(repository)
    assert (outcome.written, outcome.versions) == (0, 0)
    assert content(repository) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("MLFLOW_RUN_ID", "deadbeef" * 4), ("MLFLOW_EXPERIMENT_ID", "77"),
     ("MLFLOW_REGISTRY_URI", "sqlite:///other.db")],
)  # fmt: skip
def test_what_the_environment_says_of_other_runs_changes_nothing(
    repository, runs, client, monkeypatch, tmp_path, name, value
):
    """MLflow itself would write into that run, and keep the registry apart from the runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, value)
    publish(repository)
    monkeypatch.delenv(name)
    assert len(runs(repository)) == 5
    assert [model.name for model in client(repository).search_registered_models()] == [
        "textmill-tales"
    ]
    assert not (tmp_path / "other.db").exists()


def test_learning_curves_are_by_step_and_tokens(repository, client, runs):
    publish(repository)
    run_id = runs(repository)["lstm"].info.run_id
    history = {
        name: [(row.step, row.value) for row in client(repository).get_metric_history(run_id, name)]
        for name in ("valid_loss", "tokens", "gradient_norm")
    }
    assert sorted(history["valid_loss"]) == [(10, 6.25), (20, 5.75), (30, 5.5)]
    assert sorted(history["tokens"]) == [(10, 1000), (20, 2000), (30, 3000)]
    assert sorted(history["gradient_norm"]) == [(10, 0.5), (30, 0.25)]


def test_nothing_that_is_not_a_number_is_logged(repository, runs):
    path = repository / "scores/kn3/summary.json"
    found = json.loads(path.read_text())
    found["valid"]["perplexity"] = None
    path.write_text(json.dumps(found))
    write_lock(repository)
    publish(repository)
    metrics = runs(repository)["kn3"].data.metrics
    assert "perplexity_valid" not in metrics
    assert all(math.isfinite(value) for value in metrics.values())


def test_the_text_is_the_input_with_its_hash_and_source(repository, runs):
    publish(repository)
    wanted = {(one.name, one.md5, one.context) for one in publication(repository).datasets}
    for name in MODELS:
        inputs = runs(repository)[name].inputs.dataset_inputs
        assert wanted == {
            (one.dataset.name, one.dataset.digest, one.tags[0].value) for one in inputs
        }
    source = json.loads(inputs[0].dataset.source)
    assert source["urls"] == ["https://example.org/tales.txt"]
    assert source["licence"] == "CC0"
    assert inputs[0].dataset.source_type == "dvc"


def test_a_dataset_finds_the_models_measured_on_it(repository, client):
    """MLflow's own guard: only models scored on these bytes."""
    publish(repository)
    test = next(one for one in publication(repository).datasets if one.context == "test")
    ours = client(repository)
    experiment = ours.get_experiment_by_name("textmill/tales").experiment_id

    def measured_on(digest):
        on = [{"dataset_name": test.name, "dataset_digest": digest}]
        found = ours.search_logged_models([experiment], "metrics.bits_per_byte < 100", on)
        return {model.name for model in found}

    assert measured_on(test.md5) == MODELS
    assert measured_on("0" * 32) == set()


def test_weights_stay_with_dvc(repository, client):
    publish(repository)
    ours = client(repository)
    experiment = ours.get_experiment_by_name("textmill/tales").experiment_id
    records = {record.name: record for record in publication(repository).models}
    for model in ours.search_logged_models([experiment]):
        assert model.status.value == "READY"
        assert model.tags["dvc.path"] == records[model.name].path
        assert model.tags["dvc.md5"] == records[model.name].md5
    assert not list((repository / "mlruns").rglob("record.json"))


def test_facts_of_this_machine_are_shown(repository, runs):
    add_facts(repository)
    publish(repository)
    run = runs(repository)["kn3"]
    assert run.data.metrics["training_seconds"] == 12.5
    assert run.data.metrics["tokens_per_second"] == 250.5
    assert run.data.metrics["peak_memory_bytes"] == 1000
    assert run.info.end_time - run.info.start_time == 12_500
    assert run.data.tags["textmill.origin"] == "run"
    assert run.data.tags["version.torch"] == FACTS["versions"]["torch"]
    assert run.data.tags["mlflow.source.git.commit"] == "a" * 40
    assert run.data.tags["git.dirty"] == "true"
    assert "training_seconds" not in runs(repository)["mix"].data.metrics


def test_a_restored_model_names_the_commit_it_was_published_from(repository, runs):
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "params.yaml"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], cwd=repository, check=True, capture_output=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.strip()
    publish(repository)
    assert runs(repository)["kn3"].data.tags["mlflow.source.git.commit"] == head
    assert runs(repository)["kn3"].data.tags["git.dirty"] == "true"


def test_a_clone_fills_the_store_without_facts(repository, runs, content):
    publish(repository)
    found = runs(repository)
    for name in MODELS:
        assert "training_seconds" not in found[name].data.metrics
        assert found[name].data.tags["textmill.origin"] == "restored"
    # The machine that trained them publishes into the same store later, then the clone again.
    add_facts(repository)
    assert publish(repository).written == 4
    assert runs(repository)["kn3"].data.metrics["training_seconds"] == 12.5
    shutil.rmtree(repository / ".textmill/facts")
    before = content(repository)
    assert publish(repository).written == 0
    assert content(repository) == before


def test_a_deleted_store_fills_again(repository, empty_store, runs):
    publish(repository)
    (repository / "mlflow.db").unlink()
    shutil.rmtree(repository / "mlruns")
    shutil.copy(empty_store, repository / "mlflow.db")
    publish(repository)
    assert runs(repository).keys() > MODELS


def test_lost_artifacts_come_again_and_no_row_is_doubled(repository, content, runs):
    publish(repository)
    before = content(repository)
    shutil.rmtree(repository / "mlruns")
    publish(repository)
    after = content(repository)
    assert after.keys() >= {file for file in before if file.endswith(("lines.arrow", "dvc.lock"))}
    for table in ("runs", "metrics", "params", "logged_models", "model_versions", "inputs"):
        assert len(after[table]) == len(before[table])


def test_another_address_is_another_store(repository, empty_store, tmp_path, monkeypatch, runs):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(empty_store, elsewhere / "mlflow.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{elsewhere / 'mlflow.db'}")
    publish(repository)
    assert runs(elsewhere).keys() > MODELS
    assert runs(repository) == {}
    assert (elsewhere / "mlruns").is_dir()


def test_a_changed_model_is_another_run_and_the_old_one_stays(repository, client, runs):
    publish(repository)
    (repository / "models/kn3/record.json").write_text('{"made": "anew"}\n')
    write_lock(repository)
    assert publish(repository).written == 2  # the mixture is of another model now
    ours = client(repository)
    experiment = ours.get_experiment_by_name("textmill/tales").experiment_id
    found = ours.search_runs([experiment], "tags.`textmill.model` = 'kn3'")
    assert len({run.data.tags["textmill.identity"] for run in found}) == len(found) == 2
    assert len(ours.search_model_versions("name = 'textmill-tales'")) == 6


def test_doubles_made_by_two_machines_are_one_again(repository, client, runs, content):
    publish(repository)
    ours = client(repository)
    run = runs(repository)["kn3"]
    later = {**run.data.tags, tags.CLAIM: str(int(run.data.tags[tags.CLAIM]) + 1)}
    ours.create_run(run.info.experiment_id, tags=later, run_name="kn3")
    publish(repository)
    assert runs(repository)["kn3"].info.run_id == run.info.run_id


def test_who_creates_second_finds_the_first(repository, client):
    """Between looking and creating another machine was faster: the older run is returned."""
    with opened(repository) as store:
        experiment = runs_module.experiment(store, "textmill/tales", "note", "key")
        first = runs_module.create(store, experiment, "kn3", {tags.IDENTITY: "x"})
        second = runs_module.create(store, experiment, "kn3", {tags.IDENTITY: "x"})
        assert second.info.run_id == first.info.run_id
        assert len(store.client.search_runs([experiment])) == 1


@pytest.mark.parametrize("calls", [1, 4, 9, 16, 25])
def test_a_publisher_that_broke_off_is_gone_on_from(repository, runs, content, calls, monkeypatch):
    """After any number of requests: the next one leaves what an undisturbed one would."""

    class Stopped(Exception):
        pass

    left = calls

    def counting(name):
        method = getattr(MlflowClient, name)

        def call(self, *arguments, **named):
            nonlocal left
            if not left:
                raise Stopped
            left -= 1
            return method(self, *arguments, **named)

        return call

    with monkeypatch.context() as patch:
        for name in ("create_run", "log_batch", "log_inputs", "log_outputs", "log_artifact",
                     "set_terminated", "set_tag", "create_model_version"):  # fmt: skip
            patch.setattr(MlflowClient, name, counting(name))
        with pytest.raises(Stopped):
            publish(repository)
    publish(repository)
    found = runs(repository)
    assert found.keys() > MODELS
    rows = content(repository)
    for table, count in {"runs": 5, "logged_models": 4, "model_versions": 4, "datasets": 3}.items():
        active = [row for row in rows[table] if "deleted" not in row]
        assert len(active) == count, table
    assert len(rows["metrics"]) == 7 * 2 + 7 + 7 + 3 * 5 - 1
    before = content(repository)
    publish(repository)
    assert content(repository) == before


def test_a_run_whose_publisher_was_killed_does_not_stay_running(repository, client, runs):
    """Also where the model it was about is no longer there to be published."""
    publish(repository)
    run = runs(repository)["kn3"]
    ended = subprocess.Popen(["true"])
    ended.wait()
    marks = {tags.IDENTITY: "gone", tags.PID: str(ended.pid), tags.STARTED: "1"}
    marks |= {tags.HOST: run.data.tags[tags.HOST], tags.CLAIM: "1"}
    elsewhere = client(repository).create_experiment("textmill/another corpus")
    foreign = client(repository).create_experiment("somebody's own")

    def leave():
        for experiment in (run.info.experiment_id, elsewhere, foreign):
            yield client(repository).create_run(experiment, tags=marks, run_name="gone").info

    def ends(left):
        return [client(repository).get_run(one.run_id).info.status for one in left]

    left = list(leave())
    publish(repository)
    assert ends(left) == ["KILLED", "KILLED", "RUNNING"]
    left = list(leave())
    params = repository / "params.yaml"
    params.write_text(params.read_text().replace("order: 3", "order: 4"))
    with pytest.raises(UserError, match="not run since something changed"):
        publish(repository)
    assert ends(left) == ["KILLED", "KILLED", "RUNNING"]


def test_what_cannot_be_published_makes_no_store(made):
    (made / "reports/leaderboard.json").unlink()
    with pytest.raises(UserError, match="nothing to publish"):
        publish(made)
    assert not (made / "mlflow.db").exists()


def test_the_parent_keeps_the_files_of_the_last_state(repository, client, runs):
    publish(repository)
    run_id = parent_of(runs(repository)).info.run_id
    listed = client(repository).list_artifacts(run_id)
    assert {file.path for file in listed} == {"dvc.lock", "params.yaml", "leaderboard.html"}
    page = repository / "reports/leaderboard.html"
    page.write_text("<html>another</html>\n")
    publish(repository)
    kept = repository / "mlruns" / run_id / "artifacts/leaderboard.html"
    assert kept.read_text() == "<html>another</html>\n"


def test_the_lock_may_gain_this_stage_itself(repository, content):
    """DVC writes stage publish into dvc.lock after the stage has published."""
    publish(repository)
    before = content(repository)
    lock = repository / "dvc.lock"
    lock.write_text(lock.read_text() + "  publish:\n    cmd: exec python\n    outs: []\n")
    publish(repository)
    assert content(repository) == before


def test_the_experiment_opens_as_model_training_and_says_how_to_read_it(repository, client):
    publish(repository)
    experiment = client(repository).get_experiment_by_name("textmill/tales")
    assert experiment.tags["mlflow.experimentKind"] == "custom_model_development"
    assert "Lower is better" in experiment.tags["mlflow.note.content"]


def test_the_saved_view_has_the_models_of_the_text_published_last(repository, client, change_text):
    def shown():
        ours = client(repository)
        experiment = ours.get_experiment_by_name("textmill/tales")
        view = json.loads(experiment.tags["mlflow.sharedViewState.leaderboard"])
        condition = json.loads(view["state"])["searchFilter"]
        found = ours.search_runs([experiment.experiment_id], condition)
        return {run.info.run_id for run in found if run.data.tags[tags.ROLE] == tags.CHILD}

    seen = [{one.run_id for one in publish(repository).models}]
    assert shown() == seen[0]
    change_text()
    seen.append({one.run_id for one in publish(repository).models})
    assert shown() == seen[1]
    assert not seen[0] & seen[1]


def test_long_parameters_are_cut_with_a_word(repository, runs):
    params = repository / "params.yaml"
    params.write_text(params.read_text().replace("order: 3", f"order: 3, about: {'x' * 7000}"))
    write_lock(repository)
    publish(repository)
    about = runs(repository)["kn3"].data.params["about"]
    assert len(about) == 6000
    assert about.endswith("params.yaml)")


def test_the_run_of_a_model_that_adapts_is_tagged(repository, runs):
    path = repository / "scores/mix/summary.json"
    path.write_text(json.dumps({**summary(repository, "mix"), "adapts": True}))
    write_lock(repository)
    publish(repository)
    found = runs(repository)
    assert {name for name in MODELS if tags.ADAPTS in found[name].data.tags} == {"mix"}
    assert found["mix"].data.tags[tags.ADAPTS] == "true"
