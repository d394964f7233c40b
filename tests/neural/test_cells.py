"""Cells from scratch equal the library's kernels, and the figures of their papers' formulas."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from textmill.neural.cells import GruCell, LstmCell, RnnCell
from textmill.neural.config import NetworkConfig
from textmill.neural.network import Network
from textmill.neural.recurrent import Recurrent
from textmill.neural.state import State

Configure = Callable[..., NetworkConfig]

RECURRENT = [("lstm", None), ("gru", None), ("rnn", "tanh"), ("rnn", "relu")]


def _layer(config: NetworkConfig) -> Recurrent:
    torch.manual_seed(0)
    return Recurrent(7, config)


def _outcome(layer: Recurrent, x_TBI: Tensor, state: State) -> list[Tensor]:
    """Outputs, states and every gradient, those of inputs and first states among them."""
    x_TBI = x_TBI.clone().requires_grad_()
    state = tuple(part.clone().requires_grad_() for part in state)
    output_TBH, after = layer(x_TBI, state)
    weights = torch.linspace(-1, 1, output_TBH.numel(), dtype=x_TBI.dtype)
    loss = (output_TBH.flatten() * weights).sum() + sum(part.square().sum() for part in after)
    layer.zero_grad()
    loss.backward()
    wanted = [x_TBI, *state, *dict(sorted(layer.named_parameters())).values()]
    return [output_TBH, *after, *(one.grad for one in wanted)]


@pytest.mark.parametrize(("architecture", "nonlinearity"), RECURRENT)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-13)])
def test_outputs_and_gradients_equal_the_librarys(
    make_config: Configure, architecture: str, nonlinearity: str | None,
    dtype: torch.dtype, tolerance: float,
) -> None:  # fmt: skip
    options = {"architecture": architecture, "nonlinearity": nonlinearity}
    ours = _layer(make_config(implementation="reference", **options)).to(dtype)
    theirs = _layer(make_config(implementation="library", **options)).to(dtype)
    ours.load_state_dict(theirs.state_dict())
    x_TBI = torch.randn(35, 4, 7, dtype=dtype)
    state = tuple(torch.randn_like(part) for part in ours.zero_state(4))
    found, expected = _outcome(ours, x_TBI, state), _outcome(theirs, x_TBI, state)
    for one, two in zip(found, expected, strict=True):
        assert torch.allclose(one, two, rtol=0, atol=tolerance * max(1.0, two.abs().max().item()))


@pytest.mark.parametrize(("architecture", "nonlinearity"), RECURRENT)
def test_either_implementation_loads_what_the_other_saved(
    make_config: Configure, architecture: str, nonlinearity: str | None
) -> None:
    options = {"architecture": architecture, "nonlinearity": nonlinearity}
    one = Network(20, make_config(implementation="reference", **options))
    two = Network(20, make_config(implementation="library", **options))
    two.load_state_dict(one.state_dict())
    one.load_state_dict(two.state_dict())
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_lstm_by_hand() -> None:
    """One step of one unit: gates i, f, g, o of pre-activations 0, ln 3, 0.5, -ln 3."""
    cell = LstmCell(1, 1).double()
    with torch.no_grad():
        cell.weight_ih_l0[:] = 0
        cell.weight_hh_l0[:] = 0
        ln3 = 1.0986122886681098
        cell.bias_ih_l0[:] = torch.tensor([0.0, ln3, 0.5, -ln3], dtype=torch.float64)
    state = (torch.zeros(1, 1, 1).double(), torch.full((1, 1, 1), 2.0).double())
    output, (h, c) = cell(torch.zeros(1, 1, 1).double(), state)
    # sigmoid: 1/2, 3/4, 1/4; tanh 0.5 = 0.46211715726; c = 3/4 * 2 + 1/2 * tanh 0.5.
    assert c.item() == pytest.approx(1.73105857863, abs=1e-9)
    e2c = math.exp(2 * 1.73105857863)
    assert h.item() == pytest.approx(0.25 * (e2c - 1) / (e2c + 1), abs=1e-10)
    assert torch.equal(output[-1], h[0])


@pytest.mark.parametrize(("cell", "gates"), [(LstmCell, 4), (GruCell, 3)])
def test_weights_are_xaviers_a_gate_and_biases_zero(cell: type[nn.Module], gates: int) -> None:
    torch.manual_seed(0)
    made = cell(300, 100)
    assert made.weight_ih_l0.shape == (gates * 100, 300)
    for weight, inputs in ((made.weight_ih_l0, 300), (made.weight_hh_l0, 100)):
        for gate in weight.chunk(gates):
            bound = (6 / (inputs + 100)) ** 0.5
            assert gate.abs().max() <= bound
            assert gate.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert not made.bias_ih_l0.any()
    assert not made.bias_hh_l0.any()


def test_the_recurrence_of_the_rnn_is_differentiated_exactly() -> None:
    cell = RnnCell(3, 2, nonlinearity="tanh").double()
    x = torch.randn(4, 2, 3, dtype=torch.float64, requires_grad=True)
    h = torch.randn(1, 2, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, h: cell(x, (h,))[0], (x, h))
