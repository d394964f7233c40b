"""A tiny two-layer network of random weights in float64."""

import pytest
import torch

from textmill.neural.config import NetworkConfig
from textmill.neural.network import Network

SIZE = 12


@pytest.fixture
def make_network():
    def make(**changes):
        torch.set_num_threads(1)
        torch.manual_seed(3)
        given = {"embedding": 5, "hidden": 6, "layers": 2, "dropout": 0.5} | changes
        config = NetworkConfig(
            tokenizer="tiny", steps=12, evaluate_every=4, warmup=2, threads=1, device="cpu", **given
        )
        network = Network(SIZE, config).double()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.mul_(2)
        return network

    return make


@pytest.fixture
def network(make_network):
    return make_network()
