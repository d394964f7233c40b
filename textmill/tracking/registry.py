"""The registry: one registered model a corpus, a version for each model, two aliases.

`baseline` is the best n-gram and moves with it. `champion` is set once, to the best model, and
from then on only by `textmill promote`. Both choices are made on the validation text.
"""

from collections.abc import Mapping

from mlflow.entities import Run
from mlflow.entities.model_registry import ModelVersion, RegisteredModel
from mlflow.exceptions import MlflowException

from textmill.lineage.publication import Publication
from textmill.tracking import runs, tags
from textmill.tracking.models import model_id
from textmill.tracking.store import Store

BASELINE, CHAMPION = "baseline", "champion"


def name_of(corpus: str) -> str:
    """Of the registered model."""
    return f"textmill-{corpus}"


def publish(store: Store, publication: Publication, found: Mapping[str, Run]) -> int:
    """Register what is not registered; returns how many versions were added.

    found: the run of each identity, but for those that another machine is publishing.
    """
    name = name_of(publication.corpus)
    registered = _registered(store, name, publication)
    known = versions(store, name)
    added = 0
    for record in publication.models:
        run = found.get(record.identity)
        if record.ranked and record.identity not in known and run and model_id(run):
            _add_version(store, name, record.name, run)
            added += 1
    if added:  # another machine may have added the same
        known = versions(store, name)
    wanted = {BASELINE: publication.baseline}
    if CHAMPION not in registered.aliases:
        wanted[CHAMPION] = publication.best
    for alias, model in wanted.items():
        version = known.get(publication.identities.get(model, "")) if model else None
        if version and str(registered.aliases.get(alias)) != str(version.version):
            store.client.set_registered_model_alias(name, alias, version.version)
    return added


def versions(store: Store, name: str) -> dict[str, ModelVersion]:
    """The version of each identity; younger doubles, made by two machines at once, are deleted."""
    found: dict[str, ModelVersion] = {}
    condition, token = f"name = {runs.quoted(name)}", None
    while True:
        page = store.client.search_model_versions(condition, 200, page_token=token)
        for version in page:
            identity = version.tags.get(tags.IDENTITY)
            if identity is None:
                continue
            older = found.setdefault(identity, version)
            if older is not version:
                first, second = sorted((older, version), key=lambda one: int(one.version))
                found[identity] = first
                _delete(store, name, second)
        token = page.token
        if not token:
            return found


def _delete(store: Store, name: str, version: ModelVersion) -> None:
    try:
        store.client.delete_model_version(name, version.version)
    except MlflowException as error:  # another machine was faster
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise


def champion(store: Store, corpus: str) -> ModelVersion | None:
    """The version that bears the alias, or None."""
    try:
        return store.client.get_model_version_by_alias(name_of(corpus), CHAMPION)
    except MlflowException as error:
        if error.error_code in ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE"):
            return None
        raise


def _registered(store: Store, name: str, publication: Publication) -> RegisteredModel:
    try:
        return store.client.get_registered_model(name)
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
    about = (
        f"Models of {publication.title}. Weights are with DVC: the tags of a version name their "
        "path and md5. `baseline` is the best n-gram; `champion` moves by `textmill promote`."
    )
    try:
        return store.client.create_registered_model(name, description=about)
    except MlflowException as error:  # another machine was faster
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
        return store.client.get_registered_model(name)


def _add_version(store: Store, name: str, model: str, run: Run) -> None:
    wanted = (tags.IDENTITY, tags.KEY, "dvc.path", "dvc.md5", tags.COMMIT, tags.ADAPTS)
    marks = {tag: run.data.tags[tag] for tag in wanted if tag in run.data.tags}
    made = model_id(run)
    store.client.create_model_version(
        name,
        source=f"models:/{made}",
        run_id=run.info.run_id,
        model_id=made,
        tags={tags.MODEL: model, **marks},
        description=model,
        await_creation_for=0,
    )
