"""What holds for every architecture: causality, carried state, documents apart, probabilities."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from textmill.neural.adaptive import AdaptiveEmbedding
from textmill.neural.config import NetworkConfig
from textmill.neural.model import NetworkModel
from textmill.neural.network import Network, Reading
from textmill.neural.state import State, pieces
from textmill.tokenizers.vocabulary import BEGIN, Vocabulary

Configure = Callable[..., NetworkConfig]
Speak = Callable[..., Vocabulary]

SIZE = 20


@pytest.fixture
def network(make_config: Configure, architecture: dict[str, Any]) -> Network:
    """Random weights, large enough that context matters, in float64."""
    torch.manual_seed(1)
    made = Network(SIZE, make_config(**architecture)).double().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
    return made


def _read(
    network: Network,
    ids_TB: Tensor,
    state: State | None = None,
    starts_TB: Tensor | None = None,
    crossings: tuple[int, ...] = (),
) -> Reading:
    """The ids from `state` on (default: zero), with documents where `starts_TB` says (none)."""
    if starts_TB is None:
        starts_TB = torch.zeros(ids_TB.shape, dtype=torch.bool)
    if state is None:
        state = network.zero_state(ids_TB.shape[1])
    return network(ids_TB, state, list(pieces(starts_TB, crossings, 2.0)))


def _ids(rows: int, columns: int) -> Tensor:
    return torch.randint(2, SIZE, (rows, columns), generator=torch.Generator().manual_seed(3))


def test_changing_a_token_changes_no_output_before_it(network: Network) -> None:
    ids_TB = _ids(9, 2)
    changed = ids_TB.clone()
    changed[5, 0] = 2 if ids_TB[5, 0] != 2 else 3
    one, two = _read(network, ids_TB).output, _read(network, changed).output
    assert torch.equal(one[:5], two[:5])
    assert torch.equal(one[:, 1], two[:, 1])
    assert not torch.equal(one[5:, 0], two[5:, 0])


def test_carried_state_equals_one_long_run(network: Network) -> None:
    ids_TB = _ids(11, 3)
    whole = _read(network, ids_TB)
    state = network.zero_state(3)
    parts = []
    for part in ids_TB.split(4):
        reading = _read(network, part, state)
        assert [one.shape for one in reading.state] == [one.shape for one in state]
        state = reading.state
        parts.append(reading.output)
    assert torch.allclose(torch.cat(parts), whole.output, rtol=0, atol=1e-12)
    for one, two in zip(state, whole.state, strict=True):
        assert torch.allclose(one.double(), two.double(), rtol=0, atol=1e-12)


def test_every_state_has_the_batch_at_axis_one(network: Network) -> None:
    assert all(part.shape[1] == 5 for part in network.zero_state(5))
    ids_TB = _ids(6, 3)
    ends = [_read(network, ids_TB[:, b : b + 1]).state for b in range(3)]
    together = _read(network, ids_TB).state
    for number, part in enumerate(together):
        alone = torch.cat([end[number] for end in ends], dim=1)
        assert torch.allclose(part.double(), alone.double(), rtol=0, atol=1e-12)


def test_a_document_that_starts_in_a_chunk_is_read_as_if_alone(network: Network) -> None:
    ids_TB = _ids(10, 3)
    starts_TB = torch.zeros(ids_TB.shape, dtype=torch.bool)
    starts_TB[4, 1] = starts_TB[7, 1] = starts_TB[7, 2] = True
    dirty = tuple(torch.ones_like(part) for part in network.zero_state(3))
    output = _read(network, ids_TB, dirty, starts_TB).output
    for column, first, stop in [(1, 4, 7), (1, 7, 10), (2, 7, 10)]:
        alone = _read(network, ids_TB[first:stop, column : column + 1]).output
        assert torch.allclose(output[first:stop, column], alone[:, 0], rtol=0, atol=1e-12)
    undisturbed = _read(network, ids_TB, dirty).output
    assert torch.allclose(output[:, 0], undisturbed[:, 0], rtol=0, atol=1e-12)
    if network.zero_state(1):
        assert not torch.allclose(output[4:, 1], undisturbed[4:, 1], rtol=0, atol=1e-6)


def test_scores_and_distributions_agree_and_sum_to_one(
    network: Network, make_vocabulary: Speak
) -> None:
    model = NetworkModel(network, make_vocabulary(SIZE))
    ids_BT = np.random.default_rng(2).integers(2, SIZE, (2, 6))
    whole, _ = model.score(ids_BT, model.start(2))
    state = model.start(2)
    for t in range(ids_BT.shape[1]):
        log_probs = model.distribution(state)
        assert log_probs.shape == (2, SIZE)
        assert np.all(log_probs[:, BEGIN] == -np.inf)
        assert np.exp(log_probs).sum(axis=1) == pytest.approx([1, 1], abs=1e-12)
        nats, state = model.score(ids_BT[:, t : t + 1], state)
        assert nats[:, 0] == pytest.approx(-log_probs[[0, 1], ids_BT[:, t]], abs=1e-12)
        assert nats[:, 0] == pytest.approx(whole[:, t], abs=1e-9)


def test_training_sums_the_nats_that_scoring_gives(network: Network) -> None:
    ids_TB = _ids(6, 3)
    output_NH = _read(network, ids_TB).output.flatten(0, 1)
    targets_N = _ids(18, 1).flatten()
    expected = network.nats(output_NH, targets_N)
    targets_N[::5] = -100
    kept = expected[targets_N >= 0].sum().item()
    # Logits of the full head become float32 in training.
    assert network.total_nats(output_NH, targets_N).item() == pytest.approx(kept, rel=1e-6)


def _padded(tables: Sequence[Tensor]) -> Tensor:
    """The rows of all tables as one matrix, narrow ones filled up with zeros."""
    width = tables[0].shape[1]
    return torch.cat([functional.pad(table, (0, width - table.shape[1])) for table in tables])


def test_crossings_change_gradients_and_no_output(network: Network) -> None:
    ids_TB = _ids(8, 2)
    plain, crossed = _read(network, ids_TB), _read(network, ids_TB, crossings=(4,))
    assert torch.allclose(plain.output, crossed.output, rtol=0, atol=1e-12)
    embedding = network.embedding
    tables = (
        list(embedding.tables) if isinstance(embedding, AdaptiveEmbedding) else embedding.weight
    )
    one, two = (
        _padded(torch.autograd.grad(reading.output[6].sum(), tables, materialize_grads=True))
        for reading in (plain, crossed)
    )
    early = ids_TB[:4].unique()
    late = np.setdiff1d(ids_TB[4:7].unique(), early)
    early = np.setdiff1d(early, ids_TB[4:7].unique())
    assert torch.allclose(two[late], one[late], rtol=0, atol=1e-12)
    # What reaches back over row 4 at all is doubled.
    assert torch.allclose(two[early], 2 * one[early], rtol=0, atol=1e-12)
    assert len(early) > 0
