"""Which model predicts the test text best: ranks in bits per byte, under one comparison key.

Exactly the declared models appear. One that was scored on another text, by another protocol, or
in a way that is not a probability of the text is not given a rank; it is listed with the reason,
because a model that silently goes missing reads as a model that lost. Perplexity per token is
ranked only among models that share a tokenizer fingerprint: over other tokens it is another
quantity.
"""

import math
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from textmill.base.errors import UserError
from textmill.reports.records import (
    Entry,
    Leaderboard,
    Overlap,
    Perplexity,
    SourceFile,
    SplitFacts,
    Text,
    Tokenization,
    Unranked,
)

Declared = list[tuple[str, str]]
"""Name and group of every declared model."""
Metrics = Mapping[str, Mapping[str, Any]]
"""What the evaluation wrote, by model name."""

SPLITS = ("train", "valid", "test")


def declared_models(groups: Mapping[str, Iterable[str] | None]) -> Declared:
    """Every (name, group), in the order of declaration. A name in two groups is a UserError.

    A model's files are named by the model alone, so two models of one name would overwrite
    each other.
    """
    group_of: dict[str, str] = {}
    for group, names in groups.items():
        for name in names or ():
            if name in group_of:
                raise UserError(
                    f'"{name}" is declared twice, in {group_of[name]} and in {group}',
                    where="params.yaml",
                    next_step=f"rename one of them, for example to {name}_2",
                )
            group_of[name] = group
    return list(group_of.items())


def text_facts(source: Mapping[str, Any], cleaned: Mapping[str, Any]) -> Text:
    """The text's origin (`source.json` of the download) and sizes (metrics of the cleaning)."""
    download = source.get("download")
    files = [download] if download and download.get("sha256") else source["files"]
    known = SplitFacts.__dataclass_fields__
    return Text(
        corpus=source["corpus"],
        title=source["title"],
        licence=source["licence"],
        sources=tuple(source["asked"].get("sources", ())),
        files=tuple(SourceFile(file["name"], file["bytes"], file["sha256"]) for file in files),
        splits={
            split: SplitFacts(**{name: cleaned[name][split] for name in known}) for split in SPLITS
        },
        overlap=_overlap(cleaned.get("overlap")),
    )


def _overlap(found: Mapping[str, Any] | None) -> Overlap | None:
    if found is None:
        return None
    shares = {name: found[name]["test"] for name in ("ngrams", "lines")}
    return Overlap(**{name: found[name] for name in Overlap.__dataclass_fields__} | shares)


def build(declared: Declared, metrics: Metrics, comparison_key: str, text: Text) -> Leaderboard:
    """Rank every declared model that can be ranked, without intervals (see `certainty`).

    Models beyond the declared ones in `metrics` are ignored. Equal scores are ranked by name.
    """
    reasons = {name: _why_not_ranked(metrics.get(name), comparison_key) for name, _ in declared}
    ranked = [(name, group) for name, group in declared if reasons[name] is None]
    ranked.sort(key=lambda item: (metrics[item[0]]["test"]["bits_per_byte"], item[0]))
    return Leaderboard(
        text=text,
        comparison_key=comparison_key,
        models=tuple(
            _entry(rank, name, group, metrics[name])
            for rank, (name, group) in enumerate(ranked, start=1)
        ),
        unranked=tuple(
            Unranked(name, group, reason)
            for name, group in sorted(declared)
            if (reason := reasons[name]) is not None
        ),
        tokenizations=_tokenizations(declared, metrics, comparison_key),
        certainty=None,
    )


def _why_not_ranked(found: Mapping[str, Any] | None, comparison_key: str) -> str | None:
    if found is None:
        return "it has not been scored yet: dvc repro"
    if found["comparison_key"] != comparison_key:
        return (
            "it was scored on another text or by another protocol "
            f"(key {found['comparison_key'][:8]}, here {comparison_key[:8]})"
        )
    if not found["byte_comparable"]:
        return found["why_not"] or "its scores are not probabilities of the same bytes"
    if not _is_finite(found["test"]["bits_per_byte"]):
        return "its bits per byte is not finite: it holds a part of the text for impossible"
    return None


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def finite(value: float | None) -> float | None:
    """The number, or None where it is none or infinite."""
    return value if _is_finite(value) else None


def _entry(rank: int, name: str, group: str, found: Mapping[str, Any]) -> Entry:
    test = found["test"]
    return Entry(
        rank=rank,
        name=name,
        group=group,
        kind=found["kind"],
        tokenizer=found["tokenizer"],
        tokenizer_fingerprint=found["tokenizer_fingerprint"],
        bits_per_byte=test["bits_per_byte"],
        bits_per_byte_valid=finite(found["valid"]["bits_per_byte"]),
        behind=None,
        bits_per_character=finite(test["bits_per_character"]),
        perplexity=finite(test["perplexity"]),
        word_perplexity=finite(test["word_perplexity"]),
        unknown_rate=test["unknown_rate"],
        spelling_share=test["nats_spelling"] / test["nats"] if test["nats"] else 0.0,
        parameters=found["parameters"],
        ngrams=found["ngrams"],
        bytes_on_disk=found["bytes_on_disk"],
        parts=tuple(found.get("parts") or ()),
        weight=found.get("weight"),
        adapts=found.get("adapts", False),
    )


def _tokenizations(
    declared: Declared, metrics: Metrics, comparison_key: str
) -> tuple[Tokenization, ...]:
    """Finite perplexities on the same text, by tokenizer fingerprint."""
    found = [
        metrics[name]
        for name, _ in declared
        if name in metrics
        and metrics[name]["comparison_key"] == comparison_key
        and _is_finite(metrics[name]["test"]["perplexity"])
    ]
    found.sort(key=lambda one: one["tokenizer_fingerprint"])
    groups = groupby(found, key=lambda one: one["tokenizer_fingerprint"])
    tokenizations = [_tokenization(fingerprint, list(group)) for fingerprint, group in groups]
    return tuple(sorted(tokenizations, key=lambda one: (one.tokenizer, one.tokenizer_fingerprint)))


def _tokenization(fingerprint: str, group: list[Mapping[str, Any]]) -> Tokenization:
    group = sorted(group, key=lambda one: (one["test"]["perplexity"], one["name"]))
    return Tokenization(
        tokenizer=", ".join(sorted({one["tokenizer"] for one in group})),
        tokenizer_fingerprint=fingerprint,
        tokens=group[0]["test"]["tokens"],
        unknown_rate=group[0]["test"]["unknown_rate"],
        models=tuple(
            Perplexity(
                rank=rank,
                name=one["name"],
                perplexity=one["test"]["perplexity"],
                perplexity_valid=finite(one["valid"]["perplexity"]),
                adapts=one.get("adapts", False),
            )
            for rank, one in enumerate(group, start=1)
        ),
    )
