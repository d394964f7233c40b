"""`textmill follow`: learning curves in MLflow while networks train, from beside.

Training writes its history into its scratch folder and knows nothing of this. A follower is a
process of its own: it is nice to others, imports MLflow only when there is something to log, and
after one failure it warns once and leaves the rest to `textmill publish`.
"""

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textmill.base.errors import UserError
from textmill.base.files import read_record
from textmill.lineage.publication import curve
from textmill.repository import layout
from textmill.repository.fingerprints import input_fingerprint
from textmill.repository.stages import lookup, read_stages, read_yaml
from textmill.scoring.comparison import comparison_key
from textmill.tracking.processes import is_same, started

if TYPE_CHECKING:
    from textmill.tracking.store import Store

PAUSE = 1.0
TRAIN = "train@"
HISTORY = "history.csv"
POLITENESS = 5

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Followed:
    """A training and its run. run_id: None where another process follows it."""

    model: str
    history: Path
    run_id: str | None
    changed: int = 0


@dataclass(slots=True)
class Follower:
    """Every training of a repository that this process has seen."""

    root: Path
    store: "Store | None" = None
    experiment_id: str = ""
    trainings: dict[str, Followed] = field(default_factory=dict)

    def look(self) -> None:
        """Log what the histories have got since the last look. Raises StoreError."""
        for history in sorted((self.root / layout.SCRATCH).glob(f"*/{HISTORY}")):
            fingerprint = history.parent.name
            if fingerprint not in self.trainings:
                self._begin(fingerprint, history)
        for followed in self.trainings.values():
            self._log(followed)

    def end(self, *, killed: bool) -> None:
        """End every run: FINISHED where the training is done, else KILLED."""
        for followed in self.trainings.values():
            if followed.run_id is not None:
                done = not killed and not followed.history.exists()
                self._terminate(followed, "FINISHED" if done else "KILLED")

    def _begin(self, fingerprint: str, history: Path) -> None:
        model = self._models().get(fingerprint)
        if model is None:  # left by another state of the repository
            self.trainings[fingerprint] = Followed("", history, None)
            return
        from textmill.tracking import live, tags  # noqa: PLC0415
        from textmill.tracking.store import opened  # noqa: PLC0415

        with opened(self.root) as store:
            self.store = store
            key = self._comparison_key()
            self.experiment_id = self._experiment(key)
            marks = {tags.MODEL: model, tags.ORIGIN: tags.RUN, tags.KEY: key}
            run = live.take(store, self.experiment_id, fingerprint, model, marks)
        self.trainings[fingerprint] = Followed(model, history, run.info.run_id if run else None)

    def _log(self, followed: Followed) -> None:
        if followed.run_id is None or self.store is None:
            return
        from textmill.tracking import live, metrics  # noqa: PLC0415
        from textmill.tracking.store import answering  # noqa: PLC0415

        source = followed.history if followed.history.exists() else self._finished(followed)
        if source is None:
            return
        try:
            changed, points = source.stat().st_mtime_ns, curve(source)
        except FileNotFoundError:  # training has just moved it to its place
            return
        if changed == followed.changed:
            return
        followed.changed = changed
        with answering(self.store.uri, own=self.store.own):
            if live.is_ours(self.store, followed.run_id):
                metrics.log_curve(self.store, followed.run_id, points)
            else:
                followed.run_id = None
        if source != followed.history and followed.run_id is not None:
            self._terminate(followed, "FINISHED")

    def _finished(self, followed: Followed) -> Path | None:
        """The history beside the finished model."""
        path = self.root / layout.history(followed.model)
        return path if path.exists() else None

    def _terminate(self, followed: Followed, status: str) -> None:
        from textmill.tracking import live  # noqa: PLC0415
        from textmill.tracking.store import answering  # noqa: PLC0415

        if self.store is not None and followed.run_id is not None:
            with answering(self.store.uri, own=self.store.own):
                if live.is_ours(self.store, followed.run_id):
                    self.store.client.set_terminated(followed.run_id, status)
            followed.run_id = None

    def _comparison_key(self) -> str:
        """Under which the models that train now will be measured."""
        cleaned = read_record(self.root / layout.CLEAN_SUMMARY, "sha256")
        return comparison_key(cleaned["sha256"]["test"])

    def _experiment(self, key: str) -> str:
        from textmill.lineage import notes  # noqa: PLC0415
        from textmill.tracking import runs  # noqa: PLC0415

        params: Any = read_yaml(self.root / layout.PARAMS)
        corpus = lookup(params, "corpus")
        note = notes.of_experiment(lookup(params, f"corpora.{corpus}").get("title", corpus), corpus)
        assert self.store is not None
        return runs.experiment(self.store, runs.experiment_name(corpus), note, key)

    def _models(self) -> dict[str, str]:
        """Input fingerprint -> network, of every training that could run now."""
        found = {}
        for stage in read_stages(self.root):
            if stage.name.startswith(TRAIN):
                try:
                    fingerprint = input_fingerprint(stage, self.root)
                except (UserError, OSError):  # its inputs are being made
                    continue
                found[fingerprint] = stage.name.removeprefix(TRAIN)
        return found


def follow(root: Path = Path(), until: int | None = None, pause: float = PAUSE) -> None:
    """Follow trainings until the process `until` ends, or for ever. Never raises a StoreError."""
    os.nice(POLITENESS)
    follower = Follower(root)
    begun = started(until) if until is not None else None
    with _stopped_by_signals() as stop:
        try:
            while not stop.is_set() and (until is None or (begun and is_same(until, begun))):
                follower.look()
                stop.wait(pause)
            if not stop.is_set():
                follower.look()
            follower.end(killed=stop.is_set())
        except (UserError, OSError) as error:
            _log.warning("textmill follow: no live curves any more: %s", error)


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set, so that runs are ended before the process is."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
