"""Dynamic evaluation: its step by hand, and what must not change."""

import dataclasses

import numpy as np
import pytest
import torch
from torch.nn import functional

from textmill.adapting.dynamic import (
    DynamicNetwork,
    gradient_rms,
    read_dynamically,
)
from textmill.adapting.stream import read_stream
from textmill.neural.chunk import PADDING
from textmill.neural.columns import Columns
from textmill.neural.state import Piece, pieces
from textmill.neural.text import TrainingText
from textmill.scoring.likelihood import token_nats
from textmill.tokenizers.vocabulary import BEGIN

EPSILON = 100.0
RATE = 1.0
"""A step of a hundredth of it where a gradient is as large as usual."""


@pytest.fixture
def rms(model, lines, config):
    text = TrainingText(lines, model.vocabulary, 0)
    return gradient_rms(model.network, text, segment=config.bptt, seed=0)


def score(model, rms, lines, learning_rate, decay=0.0, segment=4):
    segments = read_dynamically(
        model.network,
        rms,
        lines,
        learning_rate=learning_rate,
        decay=decay,
        epsilon=EPSILON,
        segment=segment,
    )
    return np.concatenate([one.nats for one in segments])


def test_a_stream_that_learns_nothing_costs_what_plain_scoring_says(model, lines):
    nats = np.concatenate([one.nats for one in read_stream(model.network, lines, segment=5)])
    assert nats == pytest.approx(token_nats(model, lines), abs=1e-12)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_learning_rate_zero_is_the_static_score_bit_for_bit(model, rms, lines, decay):
    static = np.concatenate([one.nats for one in read_stream(model.network, lines, segment=4)])
    assert np.array_equal(score(model, rms, lines, 0.0, decay), static)
    assert not np.array_equal(score(model, rms, lines, RATE / 2, decay), static)


def test_later_tokens_change_no_earlier_score(model, rms, lines):
    at = 30
    tokens = lines.tokens.copy()
    tokens[at] = 3 if tokens[at] != 3 else 4
    changed = dataclasses.replace(lines, tokens=tokens)
    one, two = (score(model, rms, x, RATE) for x in (lines, changed))
    assert np.array_equal(one[:at], two[:at])
    assert np.all(one[at:] != two[at:])


def test_what_was_learnt_is_carried_to_the_next_document_but_not_to_the_next_split(
    model, rms, lines
):
    second = lines.doc_offsets[1]
    whole = score(model, rms, lines, RATE)
    alone = dataclasses.replace(
        lines, tokens=lines.tokens[second:], offsets=lines.offsets[2:] - second, doc=lines.doc[2:]
    )
    assert np.all(whole[second : second + 4] != score(model, rms, alone, RATE)[:4])
    assert np.array_equal(score(model, rms, lines, RATE), whole)


def test_it_learns_a_text_that_repeats_itself(model, rms, lines_of):
    lines = lines_of([[[5, 8, 3, 11]] * 30])
    static, dynamic = score(model, rms, lines, 0.0), score(model, rms, lines, RATE)
    assert dynamic[-40:].mean() < 0.7 * static[-40:].mean()


@pytest.mark.parametrize("epsilon", [100.0, 0.01])
def test_a_step_is_the_rule_of_the_paper(model, rms, epsilon):
    rate, decay = 1.5 * RATE * epsilon / 100, 0.2
    options = {"learning_rate": rate, "decay": decay, "epsilon": epsilon}
    dynamic = DynamicNetwork(model.network, rms, **options)
    trained = [weight.detach().clone() for weight in model.network.parameters()]
    network, weights = dynamic.network, list(dynamic.network.parameters())

    def loss():
        inputs, state = torch.tensor([[BEGIN], [4]]), network.zero_state(1)
        reading = network(inputs, state, [Piece(slice(None), None)])
        return functional.nll_loss(network.log_probs(reading.output[:, 0]), torch.tensor([4, 7]))

    dynamic.learn(loss())  # the first step has nothing to draw back yet
    before = [weight.detach().clone() for weight in weights]
    gradients = torch.autograd.grad(loss(), weights)
    dynamic.learn(loss())
    mean = torch.cat([one.flatten() for one in rms]).mean()
    for i, weight in enumerate(weights):
        pull = torch.clamp(rms[i] / mean, max=1 / decay)
        step = -rate * gradients[i] / (rms[i] + epsilon * mean)
        wanted = before[i] + step + decay * pull * (trained[i] - before[i])
        assert torch.allclose(weight, wanted, rtol=0, atol=1e-13)
    untouched = list(model.network.parameters())
    assert all(torch.equal(a, b) for a, b in zip(untouched, trained, strict=True))


def test_the_rms_is_that_of_the_training_gradients(model, lines, config):
    """One segment that holds the whole text: its gradient itself, dropout off."""
    text = TrainingText(lines, model.vocabulary, 0)
    found = gradient_rms(model.network, text, segment=1000, seed=0)
    columns = Columns(text, batch=1, bptt=1000, seed=0)
    model.network.eval()
    nats = [one.nats for one in read_stream(model.network, lines)]
    chunk = columns.chunk(0)
    reading = model.network(chunk.inputs, model.network.zero_state(1), list(pieces(chunk.starts)))
    loss = functional.nll_loss(model.network.log_probs(reading.output[:, 0]), chunk.targets[:, 0])
    assert loss.item() == pytest.approx(np.concatenate(nats).mean(), abs=1e-12)
    gradients = torch.autograd.grad(loss, list(model.network.parameters()))
    for rms, gradient in zip(found, gradients, strict=True):
        assert torch.allclose(rms, gradient.abs(), rtol=0, atol=1e-14)


def test_segments_are_read_one_at_a_time_each_behind_another(model, lines):
    """The mean of squares over columns of two segments, the second after the state of the first."""
    text = TrainingText(lines, model.vocabulary, 0)
    segment = 7
    batch = len(text) // (2 * segment)
    columns = Columns(text, batch=batch, bptt=segment, seed=0)
    assert (batch > 2, columns.chunks > 1) == (True, True)
    network = model.network.eval()
    squares = [torch.zeros_like(weight) for weight in network.parameters()]
    for column in range(batch):
        state = network.zero_state(1)
        for chunk in (columns.chunk(0), columns.chunk(1)):
            mine = chunk.columns(slice(column, column + 1))
            state = tuple(part.detach() for part in state)
            reading = network(mine.inputs, state, list(pieces(mine.starts)))
            state = reading.state
        log_probs = network.log_probs(reading.output[:, 0])
        loss = functional.nll_loss(log_probs, mine.targets[:, 0], ignore_index=PADDING)
        gradients = torch.autograd.grad(loss, list(network.parameters()))
        squares = [square + g**2 for square, g in zip(squares, gradients, strict=True)]
    found = gradient_rms(model.network, text, segment=segment, seed=0)
    for rms, square in zip(found, squares, strict=True):
        assert torch.allclose(rms, (square / batch).sqrt(), rtol=1e-10, atol=1e-14)


def test_no_more_logits_are_held_than_a_segment_has(model, lines, monkeypatch):
    """The columns that give each segment its state are read side by side, and no id is predicted."""
    asked = []
    nats = model.network.nats
    monkeypatch.setattr(
        model.network, "nats", lambda output, ids: asked.append(len(ids)) or nats(output, ids)
    )
    gradient_rms(model.network, TrainingText(lines, model.vocabulary, 0), segment=7, seed=0)
    assert len(asked) > 2
    assert max(asked) == 7


@pytest.mark.parametrize(
    "options",
    [
        {"architecture": "gru"},
        {"head": "adaptive", "cutoffs": (5, 9)},
        {"head": "adaptive", "cutoffs": (5, 9), "tied": True},
        {"architecture": "attention_lstm"},
    ],
    ids=str,
)
def test_other_architectures_and_heads_learn_too(make_model, lines, lines_of, options):
    model, config = make_model(**options)
    text = TrainingText(lines, model.vocabulary, 0)
    rms = gradient_rms(model.network, text, segment=config.bptt, seed=0)
    static = token_nats(model, lines)
    assert score(model, rms, lines, 0.0) == pytest.approx(static, abs=1e-12)
    repeating = lines_of([[[5, 8, 3, 11]] * 30])
    before, after = (score(model, rms, repeating, rate)[-40:].mean() for rate in (0.0, 2 * RATE))
    assert after < 0.8 * before
