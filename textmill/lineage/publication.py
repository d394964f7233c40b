"""What there is to publish, as plain records built from DVC's files; nothing here knows MLflow.

A model is found again by its identity: the hash of its files, as dvc.lock has it, and the
comparison key. So the same model published from two machines is one, and a model trained anew to
the same bytes is no new one. A mixture has no files: it is its parts and its weight, as a
model that adapts is its network and what was chosen for it.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.base.files import read_record
from textmill.lineage import lines, notes
from textmill.lineage.chain import model_path
from textmill.lineage.consistency import disagreement
from textmill.lineage.datasets import Dataset, datasets
from textmill.lineage.lock import LOCK, LockedStage, last_runs
from textmill.reports.curves import read_history
from textmill.reports.records import Leaderboard, from_json
from textmill.repository import layout

NUMBERS = ("bits_per_byte", "perplexity")
"""Measured on both splits; the plain name is that of the test split."""
SIZES = ("parameters", "ngrams", "bytes_on_disk", "weight")
STEP = "step"
SUMMARY = (
    *("name", "group", "kind", "tokenizer", "tokenizer_fingerprint", "comparison_key"),
    *("valid", "test"),
)
"""What a summary must say."""


@dataclass(frozen=True, slots=True)
class Point:
    """One look during training. values: metric -> value, `tokens` (seen so far) among them."""

    step: int
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """One model. metrics: by the split they were measured on; "" for sizes.

    lines: digest of what it needs for every test line. contaminated: the test text stands in what
    it learnt from.
    """

    name: str
    group: str
    kind: str
    identity: str
    stage: str
    path: str
    md5: str
    ranked: bool
    adapts: bool
    contaminated: bool
    params: Mapping[str, str]
    metrics: Mapping[str, Mapping[str, float]]
    curve: tuple[Point, ...]
    tokenizer_fingerprint: str
    lines: str
    note: str

    @property
    def digest(self) -> str:
        """Changes when anything to publish of this model changes."""
        return digest(asdict(self))


@dataclass(frozen=True, slots=True)
class Publication:
    """A leaderboard's models and what they were measured on.

    models: each identity once. identities: of every model by name; two entries of params.yaml that
    gave the same files are one model. best, baseline: names of the best model and the best n-gram
    on validation, which is what choices are made on. contaminated: the test text stands in the
    training text, so what is best on it may only remember it.
    """

    corpus: str
    title: str
    comparison_key: str
    datasets: tuple[Dataset, ...]
    models: tuple[ModelRecord, ...]
    identities: Mapping[str, str]
    contaminated: bool
    best: str | None
    baseline: str | None
    note: str

    @property
    def identity(self) -> str:
        """Of the parent run: every model measured on one test text hangs under it."""
        return digest(["leaderboard", self.corpus, self.comparison_key])

    @property
    def doubles(self) -> dict[str, str]:
        """Model -> the one under whose name the two are published, being the same."""
        published = {record.identity: record.name for record in self.models}
        names = {name: published[identity] for name, identity in self.identities.items()}
        return {name: other for name, other in names.items() if name != other}


def publication(root: Path = Path()) -> Publication:
    """Read what there is to publish. Raises UserError where something has not been made yet."""
    board = _board(root)
    if found := disagreement(board, root):
        what, way_out = found
        raise UserError(
            f"what is on disk would be published under other names ({what})",
            next_step=f"{way_out}, then: textmill publish",
        )
    locked = last_runs(root)
    summaries = _summaries(board, root)
    identities = _identities(summaries, locked, board.comparison_key)
    models: dict[str, ModelRecord] = {}
    for name, summary in summaries.items():
        if name in identities:
            record = _model(summary, identities[name], locked, root, board)
            models.setdefault(record.identity, record)
    if not models:
        raise UserError(
            "it knows none of the leaderboard's models, so none can be published",
            where=str(LOCK),
            next_step=f"git checkout {LOCK}   (lost: dvc repro)",
        )
    valid = {entry.name: entry.bits_per_byte_valid for entry in board.models}
    groups = {entry.name: entry.group for entry in board.models}
    ngrams = {name: bits for name, bits in valid.items() if groups[name] == "ngrams"}
    return Publication(
        corpus=board.text.corpus,
        title=board.text.title,
        comparison_key=board.comparison_key,
        datasets=datasets(root),
        models=tuple(models.values()),
        identities=identities,
        contaminated=board.text.is_contaminated,
        best=_least(valid),
        baseline=_least(ngrams),
        note=notes.of_leaderboard(board),
    )


def digest(content: Any) -> str:
    """sha256 of plain values, as hexadecimal text."""
    text = json.dumps(content, sort_keys=True, default=str, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def curve(path: Path) -> tuple[Point, ...]:
    """The looks of a learning history, without what is not a number; none where there is none."""
    if not path.exists():
        return ()
    return tuple(_point(row) for row in read_history(path))


def _point(row: Mapping[str, str]) -> Point:
    values = {name: float(text) for name, text in row.items() if name != STEP}
    finite = {name: value for name, value in values.items() if math.isfinite(value)}
    return Point(int(row[STEP]), finite)


def _board(root: Path) -> Leaderboard:
    path = root / layout.LEADERBOARD
    if not path.exists():
        raise UserError(
            f"there is no {path} yet, so there is nothing to publish", next_step="dvc repro"
        )
    try:
        return from_json(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        raise UserError("it is not text", where=str(path), next_step="dvc repro compare") from None


def _summaries(board: Leaderboard, root: Path) -> dict[str, dict[str, Any]]:
    """What the evaluation wrote of every model that was scored under the leaderboard's key."""
    names = [one.name for one in board.models] + [one.name for one in board.unranked]
    found = {}
    for name in names:
        path = root / layout.summary(name)
        if path.exists():
            summary = read_record(path, *SUMMARY)
            if not all(_is_measured(summary[split]) for split in ("valid", "test")):
                raise UserError(
                    "its numbers are not those of a model",
                    where=str(path),
                    next_step=f"rm -r {path.parent}; dvc checkout {layout.scores(name)}",
                )
            if summary["comparison_key"] == board.comparison_key:
                found[name] = summary
    return found


def _is_measured(numbers: Any) -> bool:
    """Whether every number to publish is one, or null."""
    return isinstance(numbers, dict) and all(
        name in numbers and isinstance(numbers[name], int | float | None)
        for name in (*NUMBERS, "unknown_rate")
    )


def _identities(
    summaries: Mapping[str, Mapping[str, Any]], locked: Mapping[str, LockedStage], key: str
) -> dict[str, str]:
    """By name. A model whose files dvc.lock does not know is left out: it is not made yet."""
    md5s = {path: file.md5 for stage in locked.values() for path, file in stage.outs.items()}
    found: dict[str, str] = {}
    # What has no files of its own is made of others, and a mixture's parts may be such themselves.
    for name in sorted(summaries, key=lambda one: _depth(summaries[one])):
        summary, path = summaries[name], str(layout.model(name))
        adapted, parts = summary.get("adapted"), summary.get("parts") or ()
        if path in md5s:
            found[name] = digest([md5s[path], key])
        elif adapted and adapted["model"] in found:
            found[name] = digest([found[adapted["model"]], adapted, key])
        elif parts and all(part in found for part in parts):
            found[name] = digest([[found[part] for part in parts], f"{summary['weight']:.6f}", key])
    return found


def _depth(summary: Mapping[str, Any]) -> int:
    """0 for a model of its own files, 1 for one that adapts, 2 for a mixture."""
    return 2 if summary.get("parts") else 1 if summary.get("adapted") else 0


def _model(
    summary: Mapping[str, Any],
    identity: str,
    locked: Mapping[str, LockedStage],
    root: Path,
    board: Leaderboard,
) -> ModelRecord:
    name = summary["name"]
    path = model_path(name, locked)
    stage = next((one for one in locked.values() if path in one.outs), None)
    if stage is None:
        raise UserError(f"it does not know {name}", where=str(LOCK), next_step="dvc repro")
    return ModelRecord(
        name=name,
        group=summary["group"],
        kind=summary["kind"],
        identity=identity,
        stage=stage.name,
        path=path,
        md5=stage.outs[path].md5,
        ranked=name in {entry.name for entry in board.models},
        adapts=bool(summary.get("adapts")),
        contaminated=board.text.is_contaminated,
        params=_params(summary, stage, locked),
        metrics=_metrics(summary),
        curve=curve(root / layout.history(name)),
        tokenizer_fingerprint=summary["tokenizer_fingerprint"],
        lines=lines.digest(lines.of_model(name, summary, root)),
        note=notes.of_model(summary, path, stage.outs[path].md5, stage.name),
    )


def _params(
    summary: Mapping[str, Any], stage: LockedStage, locked: Mapping[str, LockedStage]
) -> dict[str, str]:
    """The model's entry and its tokenizer's, as they were when they were used."""
    own = stage.params.get(f"{summary['group']}.{summary['name']}", {})
    tokenizer = summary["tokenizer"]
    learnt = locked.get(f"vocabulary@{tokenizer}")
    entry = learnt.params.get(f"tokenizers.{tokenizer}", {}) if learnt else {}
    flat = {**_flat(own), **{f"tokenizer.{name}": v for name, v in _flat(entry).items()}}
    return {"group": str(summary["group"]), "tokenizer": str(tokenizer), **flat}


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {prefix: json.dumps(value) if isinstance(value, list | bool) else str(value)}
    flat: dict[str, str] = {}
    for name, inner in value.items():
        flat |= _flat(inner, f"{prefix}.{name}" if prefix else str(name))
    return flat


def _metrics(summary: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    test, valid = summary["test"], summary["valid"]
    measured = {
        "test": {**{name: test[name] for name in NUMBERS}, "unknown_rate": test["unknown_rate"]},
        "valid": {f"{name}_valid": valid[name] for name in NUMBERS},
        "": {name: summary.get(name) for name in SIZES},
    }
    return {split: _finite(values) for split, values in measured.items()}


def _finite(values: Mapping[str, float | None]) -> dict[str, float]:
    return {n: float(v) for n, v in values.items() if v is not None and math.isfinite(v)}


def _least(bits: Mapping[str, float | None]) -> str | None:
    known = {name: value for name, value in bits.items() if value is not None}
    return min(known, key=lambda name: (known[name], name)) if known else None
