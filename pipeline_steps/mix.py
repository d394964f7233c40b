"""Stage mix: a linear mixture of two models over one tokenization, weight fitted on validation."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pipeline_steps import settings
from textmill.base.errors import UserError
from textmill.base.files import read_record, read_table
from textmill.repository import layout
from textmill.scoring.comparison import IMPOSSIBLE, SCORES_ONLY
from textmill.scoring.evaluation import SCORED, summary, write_results
from textmill.scoring.mixture import fit_weight, mix
from textmill.scoring.units import flat_nats, with_nats

NEEDED = ("name", "tokenizer", "tokenizer_fingerprint", "comparison_key", "why_not")


@dataclass(frozen=True, slots=True)
class MixtureConfig:
    """Names of two models over one tokenization."""

    first: str
    second: str

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise ValueError(f"first and second are both {self.first}: nothing to mix")


def main() -> None:
    """Write `scores/KEY` and `metrics/models/KEY.json`."""
    key = settings.key()
    entry = settings.load("mix", key)["mixtures"][key]
    where = f"params.yaml: mixtures.{key}"
    config = settings.parse(MixtureConfig, entry, where)
    parts = [config.first, config.second]
    metrics = [read_record(layout.summary(name), *NEEDED) for name in parts]
    _refuse_different_tokenizations(parts, metrics, where)
    _refuse_scores(metrics, where)
    try:
        weight = fit_weight(*(flat_nats(_scores(name, "valid")) for name in parts))
    except ValueError as error:
        raise UserError(
            f"there is no weight to fit on the validation text: {error}",
            where=where,
            next_step="name a model that gives every token a probability",
        ) from None
    tables = {split: _mixed(parts, split, weight) for split in SCORED}
    about = {
        "name": key,
        "group": "mixtures",
        "kind": f"{weight:.2f} {config.first} + {1 - weight:.2f} {config.second}",
        "tokenizer": metrics[0]["tokenizer"],
        "parameters": None,
        "ngrams": None,
        "bytes_on_disk": sum(part["bytes_on_disk"] for part in metrics),
        "parts": parts,
        "weight": weight,
        "adapts": any(part.get("adapts", False) for part in metrics),
        "tokenizer_fingerprint": metrics[0]["tokenizer_fingerprint"],
        "comparison_key": metrics[0]["comparison_key"],
    }
    content = summary(about, tables, reasons_of(metrics))
    write_results(content, tables, layout.scores(key), layout.model_metrics(key))


def reasons_of(metrics: list[dict[str, Any]]) -> str | None:
    """Why a mixture of these parts is not byte comparable, as far as they tell.

    What is impossible to one part may not be to the other: the summary sees whether it is.
    """
    reasons = [
        f"{part['name']}: {part['why_not']}"
        for part in metrics
        if part["why_not"] not in (None, IMPOSSIBLE)
    ]
    return "; ".join(reasons) or None


def _refuse_different_tokenizations(
    parts: list[str], metrics: list[dict[str, Any]], where: str
) -> None:
    first, second = (part["tokenizer_fingerprint"] for part in metrics)
    if first != second:
        described = [f"{n} ({m['tokenizer']})" for n, m in zip(parts, metrics, strict=True)]
        raise UserError(
            f"{' and '.join(described)} split text differently, so they cannot be mixed",
            where=where,
            next_step="name two models with the same tokenizer",
        )


def _refuse_scores(metrics: list[dict[str, Any]], where: str) -> None:
    for part in metrics:
        if part["why_not"] == SCORES_ONLY:
            raise of_scores(part["name"], where)


def of_scores(name: str, where: str) -> UserError:
    """What is said of a part that gives no probabilities."""
    return UserError(
        f"{name} cannot be mixed: {SCORES_ONLY}",
        where=where,
        next_step="name a model of another method",
    )


def _scores(name: str, split: str) -> pa.Table:
    return read_table(layout.scores(name) / f"{split}.arrow")


def _mixed(parts: list[str], split: str, weight: float) -> pa.Table:
    first, second = (_scores(name, split) for name in parts)
    return with_nats(first, mix(flat_nats(first), flat_nats(second), weight))


if __name__ == "__main__":
    settings.run(main)
