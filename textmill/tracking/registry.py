"""The registry: one registered model a corpus, a version for each model, two aliases.

`baseline` is the best n-gram and moves with it. `champion` is set once for every test text, to the
best model, and from then on only by `textmill promote`. Both choices are made on the validation
text. Models measured on different test texts do not compare, so when that text changes its champion
steps aside under the alias `champion-KEY`, and is champion again when the text comes back. A model
that was deleted in MLflow comes back under a new version.
"""

from collections.abc import Mapping, Set

from mlflow.entities import Run
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from textmill.lineage.publication import Publication
from textmill.tracking import runs, tags
from textmill.tracking.models import model_id
from textmill.tracking.store import Store

BASELINE, CHAMPION = "baseline", "champion"


def name_of(corpus: str) -> str:
    """Of the registered model."""
    return f"textmill-{corpus}"


def _kept_as(comparison_key: str) -> str:
    """Alias of the champion of a test text that is not today's."""
    return f"{CHAMPION}-{comparison_key[:8]}"


def publish(
    store: Store, publication: Publication, found: Mapping[str, Run], alive: Set[str]
) -> int:
    """Register what is not registered; returns how many versions were added.

    found: the run of each identity, but for those that another machine is publishing. alive: ids
    of the logged models that are there. A version whose run or logged model was deleted in MLflow
    gives way to a new one, which takes its aliases.
    """
    name = name_of(publication.corpus)
    _registered(store, name, publication)
    known = versions(store, name)
    added = 0
    for record in publication.models:
        run = found.get(record.identity)
        made = model_id(run, alive) if run else None
        if not record.ranked or run is None or made is None:
            continue
        old = known.get(record.identity)
        if old is not None and (old.run_id, old.source) == (run.info.run_id, _source(made)):
            continue
        new = _add_version(store, name, record.name, run, made)
        if old is not None:
            _replace(store, name, old, by=new)
        added += 1
    if added:  # another machine may have added the same
        known = versions(store, name)
    _set_aliases(store, name, publication, known)
    return added


def _set_aliases(
    store: Store, name: str, publication: Publication, known: Mapping[str, ModelVersion]
) -> None:
    """Nobody becomes champion on a test text that stands in the training text."""
    _change_champions(store, name, publication)
    aliases = store.client.get_registered_model(name).aliases
    wanted = {BASELINE: publication.baseline}
    if CHAMPION not in aliases and not publication.contaminated:
        wanted[CHAMPION] = publication.best
    for alias, model in wanted.items():
        version = known.get(publication.identities.get(model, "")) if model else None
        if version and str(aliases.get(alias)) != str(version.version):
            store.client.set_registered_model_alias(name, alias, version.version)


def _change_champions(store: Store, name: str, publication: Publication) -> None:
    """A champion of another test text steps aside; the one that today's had before comes back."""
    client, key = store.client, publication.comparison_key
    holder = champion(store, publication.corpus)
    theirs = holder.tags.get(tags.KEY, key) if holder else key
    if holder and theirs != key:
        client.set_registered_model_alias(name, _kept_as(theirs), holder.version)
        client.delete_registered_model_alias(name, CHAMPION)
        holder = None
    kept = client.get_registered_model(name).aliases.get(_kept_as(key))
    if kept and holder is None:
        client.set_registered_model_alias(name, CHAMPION, str(kept))
        client.delete_registered_model_alias(name, _kept_as(key))


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
                _replace(store, name, second, by=first)
        token = page.token
        if not token:
            return found


def _replace(store: Store, name: str, old: ModelVersion, *, by: ModelVersion) -> None:
    """Delete a version. Its aliases, which would go with it, are another's from before that on."""
    for alias, version in store.client.get_registered_model(name).aliases.items():
        if str(version) == str(old.version):
            store.client.set_registered_model_alias(name, alias, by.version)
    try:
        store.client.delete_model_version(name, old.version)
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


def _registered(store: Store, name: str, publication: Publication) -> None:
    """See to it that the registered model is there."""
    try:
        store.client.get_registered_model(name)
        return
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
    about = (
        f"Models of the corpus `{publication.corpus}`. Weights are with DVC: the tags of a version "
        "name their path and md5. `baseline` is the best n-gram of the text published last; "
        "`champion` is that text's too and moves by `textmill promote`."
    )
    try:
        store.client.create_registered_model(name, description=about)
    except MlflowException as error:  # another machine was faster
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise


def _source(made: str) -> str:
    """What a version of a logged model gives as its source."""
    return f"models:/{made}"


def _add_version(store: Store, name: str, model: str, run: Run, made: str) -> ModelVersion:
    wanted = (tags.IDENTITY, tags.KEY, "dvc.path", "dvc.md5", tags.COMMIT, *tags.MARKS)
    marks = {tag: run.data.tags[tag] for tag in wanted if tag in run.data.tags}
    try:
        return store.client.create_model_version(
            name,
            source=_source(made),
            run_id=run.info.run_id,
            model_id=made,
            tags={tags.MODEL: model, **marks},
            description=model,
            await_creation_for=0,
        )
    except MlflowException:
        store.client.get_logged_model(made)  # raises that it is gone, which MLflow does not tell
        raise
