"""`textmill promote`: make a model the champion, if it is shown to be better.

Both models' nats of every test line are in MLflow, so a champion whose files are long gone still
has to be beaten: under one comparison key, by a paired 95 % interval that excludes zero.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from mlflow.entities import Run
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from textmill.base.errors import UserError
from textmill.lineage.chain import check_model
from textmill.lineage.publication import Publication, publication
from textmill.scoring.significance import Interval, behind, cut
from textmill.tracking import lines, registry, runs, tags
from textmill.tracking.store import Store, opened

ANEW = "\n  -> delete the alias champion in MLflow (make ui, Models), then: textmill publish"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the champion changed, and the numbers. interval: candidate minus champion."""

    promoted: bool
    reason: str
    interval: Interval | None = None


def promote(model: str, root: Path = Path()) -> Verdict:
    """Move the alias `champion` to a published model, or say why not. Raises UserError."""
    check_model(model, root)
    record = publication(root)
    if record.contaminated:
        return Verdict(
            False,
            f"the test text of {record.corpus} stands in its training text, so {model} may only "
            "remember it\n  -> textmill leaderboard   (says how much; docs/cleaning.md: a remedy)",
        )
    with opened(root) as store:
        runs.known_experiment(store, runs.experiment_name(record.corpus))
        name = registry.name_of(record.corpus)
        candidate = _version(store, name, model, record)
        champion = registry.champion(store, record.corpus)
        if champion is None:
            verdict = Verdict(True, f"{model} is the first champion of {record.corpus}")
        elif champion.version == candidate.version:
            return Verdict(True, f"{model} is the champion already")
        else:
            verdict = _compare(store, model, candidate, champion)
        if verdict.promoted:
            store.client.set_registered_model_alias(name, registry.CHAMPION, candidate.version)
        return verdict


def _version(store: Store, name: str, model: str, record: Publication) -> ModelVersion:
    """The registered version of the model as the leaderboard has it."""
    identity = record.identities.get(model)
    unranked = identity in {one.identity for one in record.models if not one.ranked}
    if identity is None or unranked:
        raise UserError(
            f"{model} is not ranked, so it cannot be compared with the champion",
            next_step="textmill leaderboard   (says why, and names those that are ranked)",
        )
    found = registry.versions(store, name).get(identity)
    if found is None:
        raise UserError(f"{model} is not in the registry {name} yet", next_step="textmill publish")
    run = _run(store, found)
    if run is None or run.info.lifecycle_stage != "active":
        raise UserError(f"the run of {model} was deleted in MLflow", next_step="textmill publish")
    return found


def _run(store: Store, version: ModelVersion) -> Run | None:
    """The run of a version, also one that was deleted; None where nothing is left of it."""
    try:
        return store.client.get_run(str(version.run_id))
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return None


def _compare(store: Store, model: str, candidate: ModelVersion, champion: ModelVersion) -> Verdict:
    holder = champion.tags.get(tags.MODEL, f"version {champion.version}")
    if why := _incomparable(candidate, champion):
        return Verdict(False, f"{model} and the champion {holder} {why}")
    ours, theirs = _run(store, candidate), _run(store, champion)
    if ours is None or theirs is None:
        raise UserError(
            f"the run of the champion {holder} is not in MLflow any more, nor its lines",
            next_step="textmill publish   (where the model is not on the leaderboard any more, "
            "delete the alias champion)",
        )
    interval = difference(lines.read(store, theirs), lines.read(store, ours))
    if interval is None:
        return Verdict(False, "the test text has too few lines to tell two models apart")
    numbers = (
        f"{interval.difference:+.4f} bits per byte on test against the champion {holder}, "
        f"95 % interval [{interval.low:+.4f}, {interval.high:+.4f}]"
    )
    if interval.high < 0:
        return Verdict(True, f"{model} is the champion now: {numbers}", interval)
    why = "it is not better" if interval.difference >= 0 else "the interval does not exclude zero"
    return Verdict(False, f"{model}: {numbers}: {why}", interval)


def _incomparable(candidate: ModelVersion, champion: ModelVersion) -> str:
    """Why two versions cannot be compared, and what to do; empty where they can."""
    ours, theirs = candidate.tags[tags.KEY], champion.tags.get(tags.KEY)
    if theirs is None:
        return f"cannot be compared: textmill did not register the latter{ANEW}"
    if ours != theirs:
        return (
            "were measured on different texts or by different protocols (comparison keys "
            f"{ours[:8]} and {theirs[:8]}), so neither is better\n"
            "  -> textmill publish   (each test text has a champion of its own)"
        )
    if champion.tags.get(tags.CONTAMINATED) == "true":
        why = "the latter learnt from text in which the test text stands"
        return f"cannot be compared: {why}{ANEW}"
    return ""


def difference(champion: pa.Table, candidate: pa.Table) -> Interval | None:
    """Bits per byte that the candidate needs more than the champion; None for a short text."""
    doc_L, bytes_L = champion["doc"].to_numpy(), champion["bytes"].to_numpy()
    same = np.array_equal(doc_L, candidate["doc"].to_numpy()) and np.array_equal(
        bytes_L, candidate["bytes"].to_numpy()
    )
    if not same:
        raise UserError(
            "the two models' scores are not of the same lines", next_step="textmill publish"
        )
    nats_LM = np.stack([champion["nats"].to_numpy(), candidate["nats"].to_numpy()], axis=1)
    pieces = cut(doc_L, bytes_L, nats_LM)
    return behind(pieces, 0)[1] if pieces else None
