"""The network: published sizes, loss at the start, causality, resets, dropout masks."""

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from textmill.neural.config import NetworkConfig
from textmill.neural.dropout import locked_mask, row_mask, step_generator
from textmill.neural.network import Network, Reading, count_parameters
from textmill.neural.state import Piece
from textmill.tokenizers.vocabulary import BEGIN

Configure = Callable[..., NetworkConfig]


def _read(network: Network, ids_TB: Tensor, generator: torch.Generator | None = None) -> Reading:
    state = network.zero_state(ids_TB.shape[1])
    return network(ids_TB, state, [Piece(slice(None), None)], generator)


def _eval_network(config: NetworkConfig, size: int = 20) -> Network:
    torch.manual_seed(1)
    return Network(size, config).double().eval()


def _ids(rows: int, columns: int, size: int = 20) -> Tensor:
    return torch.randint(2, size, (rows, columns), generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize(
    ("size", "embedding", "hidden", "published"),
    [(33278, 200, 200, 7_332_078), (33278, 650, 650, 28_434_378), (33278, 1500, 1500, 85_974_278)],
)
def test_tied_sizes_of_the_wikitext2_example_of_pytorch(
    make_config: Configure, size: int, embedding: int, hidden: int, published: int
) -> None:
    with torch.device("meta"):
        network = Network(size, make_config(embedding=embedding, hidden=hidden))
    assert count_parameters(network) == published


def test_the_count_follows_the_formula_with_a_projection(make_config: Configure) -> None:
    vocabulary, e, h = 20, 8, 12
    layers = 4 * h * (e + h) + 8 * h + 4 * h * (h + h) + 8 * h
    expected = vocabulary * e + layers + h * e + vocabulary
    assert count_parameters(Network(vocabulary, make_config())) == expected


@pytest.mark.parametrize("size", [65, 2_000])
def test_an_untrained_network_costs_about_ln_v(make_config: Configure, size: int) -> None:
    torch.manual_seed(0)
    network = Network(size, make_config(embedding=64, hidden=64))
    ids_TB = _ids(40, 5, size)
    loss = network.nats(_read(network, ids_TB).output.flatten(0, 1), ids_TB.flatten()).mean()
    assert abs(loss.item() - math.log(size - 1)) < 0.05


def test_the_begin_mark_is_never_predicted_and_gradients_stay_finite(
    make_config: Configure,
) -> None:
    network = Network(20, make_config())
    ids_TB = _ids(6, 3)
    output_NH = _read(network, ids_TB).output.flatten(0, 1)
    network.total_nats(output_NH, ids_TB.flatten()).backward()
    log_probs = network.log_probs(output_NH)
    assert torch.all(log_probs[..., BEGIN] == -torch.inf)
    assert torch.isfinite(log_probs[..., BEGIN + 1 :]).all()
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    assert len(gradients) == len(list(network.parameters()))
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_locked_dropout_is_one_mask_over_time_and_differs_over_columns() -> None:
    mask = locked_mask(torch.zeros(7, 50, 40), 0.25, torch.Generator().manual_seed(0))
    assert mask.shape == (1, 50, 40)
    assert mask.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert abs((mask == 0).float().mean().item() - 0.25) < 0.03
    assert not torch.equal(mask[0, 0], mask[0, 1])


def test_row_dropout_drops_whole_rows_and_scales_the_others() -> None:
    mask = row_mask(1000, torch.zeros(3, 4), 0.2, torch.Generator().manual_seed(0))
    assert mask.shape == (1000, 1)
    assert mask.unique().tolist() == pytest.approx([0.0, 1 / 0.8])
    assert abs((mask == 0).float().mean().item() - 0.2) < 0.04


@pytest.mark.parametrize("head", [{}, {"head": "adaptive", "cutoffs": (10, 15), "tied": True}])
def test_embedding_dropout_is_that_of_a_network_whose_dropped_rows_are_zero(
    make_config: Configure, head: dict[str, Any]
) -> None:
    """Forward to the bit, and gradients: a mask over the ids read, not over the matrix."""
    torch.manual_seed(2)
    dropped = Network(20, make_config(embedding_dropout=0.4, **head))
    plain = copy.deepcopy(dropped)
    plain.embedding_dropout = 0.0
    ids_TB = _ids(12, 4)
    mask = row_mask(20, torch.zeros(1), 0.4, torch.Generator().manual_seed(7))
    inputs = torch.arange(20)
    matrix_VE = plain.embedding(inputs) * mask
    plain.embedding.forward = lambda ids: functional.embedding(ids, matrix_VE)
    outputs = [
        _read(network, ids_TB, torch.Generator().manual_seed(7)).output
        for network in (dropped, plain)
    ]
    # Bits of a product depend on its rows, and here projections stand in between.
    assert torch.allclose(*outputs, rtol=0, atol=1e-7 if head else 0)
    assert 0 < (mask[ids_TB] == 0).float().mean() < 1
    for output in outputs:
        output.square().sum().backward()
    for one, two in zip(dropped.embedding.parameters(), plain.embedding.parameters(), strict=True):
        assert torch.allclose(one.grad, two.grad, rtol=1e-6, atol=1e-7)
        assert one.grad.abs().max() > 0


def test_masks_are_a_function_of_seed_and_step() -> None:
    generator = torch.Generator()

    def draw(seed: int, step: int) -> list[float]:
        return torch.rand(4, generator=step_generator(generator, seed, step)).tolist()

    assert draw(1, 7) == draw(1, 7)
    assert len({tuple(draw(seed, step)) for seed in range(3) for step in range(3)}) == 9


def test_dropout_acts_in_training_alone(make_config: Configure) -> None:
    network = _eval_network(make_config(dropout=0.5, embedding_dropout=0.3))
    plain = _eval_network(make_config())
    ids_TB = _ids(6, 2)
    assert torch.equal(_read(network, ids_TB).output, _read(plain, ids_TB).output)
    generator = torch.Generator().manual_seed(0)
    dropped = _read(network.train(), ids_TB, generator=generator).output
    zeros = (dropped == 0).all(dim=0).float().mean().item()
    assert 0.2 < zeros < 0.8
