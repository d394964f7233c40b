"""Tiny vocabularies, splits and configurations for the network tests."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.neural.tiny import ARCHITECTURES
from textmill.neural.config import NetworkConfig
from textmill.neural.training import Training
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import END, RESERVED, UnknownLearning, Vocabulary

POEM = [[[3, 4, 5, 3, 6, END], [7, 8, 3, 9, END], [4, 4, 10, 11, END]]]
"""A document of three lines over twelve ids."""


@pytest.fixture
def make_vocabulary() -> Callable[..., Vocabulary]:
    def make(
        size: int, counts: Sequence[int] | None = None, unknown: UnknownLearning = "none"
    ) -> Vocabulary:
        names = [f"t{i}" for i in range(len(RESERVED), size)]
        given = np.full(size, 5) if counts is None else np.array(counts)
        return Vocabulary(pa.array(names, pa.string()), given, scheme="tiny", unknown=unknown)

    return make


@pytest.fixture
def make_lines() -> Callable[[Sequence[Sequence[Sequence[int]]]], Lines]:
    """From documents, each a list of lines, each a list of ids with the final `</s>`."""

    def make(documents: Sequence[Sequence[Sequence[int]]]) -> Lines:
        lines = [line for document in documents for line in document]
        doc = [d for d, document in enumerate(documents) for _ in document]
        lengths = np.array([len(line) for line in lines], dtype=np.int64)
        zeros = np.zeros(len(lines), dtype=np.int64)
        return Lines(
            tokens=np.array([token for line in lines for token in line], dtype=np.uint16),
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            doc=np.array(doc, dtype=np.int32),
            n_bytes=lengths,
            n_characters=lengths,
            n_words=zeros,
            n_unknown=zeros,
            nats_spelling=zeros.astype(np.float64),
        )

    return make


@pytest.fixture
def make_config() -> Callable[..., NetworkConfig]:
    def make(**changes: Any) -> NetworkConfig:
        base = {
            "tokenizer": "tiny",
            "embedding": 8,
            "hidden": 12,
            "layers": 2,
            "bptt": 5,
            "batch": 3,
            "warmup": 2,
            "steps": 12,
            "evaluate_every": 4,
            "threads": 1,
            "device": "cpu",
        }
        return NetworkConfig(**{**base, **changes})

    return make


@pytest.fixture(params=ARCHITECTURES, ids=lambda changes: "-".join(map(str, changes.values())))
def architecture(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What of a configuration makes each kind of network."""
    return request.param


@pytest.fixture
def lines(make_lines: Callable[..., Lines]) -> Lines:
    """Six times the same poem: 96 tokens."""
    return make_lines(POEM * 6)


@pytest.fixture
def make_run(
    tmp_path: Path,
    lines: Lines,
    make_vocabulary: Callable[..., Vocabulary],
    make_config: Callable[..., NetworkConfig],
) -> Callable[..., Training]:
    """A training on the poems, before its first step."""

    def make(**changes: object) -> Training:
        config = make_config(**changes)
        return Training(lines, lines, make_vocabulary(12), config, tmp_path / "scratch")

    return make
