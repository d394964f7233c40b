"""What only a GPU shows: its kernels against the CPU's numbers, and what cuDNN asks for."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from textmill.adapting.dynamic import gradient_rms, read_dynamically
from textmill.neural.config import NetworkConfig
from textmill.neural.model import NetworkModel
from textmill.neural.text import TrainingText
from textmill.neural.training import Training
from textmill.scoring.likelihood import token_nats
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

Configure = Callable[..., NetworkConfig]
Speak = Callable[..., Vocabulary]
Write = Callable[..., Lines]
Run = Callable[..., Training]


@pytest.fixture
def make_cuda_run(make_run: Run) -> Run:
    return lambda **changes: make_run(**{"device": "cuda", **changes})


def test_the_losses_are_those_of_a_cpu(make_cuda_run: Run, architecture: dict[str, object]) -> None:
    """Of every architecture, in float32 and without dropout, over five updates."""
    losses = {}
    for device in ("cpu", "cuda"):
        run = make_cuda_run(**architecture, device=device, schedule="constant", warmup=0)
        losses[device] = [run.take_step()[0] for _ in range(5)]
    assert losses["cuda"] == pytest.approx(losses["cpu"], rel=1e-4)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_it_learns_in_both_precisions_with_every_kind_of_dropout(
    make_cuda_run: Run, precision: str
) -> None:
    run = make_cuda_run(
        precision=precision, dropout=0.1, weight_drop=0.1, embedding_dropout=0.1, steps=150,
        learning_rate=0.02,
    )  # fmt: skip
    assert run.precision == precision
    first = run.take_step()[0]
    while not run.finished:
        last = run.take_step()[0]
        if run.is_time_to_look:
            run.look()
    assert last < 0.8 * first


def test_deterministic_kernels_give_the_same_bits_twice(make_cuda_run: Run) -> None:
    weights = []
    for _ in range(2):
        run = make_cuda_run(deterministic=True, dropout=0.2)
        for _ in range(8):
            run.take_step()
        weights.append({name: one.cpu() for name, one in run.network.state_dict().items()})
    assert all(torch.equal(one, weights[1][name]) for name, one in weights[0].items())


def test_scores_and_dynamic_evaluation_are_those_of_a_cpu(make_cuda_run: Run, lines: Lines) -> None:
    """Dynamic evaluation differentiates a network in evaluation mode, which cuDNN refuses."""
    run = make_cuda_run()
    text = TrainingText(lines, run.vocabulary, 0)
    found = {}
    for device in ("cuda", "cpu"):
        network = run.network.to(device)
        rms = gradient_rms(network, text, segment=5, seed=0)
        options = {"learning_rate": 0.5, "decay": 0.01, "epsilon": 100.0, "segment": 5}
        segments = read_dynamically(network, rms, lines, **options)
        found[device] = (
            token_nats(NetworkModel(network, run.vocabulary), lines),
            np.concatenate([segment.nats for segment in segments]),
        )
    for one, other in zip(*found.values(), strict=True):
        assert np.allclose(one, other, rtol=0, atol=1e-4)
