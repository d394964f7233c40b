"""Runs of trainings that still go on, and what becomes of those whose follower is gone.

A RUNNING run names the process that writes it. Once that process has ended and nobody took the
run over, it is KILLED: nothing stays RUNNING for ever.
"""

import socket
import time
from collections.abc import Callable

from mlflow.entities import Run, RunTag

from textmill.tracking import runs, tags
from textmill.tracking.processes import is_same, own_marks
from textmill.tracking.store import Store

LEASE_SECONDS = 600
"""So long another machine is believed to be at a run that it made."""


def is_abandoned(run: Run) -> bool:
    """Whether this machine was to write the run and its process has ended."""
    found = run.data.tags
    if found.get(tags.HOST) != socket.gethostname():
        return False
    return not is_same(int(found.get(tags.PID, "0")), found.get(tags.STARTED, ""))


def is_written_by_another(run: Run) -> bool:
    """Whether another process is at this run just now, as far as can be told from here."""
    found = run.data.tags
    own = own_marks()
    if run.info.status != "RUNNING" or all(found.get(tag) == own[tag] for tag in own):
        return False
    if found.get(tags.HOST) == own[tags.HOST]:
        return not is_abandoned(run)
    return time.time_ns() - int(found.get(tags.CLAIM, 0)) < LEASE_SECONDS * 1_000_000_000


def take(
    store: Store, experiment_id: str, fingerprint: str, name: str, marks: dict[str, str]
) -> Run | None:
    """The run of a training for this process to write: one left behind, or a new one.

    None where the training is published already or another process writes its run.
    """
    found = runs.tagged(store, experiment_id, tags.FINGERPRINT, fingerprint)
    if any(tags.IDENTITY in run.data.tags for run in found):
        return None
    if not found:
        known = {**marks, tags.FINGERPRINT: fingerprint}
        return runs.create_unnamed(store, experiment_id, name, known)
    run = found[0]
    if run.info.status == "RUNNING" and not is_abandoned(run):
        return None
    own = [RunTag(tag, value) for tag, value in {**marks, **own_marks()}.items()]
    store.client.log_batch(run.info.run_id, tags=own)
    store.client.update_run(run.info.run_id, status="RUNNING")
    return run


def is_ours(store: Store, run_id: str) -> bool:
    """Whether the run still waits for this process: not published, ended or deleted meanwhile."""
    run = store.client.get_run(run_id)
    active = run.info.lifecycle_stage == "active" and run.info.status == "RUNNING"
    return active and tags.IDENTITY not in run.data.tags


def end_abandoned(store: Store, finished: Callable[[], set[str]] = set) -> int:
    """End every RUNNING run whose process is gone or whose training is finished; how many.

    Those of other corpora too: nobody may ever publish these again. finished: the input
    fingerprints of trainings whose models are made, asked only if needed.
    """
    running = [
        run
        for experiment_id in runs.experiments(store)
        for run in runs.search(store, experiment_id, "attributes.status = 'RUNNING'")
        if tags.PID in run.data.tags
    ]
    done = finished() if running else set()
    ended = [
        run for run in running if is_abandoned(run) or run.data.tags.get(tags.FINGERPRINT) in done
    ]
    for run in ended:
        store.client.set_terminated(run.info.run_id, "KILLED")
    return len(ended)
