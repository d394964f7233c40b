"""Whether the ranking, the scores on disk and dvc.lock fit together.

Numbers are shown and published under the names and hashes that dvc.lock has. After a run that
stopped half-way, or a `git checkout` without `dvc checkout`, they may be another model's.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from textmill.base.files import read_record
from textmill.lineage.hashes import dvc_md5
from textmill.lineage.lock import LockedStage, last_runs, stale
from textmill.reports.records import Leaderboard
from textmill.repository import layout
from textmill.repository.stages import Stage, read_stages

PUBLISH = "publish"
"""The one stage that no number of the leaderboard depends on."""
NAMED = 4
"""So many stages or models are named in a message; the rest is counted."""


def disagreement(board: Leaderboard, root: Path = Path()) -> tuple[str, str] | None:
    """What of the ranking, the scores on disk and dvc.lock does not fit together, and the way out.

    The few small files that hold the numbers are hashed: after a `git checkout` of another commit
    they are still those of the one before.
    """
    shown = [stage for stage in read_stages(root) if stage.name != PUBLISH]
    locked = last_runs(root)
    if behind := stale(shown, locked, root):
        return f"not run since something changed: {_some(behind)}", "dvc repro"
    if newer := _newer_scores(board, root):
        return f"scored anew since this ranking: {_some(newer)}", "dvc repro"
    if other := _not_as_locked(board, locked, root):
        what = f"not what dvc.lock records: {_some(other)}"
        return what, f"dvc checkout {' '.join(other)}   (not in the cache: dvc repro)"
    return None


def out_of_step(path: Path | None = None, root: Path = Path()) -> str | None:
    """Why an output on disk, or any, is not the one that params.yaml asks for, or None.

    From records alone, as `disagreement`: the stages behind it that left something, and have not
    run since a change.
    """
    stages, locked = list(read_stages(root)), last_runs(root)
    if path is not None:
        writers = {out: stage for stage in stages for out in stage.outs}
        behind = {stage.name for stage in _made_by(writers[str(path)], writers)}
        stages = [stage for stage in stages if stage.name in behind]
    there = [one for one in stages if any((root / out).exists() for out in one.outs)]
    found = stale(there, locked, root)
    return f"not run since something changed: {_some(found)}  -> dvc repro" if found else None


def _made_by(stage: Stage, writers: Mapping[str, Stage]) -> Iterator[Stage]:
    """A stage and all those before it, some more than once."""
    yield stage
    for path in stage.deps:
        if path in writers:
            yield from _made_by(writers[path], writers)


def _not_as_locked(board: Leaderboard, locked: Mapping[str, LockedStage], root: Path) -> list[str]:
    """The leaderboard, or scores that it ranks, whose bytes are not those of their last run."""
    recorded = {path: file.md5 for stage in locked.values() for path, file in stage.outs.items()}
    paths = [layout.LEADERBOARD, *(layout.scores(entry.name) for entry in board.models)]
    return [
        str(path)
        for path in paths
        if (root / path).exists()
        and str(path) in recorded
        and dvc_md5(path, root) != recorded[str(path)]
    ]


def _newer_scores(board: Leaderboard, root: Path) -> list[str]:
    """Models whose scores are not those that were ranked."""
    return [
        entry.name
        for entry in board.models
        if (root / layout.summary(entry.name)).exists()
        and read_record(root / layout.summary(entry.name), "test")["test"]["bits_per_byte"]
        != entry.bits_per_byte
    ]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
