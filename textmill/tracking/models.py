"""Runs of models: a run for each, filled with what it lacks and nothing twice."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from mlflow.entities import LoggedModel, LoggedModelOutput, LoggedModelStatus, Param, Run, RunTag
from mlflow.tracking.fluent import create_external_model

from textmill.base.errors import UserError
from textmill.base.files import read_record
from textmill.lineage.chain import recorded
from textmill.lineage.datasets import Dataset
from textmill.lineage.lines import of_model
from textmill.lineage.publication import ModelRecord, Publication
from textmill.repository import facts, layout
from textmill.repository.fingerprints import input_fingerprint
from textmill.repository.stages import read_stage
from textmill.tracking import lines, metrics, runs, tags
from textmill.tracking.datasets import as_input
from textmill.tracking.live import is_written_by_another
from textmill.tracking.processes import own_marks
from textmill.tracking.store import Store

LONGEST_PARAM = 6000
CUT = " … (cut; whole in params.yaml)"
TRAINING_STAGES = ("ngram", "train")


@dataclass(frozen=True, slots=True)
class Target:
    """Where models are published: the store, the experiment and the parent run in it."""

    store: Store
    experiment_id: str
    parent_id: str
    publication: Publication
    root: Path
    checkout: Mapping[str, str]
    """Tags of the commit that is published from."""
    alive: set[str]
    """Ids of the logged models that are there."""


def checkout_marks(root: Path) -> dict[str, str]:
    """The commit of the checkout and whether it differs from it; nothing outside of git."""
    return _commit_marks(facts.commit(root))


def is_whole(run: Run, record: ModelRecord, parent_id: str) -> bool:
    """Whether everything about the model is in its run already."""
    found = run.data.tags
    return (
        found.get(tags.RECORD) == record.digest
        and found.get(tags.PARENT_RUN) == parent_id
        and run.info.status == "FINISHED"
        and has_lines(run, record)
    )


def has_artifact(run: Run, name: str) -> bool:
    """False where the run's files lie on this machine and the file is gone; else it is believed."""
    path = _local(run, name)
    return path is None or path.is_file()


def has_lines(run: Run, record: ModelRecord) -> bool:
    """Whether the run has the model's own lines; a file on this machine is read."""
    path = _local(run, lines.NAME)
    return run.data.tags.get(tags.LINES) == record.lines and (
        path is None or lines.is_that(path, record.lines)
    )


def _local(run: Run, name: str) -> Path | None:
    """Where a run's file lies on this machine; None where it lies with a server."""
    address = urlparse(run.info.artifact_uri)
    if address.scheme not in ("", "file"):
        return None
    return Path(unquote(address.path)) / name


def publish(target: Target, record: ModelRecord, run: Run | None) -> Run | None:
    """Bring the model's run up to date; find one to adopt or create one where there is none.

    None where another machine is publishing the same model just now.
    """
    known = known_facts(record.stage, target.root)
    if run is None:
        run = _adopted(target, record) or _created(target, record, known)
    if is_written_by_another(run):
        return None
    run = _filled(target, record, run)
    client = target.store.client
    if known and run.data.tags.get(tags.ORIGIN) != tags.RUN:
        _add_facts(target.store, run, record, known)
    if run.info.status != "FINISHED":
        client.set_terminated(run.info.run_id, "FINISHED", _end(run, known))
    client.set_tag(run.info.run_id, tags.RECORD, record.digest)
    return client.get_run(run.info.run_id)


def model_id(run: Run, alive: Set[str]) -> str | None:
    """Of the logged model that the run put out; None where it has none that was not deleted."""
    outputs = run.outputs.model_outputs if run.outputs else []
    return next((one.model_id for one in outputs if one.model_id in alive), None)


def logged(store: Store, experiment_id: str, found: Mapping[str, Run]) -> set[str]:
    """Ids of the logged models of an experiment, one a run, without those that were deleted.

    found: the run of each identity. What runs in whose place these are have left is deleted.
    """
    kept = []
    for one in filter(_is_ready, _search(store, experiment_id)):
        run = found.get(one.tags[tags.IDENTITY])
        if run is None or run.info.run_id == one.source_run_id:
            kept.append(one)
        else:
            store.client.delete_logged_model(one.model_id)
    return set(_keep_oldest(store, kept).values())


def _search(store: Store, experiment_id: str, condition: str | None = None) -> list[LoggedModel]:
    """Our logged models that meet the condition; a run may have somebody's own beside ours."""
    found, token = list[LoggedModel](), None
    while True:
        page = store.client.search_logged_models([experiment_id], condition, page_token=token)
        found += [model for model in page if tags.IDENTITY in model.tags]
        token = page.token
        if not token:
            return found


def _is_ready(model: LoggedModel) -> bool:
    return model.status == LoggedModelStatus.READY


def _keep_oldest(store: Store, found: Iterable[LoggedModel]) -> dict[str, str]:
    """Run -> the id of its logged model, the oldest; younger doubles, as those of runs, go."""
    kept: dict[str, str] = {}
    for one in sorted(found, key=lambda model: (model.creation_timestamp, model.model_id)):
        if kept.setdefault(str(one.source_run_id), one.model_id) != one.model_id:
            store.client.delete_logged_model(one.model_id)
    return kept


def _created(target: Target, record: ModelRecord, known: Mapping[str, Any]) -> Run:
    """A new run, begun when training began where this machine knows it."""
    now = metrics.now_ms()
    start = now
    if known.get("seconds") and (made := _made_at(target.root / record.path)):
        start = made - round(known["seconds"] * 1000)
    marks = {**_tags(target, record), **target.checkout, tags.ORIGIN: tags.RESTORED}
    return runs.create(target.store, target.experiment_id, record.name, marks, min(start, now))


def _end(run: Run, known: Mapping[str, Any]) -> int:
    """End of training, where the run was made afterwards; else now."""
    if tags.FINGERPRINT in run.data.tags or not known.get("seconds"):
        return metrics.now_ms()
    return int(run.info.start_time) + round(known["seconds"] * 1000)


def _made_at(folder: Path) -> int | None:
    times = [file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()]
    return max(times) // 1_000_000 if times else None


def _adopted(target: Target, record: ModelRecord) -> Run | None:
    """The run that followed this model's training, if there is one; others like it go."""
    known = fingerprint(record.stage, target.root)
    if known is None:  # its inputs are not here, so it was not trained here
        return None
    found = runs.tagged(target.store, target.experiment_id, tags.FINGERPRINT, known)
    free = [run for run in found if tags.IDENTITY not in run.data.tags]
    for younger in free[1:]:
        target.store.client.delete_run(younger.info.run_id)
    if not free:
        return None
    own = [RunTag(tag, value) for tag, value in own_marks().items()]
    target.store.client.log_batch(free[0].info.run_id, tags=own)
    return target.store.client.get_run(free[0].info.run_id)


def _tags(target: Target, record: ModelRecord) -> dict[str, str]:
    publication = target.publication
    marks = {
        tags.IDENTITY: record.identity,
        tags.ROLE: tags.CHILD,
        tags.MODEL: record.name,
        tags.KEY: publication.comparison_key,
        tags.PARENT_RUN: target.parent_id,
        tags.NOTE: record.note,
        tags.SOURCE_NAME: record.stage,
        "dvc.path": record.path,
        "dvc.md5": record.md5,
        "dvc.stage": record.stage,
        "tokenizer.fingerprint": record.tokenizer_fingerprint,
    }
    if record.adapts:
        marks[tags.ADAPTS] = "true"
    if record.contaminated:
        marks[tags.CONTAMINATED] = "true"
    return marks if record.ranked else {**marks, tags.NOT_RANKED: "true"}


def _filled(target: Target, record: ModelRecord, run: Run) -> Run:
    """The run with whatever it lacked."""
    client, run_id = target.store.client, run.info.run_id
    wanted = _tags(target, record)
    if tags.CONTAMINATED in run.data.tags:  # of the same model, beside other text
        wanted.setdefault(tags.CONTAMINATED, "false")
    changed = {name: value for name, value in wanted.items() if run.data.tags.get(name) != value}
    params = {n: _short(v) for n, v in record.params.items() if n not in run.data.params}
    if run.info.run_name != record.name:
        client.update_run(run_id, name=record.name)
    if changed or params:
        client.log_batch(
            run_id,
            params=[Param(name, value) for name, value in params.items()],
            tags=[RunTag(name, value) for name, value in changed.items()],
        )
    _log_inputs(target, run)
    made = model_id(run, target.alive) or _logged_model(target, record, run_id)
    datasets = {dataset.name.rpartition(".")[2]: dataset for dataset in target.publication.datasets}
    metrics.log_measured(target.store, run, record, datasets, made)
    metrics.log_curve(target.store, run_id, record.curve)
    if not has_lines(run, record):
        summary = read_record(target.root / layout.summary(record.name), "test")
        lines.log(target.store, run_id, of_model(record.name, summary, target.root))
    return client.get_run(run_id)


def _log_inputs(target: Target, run: Run) -> None:
    logged = run.inputs.dataset_inputs if run.inputs else []
    known = {(one.dataset.name, one.dataset.digest) for one in logged}
    missing: list[Dataset] = [
        d for d in target.publication.datasets if (d.name, d.md5) not in known
    ]
    if missing:
        target.store.client.log_inputs(run.info.run_id, [as_input(dataset) for dataset in missing])


def _logged_model(target: Target, record: ModelRecord, run_id: str) -> str:
    """A model whose weights stay with DVC: the path and the md5 of its files, no copy.

    One that is there already is taken, be it another machine's, made since this one looked, or of
    a publisher that was killed before it tied the two together.
    """
    client = target.store.client
    made = _own_model(target, run_id)
    if made is None:
        new = _created_model(target, record, run_id)
        made = _own_model(target, run_id) or new
    outputs = client.get_run(run_id).outputs
    if made not in {one.model_id for one in (outputs.model_outputs if outputs else [])}:
        client.log_outputs(run_id, [LoggedModelOutput(made, step=0)])
    target.alive.add(made)
    return made


def _own_model(target: Target, run_id: str) -> str | None:
    """Id of the run's logged model, if it has a whole one; others of it are deleted."""
    condition = f"source_run_id = {runs.quoted(run_id)}"
    found = _search(target.store, target.experiment_id, condition)
    for half in (one for one in found if not _is_ready(one)):
        target.store.client.delete_logged_model(half.model_id)
    return _keep_oldest(target.store, filter(_is_ready, found)).get(run_id)


def _created_model(target: Target, record: ModelRecord, run_id: str) -> str:
    made = create_external_model(
        name=record.name,
        source_run_id=run_id,
        experiment_id=target.experiment_id,
        params={name: _short(value) for name, value in record.params.items()},
        model_type=record.group,
        tags={
            tags.IDENTITY: record.identity,
            tags.KEY: target.publication.comparison_key,
            "dvc.path": record.path,
            "dvc.md5": record.md5,
        },
    )
    return str(made.model_id)


def _add_facts(store: Store, run: Run, record: ModelRecord, known: Mapping[str, Any]) -> None:
    """What this machine recorded when it made the model: costs, versions, commit."""
    names = ("peak_memory_bytes", "peak_device_memory_bytes", "tokens_per_second")
    costs = {name: known.get(name) for name in names}
    if record.stage.partition("@")[0] in TRAINING_STAGES:
        costs["training_seconds"] = known.get("seconds")
    metrics.log_facts(store, run, {n: float(v) for n, v in costs.items() if v is not None})
    marks = {f"version.{name}": version for name, version in known.get("versions", {}).items()}
    marks |= _commit_marks(known)
    if known.get("device"):
        marks["device"] = str(known["device"])
    marks[tags.ORIGIN] = tags.RUN
    store.client.log_batch(run.info.run_id, tags=[RunTag(n, str(v)) for n, v in marks.items()])


def _commit_marks(known: Mapping[str, Any]) -> dict[str, str]:
    if not known.get("commit"):
        return {}
    return {tags.COMMIT: known["commit"], tags.DIRTY: str(known.get("dirty", False)).lower()}


def known_facts(stage: str, root: Path) -> dict[str, Any]:
    """What this machine recorded when it ran the stage with today's inputs."""
    known = fingerprint(stage, root)
    return recorded(known, root) if known else {}


def fingerprint(stage: str, root: Path) -> str | None:
    """The input fingerprint of a stage; None where its inputs are not here."""
    try:
        return input_fingerprint(read_stage(stage, root=root), root)
    except UserError:
        return None


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_PARAM else value[: LONGEST_PARAM - len(CUT)] + CUT
