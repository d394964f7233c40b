"""The leaderboard of this repository as it is shown: what DVC keeps, joined with local facts."""

from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import read_record
from textmill.lineage.consistency import disagreement
from textmill.lineage.pins import changed_text
from textmill.reports.curves import learning_curves
from textmill.reports.records import Leaderboard, from_json
from textmill.reports.view import Facts, View
from textmill.repository import facts, layout
from textmill.repository.fingerprints import input_fingerprint
from textmill.repository.stages import read_stages, read_yaml
from textmill.text import local

TRAINING_STAGES = ("ngram", "train")


def view(root: Path = Path()) -> View:
    """The ranking that stage compare wrote, with curves and this machine's training times."""
    path = root / layout.LEADERBOARD
    if not path.exists():
        raise UserError(f"there is no {path} yet", next_step="make run, or: dvc repro")
    board = from_json(path.read_bytes(), str(path))
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
        try:
            known = facts.read(input_fingerprint(stage, root), root)
        except UserError:  # declared but not run yet: there is nothing to show
            continue
        if isinstance(known.get("seconds"), int | float):
            found[name] = Facts(training_seconds=known["seconds"], device=known.get("device"))
    return found


def out_of_date(board: Leaderboard, root: Path = Path()) -> str | None:
    """Why the leaderboard is not what params.yaml asks for, with the way out, or None.

    From records alone: another corpus, a text of one's own that changed after it was pinned (which
    DVC cannot see), a stage not run since its parameters or inputs changed, scores newer than the
    ranking. Changed code is left to `dvc status`, which hashes it.
    """
    params = read_yaml(root / layout.PARAMS)
    chosen = params["corpus"]
    if chosen != board.text.corpus:
        return f"this is corpus {board.text.corpus}; params.yaml says {chosen}  -> dvc repro"
    entry = params["corpora"][chosen]
    if changed_text(entry, root) is not None:
        again = local.pin_command(entry["path"])
        return f"{entry['path']} changed after it was pinned  -> {again}, then: dvc repro"
    found = disagreement(board, root)
    return f"{found[0]}  -> {found[1]}" if found else None
