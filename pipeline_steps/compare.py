"""Stage compare: rank every declared model in bits per byte on test, and make the page of it.

Files of models that are no longer declared are deleted first: they lie in folders that this
stage depends on, and a clone that never had them would otherwise see other inputs.
"""

import logging
import shutil
from pathlib import Path

from pipeline_steps import settings
from textmill.base.files import read_record, read_table, write_atomically
from textmill.reports.certainty import with_certainty
from textmill.reports.curves import learning_curves, render_curves
from textmill.reports.html import render_html
from textmill.reports.leaderboard import Declared, Metrics, build, declared_models, text_facts
from textmill.reports.ngrams import render_ngrams
from textmill.reports.plain import render_csv, render_json, render_markdown
from textmill.reports.view import View
from textmill.repository import layout
from textmill.repository.names import MODELS
from textmill.scoring.comparison import comparison_key

NEEDED = ("kind", "tokenizer", "tokenizer_fingerprint", "comparison_key", "valid", "test")
NEEDED_OF_SOURCE = ("corpus", "title", "licence", "files", "asked")
RENDERERS = {
    "json": render_json,
    "csv": render_csv,
    "md": render_markdown,
    "html": render_html,
}

_log = logging.getLogger(__name__)


def main() -> None:
    """Write `reports/leaderboard.{json,csv,md,html}`, `reports/ngrams.csv` and `curves.csv`."""
    params = settings.load("compare")
    declared = declared_models({group: params.get(group) for group in MODELS})
    forget_undeclared(declared)
    settings.read_anew()
    metrics = summaries(declared)
    view = standings(declared, metrics)
    for ending, render in RENDERERS.items():
        write_atomically(layout.REPORTS / f"leaderboard.{ending}", render(view))
    ngrams = render_ngrams(view.board, params.get("ngrams") or {}, metrics)
    write_atomically(layout.REPORTS / "ngrams.csv", ngrams)
    write_atomically(layout.REPORTS / "curves.csv", render_curves(histories(declared)))


def forget_undeclared(declared: Declared) -> None:
    """Delete metrics, scores and histories of models that params.yaml does not name."""
    names = [name for name, _ in declared]
    networks = [name for name, group in declared if group == "networks"]
    kept = {layout.model_metrics(name) for name in names}
    kept |= {layout.scores(name) for name in names}
    kept |= {layout.history(name) for name in networks}
    for folder in (layout.MODEL_METRICS, layout.scores("any").parent, layout.history("any").parent):
        for path in sorted(folder.glob("*")):
            if path not in kept and not path.name.startswith("."):
                _log.info("compare: deleting %s, its model is no longer declared", path)
                _delete(path)


def summaries(declared: Declared) -> Metrics:
    """What the evaluation wrote of every model that was scored."""
    return {
        name: read_record(layout.summary(name), *NEEDED)
        for name, _ in declared
        if layout.summary(name).exists()
    }


def standings(declared: Declared, metrics: Metrics) -> View:
    """The ranking, how certain it is, and learning curves, from the files of the models."""
    cleaned = read_record(layout.CLEAN_SUMMARY, "sha256", "documents", "bytes", "words")
    source = read_record(layout.RAW / "source.json", *NEEDED_OF_SOURCE)
    text = text_facts(source, cleaned)
    board = build(declared, metrics, comparison_key(cleaned["sha256"]["test"]), text)
    board = with_certainty(board, lambda name: read_table(layout.scores(name) / "test.arrow"))
    ranked = {entry.name: metrics[entry.name] for entry in board.models}
    return View(board, learning_curves(histories(declared), ranked))


def histories(declared: Declared) -> dict[str, Path]:
    """The learning histories of the declared models that have one."""
    paths = {name: layout.history(name) for name, _ in declared}
    return {name: path for name, path in paths.items() if path.exists()}


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


if __name__ == "__main__":
    settings.run(main)
