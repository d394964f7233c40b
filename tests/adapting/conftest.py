"""A tiny network of random weights in float64, and splits of made-up documents."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from textmill.neural.config import NetworkConfig
from textmill.neural.model import NetworkModel
from textmill.neural.network import Network
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import END, RESERVED, Vocabulary

SIZE = 14


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads that wait for each other cost more than such small products."""
    torch.set_num_threads(1)


@pytest.fixture
def make_model():
    """Makes a model and its configuration."""

    def make(**options):
        config = NetworkConfig(
            tokenizer="tiny", embedding=6, hidden=7, layers=2, dropout=0.5, bptt=5, batch=3,
            warmup=2, steps=12, evaluate_every=4, threads=1, device="cpu", **options,
        )  # fmt: skip
        torch.manual_seed(5)
        network = Network(SIZE, config)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(4)
        names = pa.array([f"t{i}" for i in range(len(RESERVED), SIZE)], pa.string())
        vocabulary = Vocabulary(names, np.full(SIZE, 5), scheme="tiny", unknown="none")
        return NetworkModel(network.double(), vocabulary), config

    return make


@pytest.fixture
def config(make_model):
    return make_model()[1]


@pytest.fixture
def model(make_model):
    return make_model()[0]


@pytest.fixture
def lines_of():
    """Lines of documents, each a list of lines, each a list of ids without the final `</s>`."""

    def make(documents):
        lines = [[*line, END] for document in documents for line in document]
        lengths = np.array([len(line) for line in lines], dtype=np.int64)
        zeros = np.zeros(len(lines))
        return Lines(
            tokens=np.array([token for line in lines for token in line], dtype=np.uint16),
            offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            doc=np.repeat(np.arange(len(documents)), [len(d) for d in documents]).astype(np.int32),
            n_bytes=lengths, n_characters=lengths, n_words=0 * lengths, n_unknown=0 * lengths,
            nats_spelling=zeros,
        )  # fmt: skip

    return make


@pytest.fixture
def lines(lines_of):
    """Three documents in which the same few tokens come again and again."""
    rng = np.random.default_rng(1)
    common, rare = np.arange(3, 6), np.arange(3, SIZE)
    draw = lambda n: np.where(rng.random(n) < 0.8, rng.choice(common, n), rng.choice(rare, n))  # noqa: E731
    return lines_of([[draw(9), draw(14)], [draw(3)], [draw(11), [], draw(20)]])
