"""Two machines publish the same into one store at once: neither fails, and nothing is doubled.

No server and no second process: the other machine's publishing is put in between two requests of
this one's. A store with an address of its own is everybody's; its lock, which is one machine's, is
left out.
"""

import contextlib
import shutil
import socket
import time

import pytest
from mlflow.entities import ViewType
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import BAD_REQUEST
from mlflow.tracking import MlflowClient
from mlflow.tracking.fluent import create_external_model

from textmill.tracking import models, tags
from textmill.tracking import publish as publishing
from textmill.tracking.publish import publish
from textmill.tracking.store import StoreError

EXPERIMENT, NAME = "textmill/tales", "textmill-tales"
REQUESTS = (
    "create_experiment", "create_run", "log_batch", "log_inputs", "log_outputs", "log_artifact",
    "set_terminated", "set_tag", "delete_run", "create_registered_model", "create_model_version",
    "set_registered_model_alias", "delete_model_version", "search_runs", "search_logged_models",
    "search_model_versions", "get_run", "delete_logged_model", "finalize_logged_model",
)  # fmt: skip


@pytest.fixture
def shared(made, empty_store, tmp_path, monkeypatch):
    """Two checkouts of the same and one store; the client on it."""
    (tmp_path / "shared").mkdir()
    uri = f"sqlite:///{tmp_path / 'shared/mlflow.db'}"
    shutil.copy(empty_store, tmp_path / "shared/mlflow.db")
    shutil.copytree(made, tmp_path / "other")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setattr("textmill.tracking.store._alone", lambda *_: contextlib.nullcontext())
    return MlflowClient(uri)


@pytest.fixture
def publish_elsewhere(tmp_path, monkeypatch):
    """What another machine with the same checkout does.

    early: it had looked what is there before this machine had put anything. clock: seconds that
    its clock is ahead.
    """

    def act(*, early=False, clock=0.0):
        now = time.time_ns
        with monkeypatch.context() as patch:
            patch.setattr(socket, "gethostname", lambda: "elsewhere")
            patch.setattr(time, "time_ns", lambda: now() + round(clock * 1e9))
            if early:
                patch.setattr(publishing, "_published", once({}, publishing._published))
                patch.setattr(models, "logged", once(set(), models.logged))
            return publish(tmp_path / "other")

    return act


def once(first, function):
    """The function, but for its first call, which gives what it would have given earlier."""
    answers = [first]
    return lambda *arguments: answers.pop() if answers else function(*arguments)


@pytest.fixture
def before_request(monkeypatch):
    """Do something once, before the n-th request, or the n-th of one name."""

    def put(number, act, names=REQUESTS):
        left = number

        def counting(name):
            method = getattr(MlflowClient, name)

            def call(self, *arguments, **named):
                nonlocal left
                left -= 1
                if left == 0:
                    act()
                return method(self, *arguments, **named)

            return call

        for name in names:
            monkeypatch.setattr(MlflowClient, name, counting(name))
        return lambda: left <= 0

    return put


def whole(client):
    """The store's content as counts; every name once, and each version of what is there."""
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    found = client.search_runs([experiment], run_view_type=ViewType.ACTIVE_ONLY)
    logged = models_of(client)
    versions = client.search_model_versions(f"name = '{NAME}'")
    ids = {run.info.run_id for run in found}
    assert {one.source_run_id for one in logged} <= ids
    assert {version.run_id for version in versions} <= ids
    assert {version.source for version in versions} == {f"models:/{m.model_id}" for m in logged}
    assert {run.info.status for run in found} == {"FINISHED"}
    return len(found), len(logged), len(versions)


def assert_settled(client, made):
    assert whole(client) == (5, 4, 4)
    again = publish(made)
    assert (again.written, again.versions) == (0, 0)
    assert whole(client) == (5, 4, 4)
    aliases = client.get_registered_model(NAME).aliases
    holders = {
        alias: client.get_model_version(NAME, version).tags[tags.MODEL]
        for alias, version in aliases.items()
    }
    assert holders == {"baseline": "kn3", "champion": "mix"}


@pytest.mark.parametrize(
    ("number", "early", "clock"),
    [(2, False, 0), (12, True, 0), (21, False, 3600), (34, True, -3600), (55, True, -3600),
     (68, False, 0)],
)  # fmt: skip
def test_another_machine_publishes_all_of_it_in_between(
    shared, made, publish_elsewhere, before_request, number, early, clock
):
    came = before_request(number, lambda: publish_elsewhere(early=early, clock=clock))
    publish(made)
    assert came()
    assert_settled(shared, made)


def test_a_machine_that_had_looked_early_takes_the_models_that_are_about_to_be_registered(
    shared, made, publish_elsewhere, before_request
):
    before_request(1, lambda: publish_elsewhere(early=True), ["create_registered_model"])
    assert publish(made).written == 4
    assert_settled(shared, made)


def test_a_model_that_goes_before_it_is_registered_is_made_anew(shared, made, before_request):
    def delete():
        for model in models_of(shared):
            shared.delete_logged_model(model.model_id)

    came = before_request(1, delete, ["create_model_version"])
    publish(made)
    assert came()
    assert_settled(shared, made)


def test_what_the_store_refuses_again_and_again_is_told(shared, made, monkeypatch):
    refusals = []

    def refuse(*_):
        refusals.append(1)
        raise MlflowException("no such thing", error_code=BAD_REQUEST)

    monkeypatch.setattr(MlflowClient, "log_inputs", refuse)
    with pytest.raises(StoreError, match="no such thing"):
        publish(made)
    assert len(refusals) == publishing.ROUNDS


def test_doubled_logged_models_are_one_again_and_somebodys_own_stay(shared, made):
    publish(made)
    (first, *_) = models_of(shared)
    run_id, name = first.source_run_id, first.name
    for marks in (first.tags, {}):
        double = create_external_model(name, run_id, tags=marks, experiment_id=first.experiment_id)
    assert publish(made).written == 0
    own = [one.model_id for one in models_of(shared) if one.source_run_id == run_id]
    assert sorted(own) == sorted([first.model_id, double.model_id])


def models_of(client):
    experiment = client.get_experiment_by_name(EXPERIMENT)
    return client.search_logged_models([experiment.experiment_id])
