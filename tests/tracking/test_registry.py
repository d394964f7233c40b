"""The registry: versions, the two aliases, and what it takes to become champion."""

import json
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from mlflow.tracking import MlflowClient

from tests.lineage.made import change_board, make_repository, write_lock
from textmill.base.errors import UserError
from textmill.base.files import read_table, write_table
from textmill.cli.main import main
from textmill.lineage.publication import publication
from textmill.scoring.significance import behind, cut
from textmill.tracking import registry
from textmill.tracking.promote import promote
from textmill.tracking.publish import publish
from textmill.tracking.store import opened

NAME = "textmill-tales"


@pytest.fixture
def holder(client):
    """Name of the model that bears an alias."""

    def of(repository, alias):
        version = client(repository).get_model_version_by_alias(NAME, alias)
        return version.tags["textmill.model"]

    return of


def test_a_version_for_each_model_pointing_at_dvc(repository, client):
    publish(repository)
    versions = client(repository).search_model_versions(f"name = '{NAME}'")
    records = {record.name: record for record in publication(repository).models}
    assert {version.tags["textmill.model"] for version in versions} == records.keys()
    for version in versions:
        record = records[version.tags["textmill.model"]]
        assert version.tags["dvc.md5"] == record.md5
        assert version.tags["textmill.identity"] == record.identity


def test_aliases_are_the_best_on_validation(repository, holder):
    publish(repository)
    assert holder(repository, "baseline") == "kn3"
    assert holder(repository, "champion") == "mix"


def test_the_baseline_moves_and_the_champion_stays(repository, holder):
    publish(repository)
    better = {"bits_per_byte_valid": 0.01}
    change_board(repository, unigram=better)
    write_lock(repository)
    publish(repository)
    assert holder(repository, "baseline") == "unigram"
    assert holder(repository, "champion") == "mix"


def test_a_worse_model_is_refused_with_the_numbers(repository, holder):
    publish(repository)
    verdict = promote("unigram", repository)
    assert not verdict.promoted
    tables = {
        name: read_table(repository / f"scores/{name}/test.arrow") for name in ("mix", "unigram")
    }
    nats = np.stack([
        tables[name]["nats_tokens"].to_numpy() + tables[name]["nats_spelling"].to_numpy()
        for name in ("mix", "unigram")
    ], axis=1)  # fmt: skip
    first = tables["mix"]
    measured = behind(cut(first["doc"].to_numpy(), first["bytes"].to_numpy(), nats), 0)[1]
    assert verdict.interval == measured
    assert f"{measured.difference:+.4f}" in verdict.reason
    assert f"[{measured.low:+.4f}, {measured.high:+.4f}]" in verdict.reason
    assert holder(repository, "champion") == "mix"


def test_a_better_model_becomes_champion(repository, holder, client):
    publish(repository)
    worst = next(
        version.version
        for version in client(repository).search_model_versions(f"name = '{NAME}'")
        if version.tags["textmill.model"] == "unigram"
    )
    client(repository).set_registered_model_alias(NAME, "champion", worst)
    verdict = promote("kn3", repository)
    assert verdict.promoted
    assert verdict.interval.high < 0
    assert holder(repository, "champion") == "kn3"
    assert promote("kn3", repository).reason == "kn3 is the champion already"


def test_without_a_champion_the_first_one_is_promoted(repository, holder, client):
    publish(repository)
    client(repository).delete_registered_model_alias(NAME, "champion")
    verdict = promote("unigram", repository)
    assert verdict.promoted
    assert holder(repository, "champion") == "unigram"


def test_a_difference_that_may_be_chance_is_refused(tmp_path, empty_store, holder):
    """Both are the same but for noise: a little better is not enough."""
    made = tmp_path / "close"
    made.mkdir()
    make_repository(made, kn3=1.2, lstm=1.2001, mix=1.21)
    shutil.copy(empty_store, made / "mlflow.db")
    publish(made)
    champion = holder(made, "champion")
    other = {"kn3": "lstm", "lstm": "kn3"}[champion]
    verdict = promote(other, made)
    assert not verdict.promoted
    assert verdict.interval.low < 0 < verdict.interval.high
    assert holder(made, "champion") == champion


def test_a_champion_of_another_text_is_not_compared(repository, client, holder):
    publish(repository)
    version = client(repository).get_model_version_by_alias(NAME, "champion").version
    client(repository).set_model_version_tag(NAME, version, "textmill.comparison_key", "b" * 64)
    verdict = promote("kn3", repository)
    assert not verdict.promoted
    assert "different texts" in verdict.reason
    assert "bbbbbbbb" in verdict.reason
    assert verdict.interval is None
    assert holder(repository, "champion") == "mix"


def aliases(client, repository):
    """Alias -> name of its model and its comparison key."""
    ours = client(repository)
    found = {}
    for alias, number in ours.get_registered_model(NAME).aliases.items():
        marks = ours.get_model_version(NAME, number).tags
        found[alias] = (marks["textmill.model"], marks["textmill.comparison_key"])
    return found


def test_each_test_text_has_a_champion_of_its_own(
    repository, client, tmp_path, content, change_text
):
    """Also after texts were changed to and fro, with what was promoted meanwhile."""
    first = publication(repository).comparison_key
    publish(repository)
    worst = version_of(client, repository, "unigram").version
    client(repository).set_registered_model_alias(NAME, "champion", worst)
    assert promote("kn3", repository).promoted
    kept = tmp_path / "kept"
    shutil.copytree(repository, kept, ignore=shutil.ignore_patterns("mlflow.db", "mlruns"))

    change_text(lstm=1.0)
    second = publication(repository).comparison_key
    assert first != second
    refused = promoted_before_it_is_published(repository)
    assert refused.next_step == "textmill publish"
    publish(repository)
    assert aliases(client, repository) == {
        "baseline": ("kn3", second),
        "champion": ("lstm", second),
        f"champion-{first[:8]}": ("kn3", first),
    }
    verdict = promote("mix", repository)
    assert "against the champion lstm" in verdict.reason
    before = content(repository)
    publish(repository)
    assert content(repository) == before

    shutil.copytree(kept, repository, dirs_exist_ok=True)
    verdict = promote("mix", repository)
    assert not verdict.promoted
    assert f"comparison keys {first[:8]} and {second[:8]}" in verdict.reason
    assert "-> textmill publish" in verdict.reason
    publish(repository)
    assert aliases(client, repository) == {
        "baseline": ("kn3", first),
        "champion": ("kn3", first),
        f"champion-{second[:8]}": ("lstm", second),
    }


def promoted_before_it_is_published(repository):
    with pytest.raises(UserError, match="is not in the registry textmill-tales yet") as refused:
        promote("kn3", repository)
    return refused.value


def test_a_contaminated_text_has_no_champion_of_another_one(repository, client, change_text):
    first = publication(repository).comparison_key
    publish(repository)
    change_text()
    contaminate(repository)
    publish(repository)
    assert aliases(client, repository).keys() == {"baseline", f"champion-{first[:8]}"}


@pytest.mark.parametrize("cut", ["set_registered_model_alias", "delete_registered_model_alias"])
@pytest.mark.parametrize("calls", [0, 1])
def test_changing_champions_may_break_off(
    repository, client, tmp_path, monkeypatch, change_text, cut, calls
):
    class Stopped(Exception):
        pass

    left = calls
    method = getattr(MlflowClient, cut)

    def counting(*arguments):
        nonlocal left
        if not left:
            raise Stopped
        left -= 1
        return method(*arguments)

    publish(repository)
    chosen = version_of(client, repository, "kn3").version
    client(repository).set_registered_model_alias(NAME, "champion", chosen)
    kept = tmp_path / "kept"
    shutil.copytree(repository, kept, ignore=shutil.ignore_patterns("mlflow.db", "mlruns"))
    first = publication(repository).comparison_key
    change_text()
    second = publication(repository).comparison_key
    publish(repository)
    shutil.copytree(kept, repository, dirs_exist_ok=True)
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, cut, counting)
        with pytest.raises(Stopped):
            publish(repository)
    publish(repository)
    found = aliases(client, repository)
    assert found["champion"] == ("kn3", first)
    assert found[f"champion-{second[:8]}"] == ("mix", second)


def version_of(client, repository, model):
    found = client(repository).search_model_versions(f"name = '{NAME}'")
    (version,) = [one for one in found if one.tags["textmill.model"] == model]
    return version


def logged_model(version):
    return version.source.removeprefix("models:/")


def is_gone_for_good(repository, run_id):
    """As `mlflow gc` leaves it."""
    with sqlite3.connect(repository / "mlflow.db") as database:
        for table in ("tags", "params", "metrics", "latest_metrics", "runs"):
            database.execute(f"delete from {table} where run_uuid = '{run_id}'")
    database.close()


@pytest.mark.parametrize("lost", ["run", "run for good", "logged model"])
def test_a_champion_that_was_deleted_in_mlflow_comes_back_with_its_aliases(
    repository, client, holder, lost
):
    publish(repository)
    before = version_of(client, repository, "mix")
    if lost == "logged model":
        client(repository).delete_logged_model(logged_model(before))
    else:
        client(repository).delete_run(before.run_id)
    if lost == "run for good":
        is_gone_for_good(repository, before.run_id)
        with pytest.raises(UserError, match="the run of the champion mix is not in MLflow any"):
            promote("kn3", repository)
    else:
        assert not promote("kn3", repository).promoted
    assert publish(repository).versions == 1
    after = version_of(client, repository, "mix")
    assert after.version != before.version
    assert client(repository).get_run(after.run_id).info.lifecycle_stage == "active"
    assert client(repository).get_logged_model(logged_model(after)).status == "READY"
    assert (after.run_id == before.run_id) == (lost == "logged model")
    assert holder(repository, "champion") == "mix"
    assert not promote("kn3", repository).promoted
    assert publish(repository).versions == 0


@pytest.mark.parametrize("cut", ["set_registered_model_alias", "delete_model_version"])
def test_a_champion_keeps_its_alias_where_bringing_it_back_breaks_off(
    repository, client, holder, monkeypatch, cut
):
    class Stopped(Exception):
        pass

    def stop(*_, **__):
        raise Stopped

    publish(repository)
    client(repository).delete_run(version_of(client, repository, "mix").run_id)
    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, cut, stop)
        with pytest.raises(Stopped):
            publish(repository)
    assert holder(repository, "champion") == "mix"
    publish(repository)
    assert holder(repository, "champion") == "mix"
    run = client(repository).get_run(version_of(client, repository, "mix").run_id)
    assert run.info.lifecycle_stage == "active"
    assert publish(repository).versions == 0


def test_a_model_that_was_deleted_in_mlflow_becomes_no_champion(repository, client, holder):
    publish(repository)
    worst = version_of(client, repository, "unigram").version
    client(repository).set_registered_model_alias(NAME, "champion", worst)
    client(repository).delete_run(version_of(client, repository, "mix").run_id)
    with pytest.raises(UserError, match="the run of mix was deleted in MLflow") as refused:
        promote("mix", repository)
    assert refused.value.next_step == "textmill publish"
    assert holder(repository, "champion") == "unigram"
    publish(repository)
    assert promote("mix", repository).promoted


def test_a_champion_that_somebody_else_registered_is_not_compared(repository, client):
    publish(repository)
    version = client(repository).create_model_version(NAME, source="/elsewhere").version
    client(repository).set_registered_model_alias(NAME, "champion", version)
    verdict = promote("kn3", repository)
    assert not verdict.promoted
    assert f"version {version} cannot be compared: textmill did not register" in verdict.reason
    assert "\n  -> delete the alias champion in MLflow" in verdict.reason


def contaminate(repository, *, really=True):
    board = repository / "reports/leaderboard.json"
    found = json.loads(board.read_text())
    found["text"]["overlap"] = {"unit": "words", "n": 13, "ngrams": 0.4, "lines": 0.5, "max": 0.01,
                                "is_contaminated": really}  # fmt: skip
    board.write_text(json.dumps(found))
    write_lock(repository)


def test_nobody_becomes_champion_by_remembering_the_test_text(repository, client, runs):
    """The comparison key is of the test text alone, so another training text has the same one."""
    contaminate(repository)
    publish(repository)
    assert client(repository).get_registered_model(NAME).aliases.keys() == {"baseline"}
    assert runs(repository)["kn3"].data.tags["textmill.contaminated"] == "true"
    assert version_of(client, repository, "kn3").tags["textmill.contaminated"] == "true"
    verdict = promote("kn3", repository)
    assert not verdict.promoted
    assert "the test text of tales stands in its training text" in verdict.reason
    version = version_of(client, repository, "mix").version
    client(repository).set_registered_model_alias(NAME, "champion", version)
    contaminate(repository, really=False)
    publish(repository)
    assert runs(repository)["kn3"].data.tags["textmill.contaminated"] == "false"
    assert "the latter learnt from text" in promote("kn3", repository).reason


def test_a_champion_whose_files_are_gone_is_still_to_be_beaten(repository, holder):
    """Its nats of every line are in the store."""
    publish(repository)
    shutil.rmtree(repository / "scores/mix")
    verdict = promote("unigram", repository)
    assert not verdict.promoted
    assert "against the champion mix" in verdict.reason


def test_a_model_that_is_not_published_is_told_what_to_type(repository):
    publish(repository)
    (repository / "models/unigram/record.json").write_text('{"made": "anew"}\n')
    write_lock(repository)
    with pytest.raises(
        UserError, match="unigram is not in the registry textmill-tales yet"
    ) as refused:
        promote("unigram", repository)
    assert "textmill publish" in str(refused.value)


def test_a_model_that_is_not_ranked_is_told_so(repository):
    """Publishing again would not help."""
    board = repository / "reports/leaderboard.json"
    found = json.loads(board.read_text())
    (one,) = [entry for entry in found["models"] if entry["name"] == "unigram"]
    found["models"].remove(one)
    found["unranked"].append({"name": "unigram", "group": "ngrams", "reason": "scores only"})
    board.write_text(json.dumps(found))
    write_lock(repository)
    publish(repository)
    with pytest.raises(UserError, match="unigram is not ranked, so it cannot be") as refused:
        promote("unigram", repository)
    assert "textmill leaderboard" in str(refused.value)


def artifact(repository, client, name):
    found = client(repository).search_runs(
        [client(repository).get_experiment_by_name("textmill/tales").experiment_id],
        f"tags.`textmill.model` = '{name}'",
    )
    return repository / "mlruns" / found[0].info.run_id / "artifacts/test_lines.arrow"


def damaged(repository, client, how):
    path = artifact(repository, client, "mix")
    if how == "another":
        shutil.copy(artifact(repository, client, "unigram"), path)
    elif how == "gone":
        path.unlink()
    elif how == "columns":
        write_table(path, read_table(path).drop_columns(["nats"]))
    else:
        path.write_bytes(b"ARROW1 and nothing else")
    return path


@pytest.mark.parametrize("how", ["another", "gone", "columns", "garbage"])
def test_lines_that_are_not_the_runs_decide_nothing(repository, client, holder, how):
    publish(repository)
    right = artifact(repository, client, "mix").read_bytes()
    path = damaged(repository, client, how)
    with pytest.raises(UserError) as refused:
        promote("kn3", repository)
    assert refused.value.where == "test_lines.arrow of mix in MLflow"
    assert "textmill publish" in refused.value.next_step
    assert holder(repository, "champion") == "mix"
    assert publish(repository).written == 1
    assert path.read_bytes() == right
    assert not promote("kn3", repository).promoted


@pytest.mark.parametrize("how", ["another", "garbage"])
def test_damaged_lines_are_sent_anew_without_being_asked_for(repository, client, how):
    publish(repository)
    right = artifact(repository, client, "mix").read_bytes()
    path = damaged(repository, client, how)
    assert publish(repository).written == 1
    assert path.read_bytes() == right
    assert publish(repository).written == 0


def test_lines_on_a_server_are_sent_anew_once_they_were_found_wrong(
    repository, client, monkeypatch
):
    """Publishing does not read them there; promoting does and marks the run."""
    publish(repository)
    right = artifact(repository, client, "mix").read_bytes()
    path = damaged(repository, client, "another")
    monkeypatch.setattr("textmill.tracking.models._local", lambda *_: None)
    assert publish(repository).written == 0
    with pytest.raises(UserError, match="its lines need"):
        promote("kn3", repository)
    assert publish(repository).written == 1
    assert path.read_bytes() == right


def test_doubled_versions_are_one_again(repository, client):
    publish(repository)
    ours = client(repository)
    first = min(
        ours.search_model_versions(f"name = '{NAME}'"), key=lambda version: int(version.version)
    )
    ours.create_model_version(NAME, first.source, tags=first.tags, await_creation_for=0)
    with opened(repository) as store:
        found = registry.versions(store, NAME)
    assert int(found[first.tags["textmill.identity"]].version) == int(first.version)
    assert len(ours.search_model_versions(f"name = '{NAME}'")) == 4


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["promote", "kn33"], 2, 'did you mean "kn3"'),
        (["promote", "unigram"], 1, "not promoted: unigram: +"),
        (["promote", "mix"], 0, "mix is the champion already"),
        (["verify", "kn3"], 0, "all 21 links hold"),
        (["trace", "lstn"], 2, 'did you mean "lstm"'),
    ],
)
def test_exit_codes(repository, monkeypatch, capsys, arguments, code, said):
    if arguments[0] == "promote":
        publish(repository)
    monkeypatch.chdir(repository)
    monkeypatch.setattr(sys, "argv", ["textmill", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert (ended.value.code or 0) == code, err
    assert said in out + err


def test_mlflow_is_imported_by_the_commands_that_need_it_only(repository, root):
    probe = (
        "import sys; from textmill.cli.main import app\n"
        "try: app()\nexcept SystemExit as ended: code = ended.code\n"
        "raise SystemExit(code or 'mlflow' in sys.modules)"
    )
    for arguments in (["trace", "kn3"], ["verify"], ["leaderboard"]):
        done = subprocess.run(
            [sys.executable, "-c", probe, *arguments], cwd=repository, capture_output=True,
            env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"}, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
