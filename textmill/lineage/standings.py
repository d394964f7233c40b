"""The leaderboard of this repository as it is shown: what DVC keeps, joined with local facts."""

from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import read_record
from textmill.reports.curves import learning_curves
from textmill.reports.records import from_json
from textmill.reports.view import Facts, View
from textmill.repository import facts, layout
from textmill.repository.fingerprints import input_fingerprint
from textmill.repository.stages import read_stages

TRAINING_STAGES = ("ngram", "train")


def view(root: Path = Path()) -> View:
    """The ranking that stage compare wrote, with curves and this machine's training times."""
    path = root / layout.LEADERBOARD
    if not path.exists():
        raise UserError(f"there is no {path} yet", next_step="make run, or: dvc repro")
    board = from_json(path.read_text(encoding="utf-8"), str(path))
    names = [entry.name for entry in board.models]
    histories = {n: root / layout.history(n) for n in names if (root / layout.history(n)).exists()}
    metrics = {name: read_record(root / layout.summary(name), "valid") for name in histories}
    return View(board, learning_curves(histories, metrics), training_facts(root))


def training_facts(root: Path = Path()) -> dict[str, Facts]:
    """What training each model took here; a model that came from the cache has none."""
    found = {}
    for stage in read_stages(root):
        kind, _, name = stage.name.partition("@")
        if kind not in TRAINING_STAGES:
            continue
        known = facts.read(input_fingerprint(stage, root), root)
        if "seconds" in known:
            found[name] = Facts(training_seconds=known["seconds"], device=known.get("device"))
    return found
