"""Runs found by what they are about: one run for one identity, whoever else publishes.

A database on this machine is locked while it is written, but another machine may publish the same
model to the same server in the same second. So whoever creates a run looks again: of several with
one identity the oldest stays and the others are deleted.
"""

import time
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, urlparse

from mlflow.entities import Experiment, Run, ViewType

from textmill.tracking import tags, views
from textmill.tracking.processes import own_marks
from textmill.tracking.store import REBUILD, Store, StoreError, shown

PAGE = 500
PREFIX = "textmill/"


def experiment_name(corpus: str) -> str:
    """Of the experiment of a corpus."""
    return f"{PREFIX}{corpus}"


def experiments(store: Store) -> list[str]:
    """Ids of the experiments of every corpus."""
    found, token = list[str](), None
    while True:
        page = store.client.search_experiments(
            filter_string=f"name LIKE '{PREFIX}%'", page_token=token
        )
        found += [str(one.experiment_id) for one in page]
        token = page.token
        if not token:
            return found


def experiment(store: Store, name: str, note: str, comparison_key: str) -> str:
    """Id of the experiment, created or, where somebody deleted it, restored.

    comparison_key: of the runs that its saved view shows.
    """
    found = known_experiment(store, name)
    marks = {
        tags.KIND_OF_EXPERIMENT: tags.MODEL_TRAINING,
        tags.NOTE: note,
        views.TAG: views.saved_view(comparison_key),
    }
    if found is None:
        return _create_experiment(store, name, marks)
    if found.lifecycle_stage != "active":
        store.client.restore_experiment(found.experiment_id)
    for tag, value in marks.items():
        if found.tags.get(tag) != value:
            store.client.set_experiment_tag(found.experiment_id, tag, value)
    return str(found.experiment_id)


def known_experiment(store: Store, name: str) -> Experiment | None:
    """The experiment of that name. Raises StoreError where its files lie in another repository."""
    found = store.client.get_experiment_by_name(name)
    if found is not None:
        _refuse_foreign_files(store, found.artifact_location)
    return found


def _refuse_foreign_files(store: Store, location: str) -> None:
    """MLflow writes absolute paths into its store: one that was moved or copied along with the
    repository would go on writing files where the repository was.
    """
    if store.own and unquote(urlparse(location).path) != store.artifacts:
        raise StoreError(
            f"it was made for another place and keeps its files in {location}",
            where=shown(store.uri),
            next_step=REBUILD,
        )


def _create_experiment(store: Store, name: str, marks: dict[str, str]) -> str:
    from mlflow.exceptions import MlflowException  # noqa: PLC0415

    try:
        return str(store.client.create_experiment(name, store.artifacts, marks))
    except MlflowException:  # another machine was faster
        found = store.client.get_experiment_by_name(name)
        if found is None:
            raise
        return str(found.experiment_id)


def search(store: Store, experiment_id: str, condition: str) -> Iterator[Run]:
    """Every run that meets the condition."""
    token = None
    while True:
        page = store.client.search_runs(
            [experiment_id], condition, ViewType.ACTIVE_ONLY, PAGE, page_token=token
        )
        yield from page
        token = page.token
        if not token:
            return


def quoted(text: str) -> str:
    """A string of MLflow's filters; it knows no escapes, but either quote."""
    return f'"{text}"' if "'" in text else f"'{text}'"


def tagged(store: Store, experiment_id: str, tag: str, value: str) -> list[Run]:
    """Runs with this value of a tag, the oldest first."""
    return oldest_first(search(store, experiment_id, f"tags.`{tag}` = {quoted(value)}"))


def oldest_first(found: Iterable[Run]) -> list[Run]:
    """By the time of creation; the same order on every machine."""
    return sorted(found, key=lambda run: (int(run.data.tags.get(tags.CLAIM, 0)), run.info.run_id))


def keep_oldest(store: Store, found: Iterable[Run]) -> dict[str, Run]:
    """The oldest run of each identity; younger ones are deleted."""
    kept: dict[str, Run] = {}
    for run in oldest_first(found):
        identity = run.data.tags.get(tags.IDENTITY)
        if identity is None:
            continue
        if kept.setdefault(identity, run) is not run:
            store.client.delete_run(run.info.run_id)
    return kept


def create(
    store: Store, experiment_id: str, name: str, marks: dict[str, str], start: int | None = None
) -> Run:
    """A new run for the identity among `marks`, or the older one that somebody made meanwhile."""
    run = create_unnamed(store, experiment_id, name, marks, start)
    found = tagged(store, experiment_id, tags.IDENTITY, marks[tags.IDENTITY])
    return keep_oldest(store, found).get(marks[tags.IDENTITY], run)


def create_unnamed(
    store: Store, experiment_id: str, name: str, marks: dict[str, str], start: int | None = None
) -> Run:
    """A new run without an identity yet."""
    claimed = {**marks, **own_marks(), tags.CLAIM: str(time.time_ns())}
    return store.client.create_run(experiment_id, start, claimed, name)
