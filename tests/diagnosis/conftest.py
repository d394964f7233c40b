"""A tiny two-layer network of random weights in float64."""

import pytest
import torch

from textmill.neural.config import NetworkConfig
from textmill.neural.lstm import LstmNetwork

SIZE = 12


@pytest.fixture
def network():
    torch.set_num_threads(1)
    torch.manual_seed(3)
    config = NetworkConfig(
        tokenizer="tiny", embedding=5, hidden=6, layers=2, dropout=0.5, bptt=5, batch=3,
        warmup=2, steps=12, evaluate_every=4, threads=1, device="cpu",
    )  # fmt: skip
    network = LstmNetwork(SIZE, config).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(2)
    return network
