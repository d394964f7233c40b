"""AWD-LSTM's options: weight drop that survives train, eval, train; penalties as their formulas."""

from collections.abc import Callable

import pytest
import torch

from textmill.neural import network as network_module
from textmill.neural.chunk import PADDING
from textmill.neural.config import NetworkConfig
from textmill.neural.network import Network
from textmill.neural.objective import Objective
from textmill.neural.recurrent import WEIGHT, Recurrent
from textmill.neural.state import Piece

Configure = Callable[..., NetworkConfig]

WHOLE = [Piece(slice(None), None)]
RECURRENT = ["lstm", "gru", "rnn"]


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("implementation", ["library", "reference"])
@pytest.mark.parametrize("architecture", RECURRENT)
def test_weight_drop_acts_from_the_second_step_and_in_training_alone(
    make_config: Configure, architecture: str, implementation: str
) -> None:
    config = make_config(architecture=architecture, implementation=implementation, weight_drop=0.5)
    torch.manual_seed(0)
    layer = Recurrent(7, config)
    names = list(layer.state_dict())
    weight = layer.cell.get_parameter(WEIGHT)
    before = weight.detach().clone()
    x_TBI, state = torch.randn(4, 3, 7), layer.zero_state(3)
    plain, _ = layer.eval().for_chunk(_generator())(x_TBI, state)
    for _ in range(2):  # train, eval, train
        dropped, _ = layer.train().for_chunk(_generator())(x_TBI, state)
        assert torch.allclose(dropped[0], plain[0], rtol=0, atol=1e-6)
        assert not torch.allclose(dropped[1], plain[1], rtol=0, atol=1e-3)
        again, _ = layer.eval().for_chunk(_generator())(x_TBI, state)
        assert torch.equal(again, plain)
        assert list(layer.state_dict()) == names
        assert layer.cell.get_parameter(WEIGHT) is weight
        assert torch.equal(weight, before)


def test_dropped_entries_have_no_gradient_and_the_others_are_scaled(
    make_config: Configure,
) -> None:
    torch.manual_seed(0)
    layer = Recurrent(7, make_config(weight_drop=0.9, hidden=40))
    x_TBI = torch.randn(6, 3, 7)
    layer.for_chunk(_generator())(x_TBI, layer.zero_state(3))[0].sum().backward()
    gradient = layer.cell.get_parameter(WEIGHT).grad
    assert gradient is not None
    assert (gradient != 0).float().mean().item() == pytest.approx(0.1, abs=0.015)
    keep = (gradient != 0).float() * 10
    other = Recurrent(7, make_config(hidden=40))
    other.load_state_dict(layer.state_dict())
    with torch.no_grad():
        other.cell.get_parameter(WEIGHT).mul_(keep)
    expected, _ = other(x_TBI, other.zero_state(3))
    found, _ = layer.for_chunk(_generator())(x_TBI, layer.zero_state(3))
    assert torch.allclose(found, expected, rtol=0, atol=1e-6)


def test_one_mask_a_chunk_also_where_documents_cut_it(make_config: Configure) -> None:
    """A cut that resets nothing changes nothing: both pieces see the same dropped weights."""
    torch.manual_seed(0)
    network = Network(20, make_config(weight_drop=0.5)).train()
    ids_TB = torch.randint(2, 20, (8, 2))
    cut = [Piece(slice(0, 3), None), Piece(slice(3, 8), torch.zeros(2, dtype=torch.bool))]
    one = network(ids_TB, network.zero_state(2), WHOLE, _generator())
    two = network(ids_TB, network.zero_state(2), cut, _generator())
    assert torch.allclose(one.output, two.output, rtol=0, atol=1e-6)


def test_penalties_are_their_formulas_and_not_in_what_is_reported(
    make_config: Configure,
) -> None:
    config = make_config(dropout=0.4, activation_penalty=2.0, temporal_activation_penalty=3.0)
    torch.manual_seed(0)
    network = Network(20, config).train()
    ids_TB, targets_TB = torch.randint(2, 20, (2, 6, 3))
    targets_TB[5, 2] = PADDING
    state = network.zero_state(3)
    reading = network(ids_TB, state, WHOLE, _generator())
    assert not torch.equal(reading.output, reading.raw)
    nats = network.total_nats(reading.output.flatten(0, 1), targets_TB.flatten())
    alpha = sum(h.square().sum() for h in reading.output) / reading.output.numel()
    moves = [reading.raw[t + 1] - reading.raw[t] for t in range(5)]
    beta = sum(move.square().sum() for move in moves) / (5 * 3 * 12)
    found, reported, _ = Objective(network, config)(
        ids_TB, targets_TB, state, WHOLE, _generator(), 17
    )
    assert reported.item() == pytest.approx(nats.item(), rel=1e-6)
    expected = (nats / 17 + 2 * alpha + 3 * beta).item()
    assert found.item() == pytest.approx(expected, rel=1e-6)
    assert found.item() > reported.item() / 17 + 0.01


@pytest.mark.parametrize("place", ["input_dropout", "dropout", "output_dropout"])
def test_each_place_has_a_rate_of_its_own(
    make_config: Configure, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which tensors are masked, by their widths: embedding 7, between layers 12, output 12."""
    rates = {"input_dropout": 0.0, "dropout": 0.0, "output_dropout": 0.0, place: 0.5}
    torch.manual_seed(0)
    network = Network(20, make_config(embedding=7, tied=False, layers=3, **rates)).train()
    ids_TB, state = torch.randint(3, 20, (6, 4)), network.zero_state(4)
    seen = []
    drop = network_module.locked_mask

    def watched(x_TBH: torch.Tensor, rate: float, generator: torch.Generator) -> torch.Tensor:
        seen.append((x_TBH.shape[-1], rate))
        return drop(x_TBH, rate, generator)

    monkeypatch.setattr(network_module, "locked_mask", watched)
    reading = network(ids_TB, state, WHOLE, _generator())
    expected = {
        "input_dropout": [(7, 0.5)],
        "dropout": [(12, 0.5)] * 2,
        "output_dropout": [(12, 0.5)],
    }
    assert seen == expected[place]
    assert torch.equal(reading.output, reading.raw) == (place != "output_dropout")


def test_dropout_alone_is_the_rate_of_all_places(make_config: Configure) -> None:
    config = make_config(dropout=0.3)
    assert (config.input_dropout, config.output_dropout) == (0.3, 0.3)
    config = make_config(dropout=0.3, input_dropout=0.0)
    assert (config.input_dropout, config.output_dropout) == (0.0, 0.3)
    assert NetworkConfig.from_json(config.as_json()) == config
