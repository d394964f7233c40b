"""A whole examination of a tiny network, and where models lose, by hand."""

import math

import numpy as np
import pytest
import torch

from textmill.base.errors import UserError
from textmill.diagnosis.examine import examine_recurrence
from textmill.diagnosis.excerpts import excerpts
from textmill.diagnosis.exposure import PROMPT, exposure
from textmill.diagnosis.losses import by_frequency, by_position, token_counts
from textmill.diagnosis.records import Bin
from textmill.diagnosis.unrolled import hidden_gradients, median_norms, unroll
from textmill.neural.inside import recurrent_layers
from textmill.shards.reader import Lines


def lines_of(lengths):
    """A document a length, one line each; token i of the split has the id 2 + i % 10."""
    tokens, n = np.arange(sum(lengths)) % 10 + 2, len(lengths)
    zeros = np.zeros(n, np.int64)
    return Lines(
        tokens=tokens.astype(np.uint16), offsets=np.concatenate([[0], np.cumsum(lengths)]),
        doc=np.arange(n, dtype=np.int32), n_bytes=zeros, n_characters=zeros, n_words=zeros,
        n_unknown=zeros, nats_spelling=np.zeros(n),
    )  # fmt: skip


def test_excerpts_lie_whole_in_documents_from_all_over_the_text():
    lines = lines_of([12, 30, 9])
    found = excerpts(lines, 4, 10)
    assert found.shape == (10, 4)
    for column, start in zip(found.T, [0, 12, 22, 32], strict=True):
        assert column.tolist() == lines.tokens[start : start + 10].tolist()
    assert excerpts(lines, 9, 10).shape == (10, 4)  # no two of them overlap
    assert excerpts(lines, 2, 10).T.tolist() == found.T[[0, 3]].tolist()
    assert excerpts(lines, 4, 1000).shape == (30, 1)
    with pytest.raises(UserError, match="no document of the validation text holds 40 tokens"):
        excerpts(lines, 4, 1000, shortest=40)


def test_every_matrix_of_every_layer_is_held_against_the_gradients(network):
    norms, matrices, gates = examine_recurrence(network, lines_of([40, 60]))
    assert {name: len(values) for name, values in norms.items()} == {"h": 52, "c": 52}
    names = [(one.layer, one.gate) for one in matrices]
    assert names == [(n, g) for n in (1, 2) for g in ("input", "forget", "candidate", "output")]
    assert len(gates) == 2
    for layer, weights in enumerate(recurrent_layers(network)):
        for place in range(4):
            block = weights.weight_hh_l0.detach()[6 * place : 6 * place + 6]
            one = matrices[4 * layer + place]
            assert one.radius == pytest.approx(torch.linalg.eigvals(block).abs().max().item())
            assert 0 < one.alignment <= 1 + 1e-12
            assert len(one.direction) == (2 if one.turns else 1)


def test_an_explosion_beyond_float32_is_a_number_in_float64(make_network):
    """A ReLU RNN whose state grows sixfold a step: over 52 steps by a factor of 10^40."""
    network = make_network(architecture="rnn", nonlinearity="relu", layers=1)
    with torch.no_grad():
        recurrent_layers(network)[0].weight_hh_l0.copy_(6 * torch.eye(6))
    lines = lines_of([60])
    norms, _, _ = examine_recurrence(network, lines)
    assert all(math.isfinite(norm) for norm in norms["h"])
    assert norms["h"][-1] > 1e35 * norms["h"][0] > 0
    single = unroll(network.float(), excerpts(lines, 1, 60))
    assert not math.isfinite(median_norms(hidden_gradients(network, single)["h"])[-1])


class Dice:
    """Draws every token from one distribution, whatever came before."""

    p = np.array([0.0, 0.0, 0.5, 0.25, 0.125, 0.125])

    def start(self, n):
        return n

    def distribution(self, state):
        with np.errstate(divide="ignore"):
            return np.tile(np.log(self.p), (state, 1))

    def score(self, ids_BT, state):
        return -np.log(self.p[ids_BT]), len(ids_BT)


def test_exposure_of_dice_is_their_entropy_and_the_real_text_costs_what_it_costs():
    ids = np.full((PROMPT + 200, 40), 4)
    ids[:PROMPT] = 2
    found = exposure(Dice(), ids, seed=5)
    entropy = 1.75 * math.log(2)
    own, forced = found.means
    assert forced == pytest.approx(math.log(8))
    assert (len(found.own), len(found.forced)) == (200, 200)
    spread = math.sqrt(float(Dice.p[2:] @ (np.log(Dice.p[2:]) + entropy) ** 2) / 8000)
    assert abs(own - entropy) < 4 * spread
    assert found.error == pytest.approx(spread, rel=0.5)
    assert exposure(Dice(), ids, seed=5) == found
    assert exposure(Dice(), ids, seed=6) != found


def test_losses_by_place_and_by_frequency():
    nats = np.array([1.0, 2.0, 4.0, 6.0, 3.0, np.inf])
    # Two documents, of four tokens and of two.
    assert by_position(nats, np.array([0, 4, 6])) == (
        Bin(1, 1, 2, 2.0), Bin(2, 3, 2, 3.0), Bin(4, 7, 1, 6.0),
    )  # fmt: skip
    counts = token_counts(np.array([1, 1, 1, 2] + [3] * 10 + [4] * 25), 6)
    assert counts.tolist() == [0, 3, 1, 10, 25, 0]
    assert by_frequency(nats, np.array([0, 1, 2, 3, 4, 5]), counts) == (
        Bin(0, 0, 1, 1.0), Bin(1, 9, 2, 3.0), Bin(10, 99, 2, 4.5),
    )  # fmt: skip
