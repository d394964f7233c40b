"""`textmill publish`: put what DVC knows into MLflow, where it is not there yet.

MLflow is asked first and only what it lacks is sent, so publishing again adds nothing, an emptied
store fills again, and a publisher that was killed is gone on from.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from mlflow.entities import Run
from mlflow.exceptions import MlflowException

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.lineage import notes
from textmill.lineage.lock import LOCK, read_lock
from textmill.lineage.publication import ModelRecord, Publication, digest, publication
from textmill.repository import layout
from textmill.tracking import live, models, registry, runs, tags, views
from textmill.tracking.models import Target
from textmill.tracking.store import Store, StoreError, exists, opened, shown, store_uri

PAGE = layout.REPORTS / "leaderboard.html"
OWN_STAGE = "publish"
ROUNDS = 5
"""So often at most one looks anew, where others publish the same in the same seconds."""
OVERTAKEN = {
    "RESOURCE_DOES_NOT_EXIST",
    "RESOURCE_ALREADY_EXISTS",
    "INVALID_PARAMETER_VALUE",
    "INVALID_STATE",
    "BAD_REQUEST",
}
"""What MLflow answers where another deleted, made or changed a thing since one looked."""


@dataclass(frozen=True, slots=True)
class Published:
    """A model's run. link: where MLflow's pages show it, those of `make ui` for a database."""

    model: str
    run_id: str
    link: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What publishing did: every model's run, how many are new, versions registered.

    doubles: model -> the one that it is the same as, under whose name both are published.
    """

    uri: str
    experiment: str
    models: tuple[Published, ...]
    doubles: Mapping[str, str]
    written: int
    versions: int


def publish(root: Path = Path()) -> Outcome:
    """Publish the leaderboard's models. Raises UserError; StoreError where MLflow is to blame.

    Runs whose process was killed are ended, also where nothing can be published just now.
    """
    try:
        record = publication(root)
    except UserError:
        _repair(root)
        raise
    with opened(root) as store:
        return _publish_once(store, record, root) if store.own else _settle(store, record, root)


def _settle(store: Store, record: Publication, root: Path) -> Outcome:
    """Publish until nothing is left to add.

    Of what two machines make at once one goes, also under the hands of the one that made it. That
    one looks again and goes on with the other's.
    """
    written = versions = 0
    for left in reversed(range(ROUNDS)):
        try:
            outcome = _publish_once(store, record, root)
        except MlflowException as error:
            if left and error.error_code in OVERTAKEN:
                continue
            raise
        written, versions = written + outcome.written, versions + outcome.versions
        if not outcome.written and not outcome.versions:
            break
    return replace(outcome, written=written, versions=versions)


def _publish_once(store: Store, record: Publication, root: Path) -> Outcome:
    """Look what is there and add what is not."""
    name = runs.experiment_name(record.corpus)
    note = notes.of_experiment(record.title, record.corpus)
    experiment_id = runs.experiment(store, name, note, record.comparison_key)
    found = _published(store, experiment_id, record)
    parent = _parent(store, experiment_id, record, found.get(record.identity), root)
    checkout = models.checkout_marks(root)
    alive = models.logged(store, experiment_id, found)
    target = Target(store, experiment_id, parent.info.run_id, record, root, checkout, alive)
    written = 0
    for model in record.models:
        run = found.get(model.identity)
        if run is None or _lacks_something(run, model, target):
            done = models.publish(target, model, run)
            if done is not None:
                found[model.identity] = done
                written += 1
    live.end_abandoned(store, partial(_finished, record, root))
    added = registry.publish(store, record, found, alive)
    links = _links(store, experiment_id, record, found)
    return Outcome(shown(store.uri), name, links, record.doubles, written, added)


def _repair(root: Path) -> None:
    """End runs that nobody writes any more. Without a store there are none, and none is made."""
    with suppress(StoreError):
        if exists(store_uri(root)):
            with opened(root) as store:
                live.end_abandoned(store)


def _links(
    store: Store, experiment_id: str, record: Publication, found: Mapping[str, Run]
) -> tuple[Published, ...]:
    """Every model's run, in the leaderboard's order."""
    server = views.server(store.uri)
    ids = {identity: run.info.run_id for identity, run in found.items()}
    return tuple(
        Published(one.name, run_id, views.run(server, experiment_id, run_id))
        for one in record.models
        if (run_id := ids.get(one.identity)) is not None
    )


def _finished(record: Publication, root: Path) -> set[str]:
    """Input fingerprints of the stages that made the models."""
    return {known for model in record.models if (known := models.fingerprint(model.stage, root))}


def _published(store: Store, experiment_id: str, record: Publication) -> dict[str, Run]:
    """The runs of this comparison key by identity, each once."""
    return runs.keep_oldest(
        store, runs.tagged(store, experiment_id, tags.KEY, record.comparison_key)
    )


def _lacks_something(run: Run, model: ModelRecord, target: Target) -> bool:
    if not models.is_whole(run, model, target.parent_id) or not models.model_id(run, target.alive):
        return True
    restored = run.data.tags.get(tags.ORIGIN) != tags.RUN
    return restored and bool(models.known_facts(model.stage, target.root))


def _parent(
    store: Store, experiment_id: str, record: Publication, run: Run | None, root: Path
) -> Run:
    """The run under which every model of this test text hangs, with today's files."""
    if run is None:
        run = runs.create(store, experiment_id, _parent_name(record), _parent_tags(record, root))
    run_id = run.info.run_id
    files = [path for path in (LOCK, layout.PARAMS, PAGE) if (root / path).is_file()]
    content = _content(files, root)
    missing = [path for path in files if not models.has_artifact(run, path.name)]
    if run.data.tags.get(tags.FILES) != content or missing:
        for path in files:
            store.client.log_artifact(run_id, str(root / path))
        store.client.set_tag(run_id, tags.NOTE, record.note)
        store.client.set_tag(run_id, tags.FILES, content)
    if run.info.status != "FINISHED":
        store.client.set_terminated(run_id, "FINISHED")
    return run


def _parent_name(record: Publication) -> str:
    return f"{record.corpus}, {record.comparison_key[:8]}"


def _parent_tags(record: Publication, root: Path) -> dict[str, str]:
    return {
        tags.IDENTITY: record.identity,
        tags.ROLE: tags.PARENT,
        tags.KEY: record.comparison_key,
        tags.NOTE: record.note,
        **models.checkout_marks(root),
    }


def _content(files: list[Path], root: Path) -> str:
    """Digest of the parent's files. DVC writes this stage into its lock after the stage ended."""
    hashes = {str(path): sha256_of(root / path) for path in files if path != LOCK}
    stages = {n: asdict(one) for n, one in read_lock(root).items() if n != OWN_STAGE}
    return digest([hashes, stages])
