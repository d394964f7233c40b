"""Adaptive softmax and inputs: sums of one, the same written out plainly, sizes, what is learnt."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.neural.adaptive import EMBEDDING_SPREAD, AdaptiveEmbedding, AdaptiveHead
from textmill.neural.chunk import PADDING
from textmill.neural.config import NetworkConfig
from textmill.neural.initial import begin_from
from textmill.neural.model import NetworkModel, load
from textmill.neural.model_files import save_model
from textmill.neural.network import Network, count_parameters
from textmill.neural.training import Training
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import BEGIN, END, Vocabulary

Configure = Callable[..., NetworkConfig]

TIED: dict[str, Any] = {"head": "adaptive", "cutoffs": (5, 20), "tied": True}


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("cutoffs", [(5,), (5, 20), (5, 20, 49)])
def test_probabilities_sum_to_one_and_are_those_of_single_ids(
    cutoffs: tuple[int, ...], tied: bool
) -> None:
    torch.manual_seed(0)
    embedding = AdaptiveEmbedding(50, 8, cutoffs) if tied else None
    head = AdaptiveHead(8, 50, cutoffs, embedding).double()
    if embedding is not None:
        embedding.double()
    x = torch.randn(7, 8, dtype=torch.float64)
    log_probs = head.log_probs(x)
    assert torch.all(log_probs[:, BEGIN] == -torch.inf)
    assert torch.allclose(log_probs.exp().sum(1), torch.ones(7).double(), rtol=0, atol=1e-12)
    for token in (0, *range(2, 50)):
        nats = head.nats(x, torch.full((7,), token))
        assert torch.allclose(nats, -log_probs[:, token], rtol=0, atol=1e-12)


def test_untied_probabilities_are_the_librarys_given_that_the_begin_mark_is_out() -> None:
    torch.manual_seed(0)
    head = AdaptiveHead(8, 50, (5, 20), None).double()
    library = nn.AdaptiveLogSoftmaxWithLoss(8, 50, [5, 20], div_value=2.0).double()
    library.load_state_dict(head.softmax.state_dict())
    x = torch.randn(3, 8, dtype=torch.float64)
    expected = library.log_prob(x)
    expected -= torch.log1p(-expected[:, BEGIN].exp())[:, None]
    found = head.log_probs(x)
    kept = torch.arange(50) != BEGIN
    assert torch.allclose(found[:, kept], expected[:, kept], rtol=0, atol=1e-12)


@pytest.mark.parametrize("tied", [True, False])
def test_left_out_cutoffs_fit_every_vocabulary(make_config: Configure, tied: bool) -> None:
    config = make_config(head="adaptive", tied=tied)
    for size in (3, 4, 5, 9, 17, 50, 200):
        network = Network(size, config).double()
        probabilities = network.log_probs(torch.randn(2, config.hidden).double()).exp()
        assert probabilities.shape == (2, size)
        torch.testing.assert_close(probabilities.sum(1), torch.ones(2).double())
        assert (probabilities[:, BEGIN] == 0).all()


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    ("cutoffs", "said"),
    [((4, 20), "cutoffs end with 20, but the vocabulary has 20 ids"), ((1,), "cutoffs begin")],
)
def test_cutoffs_that_do_not_fit_are_refused(
    make_config: Configure, cutoffs: tuple[int, ...], said: str, tied: bool
) -> None:
    with pytest.raises(UserError, match=said):
        Network(20, make_config(head="adaptive", cutoffs=cutoffs, tied=tied))


def _written_out(embedding: AdaptiveEmbedding, head: AdaptiveHead, x_NE: Tensor) -> Tensor:
    """(N, V) ln p by dense matrices, as the paper has it."""
    first, second, third = embedding.tables
    choice = functional.linear(x_NE, torch.cat([first, head.softmax.head.clusters]))
    choice = choice.masked_fill(torch.arange(7) == BEGIN, -torch.inf).log_softmax(1)
    parts = [choice[:, :5]]
    for i, table in enumerate((second, third)):
        leading = head.softmax.tail[i][0].weight
        inside = (x_NE @ leading.T @ table.T).log_softmax(1)
        parts.append(choice[:, 5 + i, None] + inside)
    return torch.cat(parts, dim=1)


def test_tied_values_and_gradients_are_those_of_dense_matrices() -> None:
    """Inputs and outputs at once, so that each table's gradient is the sum of both."""
    torch.manual_seed(0)
    embedding = AdaptiveEmbedding(50, 8, (5, 20)).double()
    head = AdaptiveHead(8, 50, (5, 20), embedding).double()
    weights = [*embedding.parameters(), *head.parameters()]
    for weight in weights:
        weight.data.normal_()
    ids, targets = torch.randint(0, 50, (2, 60)), torch.randint(2, 50, (120,))
    found = head.nats(embedding(ids).flatten(0, 1).tanh(), targets)
    first, second, third = embedding.tables
    leads = [projection.weight.T for projection in embedding.projections]
    matrix_VE = torch.cat([first, second @ leads[0], third @ leads[1]])
    log_probs = _written_out(embedding, head, matrix_VE[ids.flatten()].tanh())
    expected = -log_probs.gather(1, targets[:, None]).squeeze(1)
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)
    mine, plain = (torch.autograd.grad(one.sum(), weights) for one in (found, expected))
    for one, two in zip(mine, plain, strict=True):
        assert one.abs().max() > 0
        assert torch.allclose(one, two, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("tied", [True, False])
def test_a_chunk_of_nothing_but_padding_costs_nothing_and_has_a_gradient(
    make_config: Configure, tied: bool
) -> None:
    """As the last chunk of a process that has one column."""
    network = Network(20, make_config(head="adaptive", cutoffs=(4, 8), tied=tied))
    output = torch.randn(3, 12, requires_grad=True)
    total = network.total_nats(output, torch.full((3,), PADDING))
    torch.autograd.backward(total)
    assert total == 0
    assert torch.equal(output.grad, torch.zeros(3, 12))


def test_vectors_of_every_cluster_have_the_spread_of_a_plain_embedding() -> None:
    torch.manual_seed(0)
    embedding = AdaptiveEmbedding(4_000, 256, (1_000, 2_000, 3_000))
    for start in range(0, 4_000, 1_000):
        vectors = embedding(torch.arange(start, start + 1_000))
        assert vectors.std().item() == pytest.approx(EMBEDDING_SPREAD, rel=0.05)


def test_size_and_names_of_a_tied_network(make_config: Configure) -> None:
    """Tables once, two projections for each further cluster and a vector for each; no biases."""
    config = make_config(**TIED)
    with torch.device("meta"):
        network = Network(50, config)
    e, h = config.embedding, config.hidden
    layers = 4 * h * (e + h) + 8 * h + 4 * h * (h + h) + 8 * h
    tables = 5 * e + 15 * e // 2 + 30 * e // 4
    projections = 2 * (e * e // 2 + e * e // 4)
    assert count_parameters(network) == tables + projections + 2 * e + layers + h * e
    names = {name for name in network.state_dict() if not name.startswith("layers.")}
    assert names == {
        *(f"embedding.tables.{i}" for i in range(3)),
        *(f"embedding.projections.{i}.weight" for i in range(2)),
        *(f"head.softmax.tail.{i}.0.weight" for i in range(2)),
        "head.softmax.head.clusters",
        "projection.weight",
    }


def test_autocast_changes_no_vector_and_no_probability() -> None:
    torch.manual_seed(0)
    embedding = AdaptiveEmbedding(50, 8, (5, 20))
    head = AdaptiveHead(8, 50, (5, 20), embedding)
    ids = torch.arange(2, 50)
    exact = embedding(ids)
    nats = head.nats(exact, ids)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(embedding(ids), exact)
        assert torch.equal(head.nats(exact, ids), nats)


def test_a_tied_network_is_saved_and_loaded_and_chunks_change_no_score(
    tmp_path: Path, make_config: Configure, make_vocabulary: Callable[..., Vocabulary]
) -> None:
    torch.manual_seed(5)
    config, vocabulary = make_config(**TIED), make_vocabulary(50)
    network = Network(50, config)
    for parameter in network.parameters():
        parameter.data.mul_(4)
    facts = {"config": config.as_json(), "vocabulary": vocabulary.fingerprint}
    save_model(tmp_path / "m", facts, network.state_dict(), "step\n")
    model = NetworkModel(network, vocabulary)
    ids_BT = np.random.default_rng(2).integers(2, 50, (3, 40))
    whole, _ = model.score(ids_BT, model.start(3))
    loaded = load(tmp_path / "m", vocabulary, threads=1, device="cpu")
    assert np.array_equal(loaded.score(ids_BT, loaded.start(3))[0], whole)
    state, parts = model.start(3), []
    for first in range(0, 40, 7):
        part, state = model.score(ids_BT[:, first : first + 7], state)
        parts.append(part)
    assert np.concatenate(parts, axis=1) == pytest.approx(whole, abs=1e-5)
    with torch.no_grad():
        loaded.network.embedding.tables[2][-1] += 1.0
    before, after = (one.distribution(one.start(1))[0, 2:] for one in (model, loaded))
    assert abs(after[-1] - before[-1]) > 1e-3
    assert np.array_equal(after[:18], before[:18])  # those of the other clusters


@pytest.mark.parametrize("tied", [False, True])
def test_only_a_tied_network_begins_with_a_tied_one(
    tmp_path: Path, make_config: Configure, make_vocabulary: Callable[..., Vocabulary], tied: bool
) -> None:
    config, vocabulary = make_config(**TIED), make_vocabulary(50)
    facts = {"config": config.as_json(), "vocabulary": vocabulary.fingerprint}
    torch.manual_seed(1)
    first = Network(50, config)
    save_model(tmp_path / "m", facts, first.state_dict(), "step\n")
    digest = sha256_of(tmp_path / "m/weights.safetensors")
    given = {"init_from": str(tmp_path / "m"), "init_from_sha256": digest}
    again = make_config(**{**TIED, "tied": tied}, **given)
    network = Network(50, again)
    if not tied:
        with pytest.raises(UserError, match=r"tied is True in .*m, False here"):
            begin_from(network, again, vocabulary)
        return
    begin_from(network, again, vocabulary)
    for name, weight in first.state_dict().items():
        assert torch.equal(network.state_dict()[name], weight), name


@pytest.mark.parametrize(
    "changes",
    [
        {"embedding": 12},
        {"architecture": "gru", "precision": "bfloat16"},
        {"architecture": "rnn"},
        {"architecture": "feed_forward", "window": 2},
        {"architecture": "attention_lstm", "window": 2},
    ],
    ids=lambda changes: "-".join(map(str, changes.values())),
)
def test_a_tied_network_learns_what_follows_what(
    tmp_path: Path, make_config: Configure, make_vocabulary: Callable[..., Vocabulary],
    make_lines: Callable[..., Lines], changes: dict[str, Any],
) -> None:  # fmt: skip
    """Each id decides the next one, so that all of a unigram's entropy can be learnt away."""
    ids = [*range(3, 24), END]
    lines = make_lines([[ids] * 8])
    config = make_config(
        **TIED,
        **{"layers": 1, "steps": 120, "learning_rate": 0.03, "evaluate_every": 60, **changes},
    )
    run = Training(lines, lines, make_vocabulary(24), config, tmp_path)
    while not run.finished:
        run.take_step()
    run.look()
    entropy = math.log(len(ids))
    assert run.history.looks[-1].valid_loss < 0.85 * entropy
