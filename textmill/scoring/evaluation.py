"""One evaluation for every model: score validation and test, and say what may be compared.

Writes a model's scores (a row a line, each token's nats kept), its summary and its metrics.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from textmill.base.files import replacing_folder, write_json, write_table
from textmill.scoring.comparison import (
    IMPOSSIBLE,
    ROUNDED,
    SCORES_ONLY,
    comparable,
    comparison_key,
    why_not_byte_comparable,
)
from textmill.scoring.likelihood import CHUNK, STREAMS, token_nats
from textmill.scoring.protocol import LanguageModel
from textmill.scoring.units import measure, scores_table
from textmill.shards.reader import read_manifest, read_split

SCORED = ("valid", "test")


@dataclass(frozen=True, slots=True)
class About:
    """What a model is, in words and sizes. kind: `modified Kneser-Ney, order 5`, say."""

    name: str
    group: str
    kind: str
    tokenizer: str
    parameters: int | None
    ngrams: int | None
    bytes_on_disk: int


def evaluate(
    model: LanguageModel,
    about: About,
    shards: Path,
    *,
    scores: Path,
    metrics: Path,
    learnt_unknown: bool,
    gives_probabilities: bool = True,
    is_rounded: bool = False,
    streams: int = STREAMS,
    chunk: int = CHUNK,
) -> None:
    """Score both splits of `shards` and write the results (see `write_results`).

    learnt_unknown: whether the model can have learnt the probability of `<unk>`.
    gives_probabilities: whether its scores after a history sum to one; is_rounded: whether they
    would, if they were not rounded to 8 bits.
    """
    tables, unknown = {}, 0
    for split in SCORED:
        lines = read_split(shards, split, model.vocabulary.fingerprint)
        nats = token_nats(model, lines, streams=streams, chunk=chunk)
        tables[split] = scores_table(lines, nats)
        unknown += int(lines.n_unknown.sum())
    manifest = read_manifest(shards)
    why_not = why_not_byte_comparable(
        lossy_lines=sum(manifest["splits"][split]["lossy_lines"] for split in SCORED),
        unknown_units=unknown,
        learnt_unknown=learnt_unknown,
    )
    if is_rounded:
        why_not = ROUNDED
    if not gives_probabilities:
        why_not = SCORES_ONLY
    key = comparison_key(manifest["splits"]["test"]["text_sha256"])
    keys = {"tokenizer_fingerprint": manifest["fingerprint"], "comparison_key": key}
    write_results(summary({**asdict(about), **keys}, tables, why_not), tables, scores, metrics)


def summary(
    about: dict[str, Any], tables: dict[str, pa.Table], why_not: str | None
) -> dict[str, Any]:
    """The metrics of a model from its scores; bits per byte only where they are comparable.

    why_not: why they are not, as far as the tokenization or a mixture's parts tell.
    """
    measured = {split: measure(tables[split]) for split in SCORED}
    if why_not is None and any(measured[split]["nats"] is None for split in SCORED):
        why_not = IMPOSSIBLE
    told = {split: comparable(measured[split], why_not) for split in SCORED}
    return {**about, "byte_comparable": why_not is None, "why_not": why_not, **told}


def write_results(
    content: dict[str, Any], tables: dict[str, pa.Table], scores: Path, metrics: Path
) -> None:
    """Write the folder `scores` (a table a split, `summary.json`) and the short metrics file.

    `dvc metrics show` is a table with a column for each name, so `metrics` holds the telling few.
    """
    with replacing_folder(scores) as temporary:
        for split, table in tables.items():
            write_table(temporary / f"{split}.arrow", table)
        write_json(temporary / "summary.json", content)
    write_json(
        metrics,
        {
            "bits_per_byte": {split: content[split]["bits_per_byte"] for split in SCORED},
            "perplexity": {split: content[split]["perplexity"] for split in SCORED},
            "unknown_rate": content["test"]["unknown_rate"],
        },
    )
