"""Metrics, scores and views of made-up models, whose right ranking is known."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from textmill.reports.certainty import with_certainty
from textmill.reports.curves import Curve
from textmill.reports.leaderboard import build, text_facts
from textmill.reports.records import Leaderboard, Text
from textmill.reports.view import Facts, View
from textmill.scoring.permutation import Permutation
from textmill.scoring.significance import Bootstrap

KEY = "a" * 64
BYTES, TOKENS = 6_000, {"char": 6_000, "word": 1_200, "subword": 2_000}
PLAN = Bootstrap(replicates=400)
FLIPS = Permutation(draws=2_000)

SOURCE: dict[str, Any] = {
    "corpus": "plays",
    "title": "Plays",
    "licence": "public domain",
    "asked": {"sources": ["https://example.org/plays.txt", "pypi:plays==1.0"]},
    "download": {"name": "plays.txt", "bytes": 70_000, "sha256": "c" * 64},
    "files": [{"name": "plays.txt", "bytes": 70_000, "sha256": "c" * 64}],
}
CLEANED: dict[str, Any] = {
    "documents": {"train": 1, "valid": 1, "test": 1},
    "lines": {"train": 1_000, "valid": 120, "test": 120},
    "words": {"train": 10_000, "valid": 1_080, "test": 1_080},
    "characters": {"train": 58_000, "valid": 6_000, "test": 5_990},
    "bytes": {"train": 58_000, "valid": 6_000, "test": BYTES},
    "sha256": {"train": "1" * 64, "valid": "2" * 64, "test": "3" * 64},
}


def one_split(bits_per_byte: float | None, tokenizer: str, spelling_share: float) -> dict[str, Any]:
    nats = None if bits_per_byte is None else bits_per_byte * BYTES * math.log(2)
    spelling = 0.0 if nats is None else nats * spelling_share
    tokens = TOKENS[tokenizer]
    return {
        "bits_per_byte": bits_per_byte,
        "bits_per_character": bits_per_byte,
        "perplexity": None if nats is None else math.exp((nats - spelling) / tokens),
        "word_perplexity": None if nats is None else math.exp(nats / 1_200),
        "nats": nats,
        "nats_tokens": None if nats is None else nats - spelling,
        "nats_spelling": spelling,
        "tokens": tokens,
        "unknown": 60 if spelling_share else 0,
        "unknown_rate": 60 / tokens if spelling_share else 0.0,
        "bytes": BYTES,
        "characters": 5_990,
        "words": 1_200,
    }


@pytest.fixture(scope="session")
def one_metrics() -> Callable[..., dict[str, Any]]:
    """What the evaluation would write of a model with these bits per byte on test."""

    def make(
        name: str, test: float | None, tokenizer: str = "word", **other: Any
    ) -> dict[str, Any]:
        share = 0.1 if tokenizer == "word" else 0.0
        return {
            "name": name,
            "group": "ngrams",
            "kind": "made up",
            "tokenizer": tokenizer,
            "tokenizer_fingerprint": tokenizer * 8,
            "comparison_key": KEY,
            "byte_comparable": True,
            "why_not": None,
            "parameters": None,
            "ngrams": 1_234,
            "bytes_on_disk": 56_789,
            "valid": one_split(None if test is None else test - 0.01, tokenizer, share),
            "test": one_split(test, tokenizer, share),
        } | other

    return make


@pytest.fixture(scope="session")
def plays() -> Text:
    """Facts of the made-up text."""
    return text_facts(SOURCE, CLEANED)


@pytest.fixture(scope="session")
def scored() -> Callable[..., pa.Table]:
    """A scores table of 120 lines with these total bits per byte; `seed` shapes the lines."""

    def make(bits_per_byte: float, seed: int, documents: int = 1) -> pa.Table:
        bytes_L = np.full(120, BYTES // 120)
        weight_L = bytes_L * np.random.default_rng(seed).uniform(0.8, 1.2, size=120)
        nats_L = weight_L * bits_per_byte * BYTES * math.log(2) / weight_L.sum()
        return pa.table(
            {
                "doc": (np.arange(120) * documents // 120).astype(np.int32),
                "bytes": bytes_L,
                "nats_tokens": nats_L * 0.9,
                "nats_spelling": nats_L * 0.1,
            }
        )

    return make


@pytest.fixture(scope="session")
def full_board(one_metrics, plays, scored) -> Leaderboard:
    """Six ranked models over three tokenizations, three that are not, intervals, pairs."""
    kneser_ney = "modified Kneser-Ney, order 5"
    scores = {
        "mix_subword": (1.40, "subword", "mixtures", ""),
        "kn_subword": (1.50, "subword", "ngrams", kneser_ney),
        "kn_word": (1.5001, "word", "ngrams", kneser_ney),
        "lstm_subword": (1.60, "subword", "networks", "LSTM, 2 x 300"),
        "lstm_char": (1.90, "char", "networks", "LSTM, 1 x 100"),
        "uniform_char": (6.60, "char", "ngrams", "uniform"),
        "flat_word": (None, "word", "ngrams", "flat"),
    }
    metrics = {
        name: one_metrics(name, test, tokenizer, group=group, kind=kind)
        for name, (test, tokenizer, group, kind) in scores.items()
    }
    metrics["mix_subword"] |= {
        "kind": "0.55 kn_subword + 0.45 lstm_subword",
        "parts": ["kn_subword", "lstm_subword"],
        "weight": 0.55,
        "ngrams": None,
    }
    metrics["flat_word"] |= {"byte_comparable": False, "why_not": "no probabilities"}
    metrics["old_word"] = one_metrics("old_word", 1.0, comparison_key="b" * 64)
    declared = [(name, one["group"]) for name, one in metrics.items()]
    board = build([*declared, ("gone_word", "networks")], metrics, KEY, plays)
    seeds = {name: seed for seed, name in enumerate(scores)}
    tables = {n: scored(test, seeds[n]) for n, (test, *_) in scores.items() if test}
    return with_certainty(board, tables.__getitem__, PLAN, FLIPS)


@pytest.fixture(scope="session")
def full_view(full_board) -> View:
    """The board with two learning curves, without facts."""
    steps = tuple(range(1, 11))
    return View(
        full_board,
        curves=tuple(
            Curve(
                name,
                name.split("_")[1],
                tuple(map(float, steps)),
                tuple(end + 1 / s for s in steps),
            )
            for name, end in (("lstm_char", 1.8), ("lstm_subword", 1.5))
        ),
    )


@pytest.fixture(scope="session")
def timed_view(full_view) -> View:
    """The same with training times."""
    facts = {"lstm_subword": Facts(200.0, "cpu"), "kn_word": Facts(1.5)}
    return View(full_view.board, full_view.curves, facts)


@pytest.fixture(scope="session")
def with_p() -> Callable[[Leaderboard, list[float]], View]:
    """The board with these adjusted p-values of its first pairs, 0.001 for the rest, and no
    difference so small that it tells nothing.
    """

    def make(board: Leaderboard, adjusted: list[float]) -> View:
        values = adjusted + [0.001] * (len(board.pairs) - len(adjusted))
        pairs = [
            dataclasses.replace(pair, p_adjusted=value, difference=max(pair.difference, 0.01))
            for pair, value in zip(board.pairs, values, strict=True)
        ]
        return View(dataclasses.replace(board, pairs=tuple(pairs)))

    return make


@pytest.fixture(scope="session")
def many_models(one_metrics, plays, scored) -> Callable[[int], Leaderboard]:
    """A board of so many word networks, a hundredth of a bit per byte apart, about 2 MB each."""

    def make(count: int) -> Leaderboard:
        names = [f"lstm_of_two_layers_{number:02d}" for number in range(count)]
        metrics = {
            name: one_metrics(
                name, 1.4 + number / 100, group="networks", bytes_on_disk=2_000_000 + number % 3
            )
            for number, name in enumerate(names)
        }
        board = build([(name, "networks") for name in names], metrics, KEY, plays)
        tables = {name: scored(1.4 + n / 100, n) for n, name in enumerate(names)}
        return with_certainty(board, tables.__getitem__, PLAN, FLIPS)

    return make
