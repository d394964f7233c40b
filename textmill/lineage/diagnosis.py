"""`textmill diagnose`: what is asked of the repository's models, and where the answers go."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.table import Table

from textmill.base.errors import UserError
from textmill.base.files import read_record, read_table, write_atomically
from textmill.diagnosis.examine import examine_recurrence
from textmill.diagnosis.excerpts import excerpts
from textmill.diagnosis.exposure import exposure
from textmill.diagnosis.losses import by_frequency, by_position, token_counts
from textmill.diagnosis.records import Diagnosis, to_csv, to_json
from textmill.diagnosis.unrolled import TARGETS
from textmill.lineage.chain import check_model, model_names, source
from textmill.neural.model import load as load_network
from textmill.neural.model_files import load_model
from textmill.ngram.storage import load as load_ngram
from textmill.reports.diagnosis.page import diagnosis_html, row
from textmill.repository import layout
from textmill.repository.stages import read_yaml
from textmill.scoring.units import flat_nats
from textmill.shards.reader import Lines, read_split
from textmill.tokenizers import store
from textmill.tokenizers.vocabulary import Vocabulary

_log = logging.getLogger(__name__)

SPLIT = "valid"
"""Whoever looks at what a model does wrong may change it: that is no use of the test text."""
COLUMNS = {
    "name": "model",
    "tokenizer": "tokens",
    "h": "gradient a step",
    "c": "of cells",
    "radius": "radius",
    "kept": "kept",
    "own": "perplexity: own text",
    "error": "\N{PLUS-MINUS SIGN}",
    "forced": "real text",
}
SHORTEST = TARGETS + 2
"""Tokens of a document that a network can be watched reading."""
PROMPTS, LENGTH = 64, 128
"""Texts that are gone on with, and tokens of a prompt and what follows it."""


def diagnose(names: Sequence[str], root: Path = Path()) -> list[Diagnosis]:
    """Examine models; all networks where none is named. UserError for one that is not scored."""
    for name in names:
        check_model(name, root)
    params = read_yaml(root / layout.PARAMS)
    chosen = list(dict.fromkeys(names)) or [*params["networks"]]
    if not chosen:
        raise UserError(
            "there is no network to diagnose",
            where=str(layout.PARAMS),
            next_step=f"name a model: {', '.join(model_names(root))}",
        )
    text = source(root)
    return [_diagnose(name, text, root) for name in chosen]


def write(found: Sequence[Diagnosis], folder: Path) -> Iterator[Path]:
    """Write the page, and a JSON and a CSV file a model; gives the path of each."""
    contents = {f"{one.name}.json": to_json(one) for one in found}
    contents |= {f"{one.name}.csv": to_csv(one) for one in found}
    contents["index.html"] = diagnosis_html(found)
    for name, content in contents.items():
        write_atomically(folder / name, content)
        yield folder / name


def table(found: Sequence[Diagnosis]) -> Table:
    """A line a model, for a terminal."""
    shown = Table(box=None, pad_edge=False)
    for key, heading in COLUMNS.items():
        shown.add_column(heading, justify="left" if key in ("name", "tokenizer") else "right")
    for one in found:
        values = row(one)
        shown.add_row(*(values[key] for key in COLUMNS))
    return shown


def _diagnose(name: str, text: Mapping[str, Any], root: Path) -> Diagnosis:
    path = root / layout.summary(name)
    if not path.exists():
        raise UserError(f"{name} has not been scored yet", next_step="dvc repro")
    summary = read_record(path, "kind", "group", "tokenizer", "tokenizer_fingerprint")
    vocabulary = store.load(root / layout.vocabulary(summary["tokenizer"])).vocabulary
    shards = root / layout.shards(summary["tokenizer"])
    train, lines = (read_split(shards, one, vocabulary.fingerprint) for one in ("train", SPLIT))
    nats_T = flat_nats(read_table(root / layout.scores(name) / f"{SPLIT}.arrow"))
    if len(nats_T) != len(lines.tokens):
        raise UserError(f"the scores of {name} are of another text", next_step="dvc repro")
    return Diagnosis(
        name=name,
        kind=summary["kind"],
        corpus=text["corpus"],
        title=text["title"],
        tokenizer=summary["tokenizer"],
        positions=by_position(nats_T, lines.doc_offsets),
        frequencies=by_frequency(nats_T, lines.tokens, token_counts(train.tokens, len(vocabulary))),
        **_of_model(summary["group"], root / layout.model(name), vocabulary, lines),
    )


def _of_model(group: str, folder: Path, vocabulary: Vocabulary, lines: Lines) -> dict[str, Any]:
    """What only the model itself can tell; nothing of one that is made of others' scores."""
    nothing: dict[str, Any] = {"gradients": {}, "matrices": (), "gates": (), "exposure": None}
    if group not in ("ngrams", "networks"):
        return nothing
    if np.diff(lines.doc_offsets).max(initial=0) < SHORTEST:
        _log.warning(
            "no document of the validation text holds %d tokens, so no model can be watched "
            "reading one: losses alone are shown",
            SHORTEST,
        )
        return nothing
    ids_TB = excerpts(lines, PROMPTS, LENGTH)
    if group == "ngrams":
        ngram = load_ngram(folder, vocabulary)
        can_draw = ngram.config.gives_probabilities
        return {**nothing, "exposure": exposure(ngram, ids_TB) if can_draw else None}
    config, _ = load_model(folder, vocabulary)
    # In float64, since an exploding gradient is beyond float32 long before sixty steps.
    model = load_network(
        folder, vocabulary, threads=config.threads, device=config.device, dtype=torch.float64
    )
    gradients, matrices, gates = examine_recurrence(model.network, lines)
    return {
        "gradients": gradients,
        "matrices": matrices,
        "gates": gates,
        "exposure": exposure(model, ids_TB),
    }
