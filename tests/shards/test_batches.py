"""Batches against a plain rendering of D2L's two ways, list by list, and exact positions."""

import json
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.shards.batches import BatchConfig, Batches, evaluation_batches
from textmill.tokenizers.vocabulary import BEGIN, END


def d2l_random(corpus, batch, steps, offset, shuffled):
    """`seq_data_iter_random`, its two draws given: the offset and the order of the windows."""
    corpus = corpus[offset:]
    subsequences = (len(corpus) - 1) // steps
    starts = [i * steps for i in shuffled(subsequences)]
    for i in range(0, batch * (subsequences // batch), batch):
        chosen = starts[i : i + batch]
        yield (
            [corpus[j : j + steps] for j in chosen],
            [corpus[j + 1 : j + 1 + steps] for j in chosen],
        )


def d2l_sequential(corpus, batch, steps, offset):
    """`seq_data_iter_sequential`, its draw given."""
    tokens = ((len(corpus) - offset - 1) // batch) * batch
    row = tokens // batch
    xs = corpus[offset : offset + tokens]
    ys = corpus[offset + 1 : offset + 1 + tokens]
    for i in range(0, steps * (row // steps), steps):
        rows = [slice(b * row + i, b * row + i + steps) for b in range(batch)]
        yield [xs[r] for r in rows], [ys[r] for r in rows]


def as_lists(batches):
    return [(b.inputs_BT.tolist(), b.targets_BT.tolist()) for b in batches]


sizes = st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(0, 40), st.integers(0, 9))


@settings(deadline=None)
@given(sizes)
def test_random_sampling_is_d2ls(given_sizes):
    batch, steps, extra, seed = given_sizes
    corpus = list(range(100, 100 + batch * steps + 1 + extra))
    batches = Batches(np.array(corpus), BatchConfig("random", batch, steps, seed))
    found = as_lists(batches)
    # The tokens are all different, so the first of each row tells where it was cut.
    starts = [row[0] - 100 for inputs, _ in found for row in inputs]
    offset = starts[0] % steps
    windows = (len(corpus) - offset - 1) // steps
    drawn = [(start - offset) // steps for start in starts]
    left = [i for i in range(windows) if i not in drawn]
    assert len(left) == windows % batch
    assert found == list(d2l_random(corpus, batch, steps, offset, lambda _: drawn + left))


@settings(deadline=None)
@given(sizes)
def test_sequential_partition_is_d2ls(given_sizes):
    batch, steps, extra, seed = given_sizes
    corpus = list(range(100, 100 + batch * steps + 1 + extra))
    batches = list(Batches(np.array(corpus), BatchConfig("sequential", batch, steps, seed)))
    offset = int(batches[0].inputs_BT[0, 0]) - 100
    assert 0 <= offset <= steps
    assert as_lists(batches) == list(d2l_sequential(corpus, batch, steps, offset))
    assert [b.continues for b in batches] == [False] + [True] * (len(batches) - 1)


@pytest.mark.parametrize(("order", "offsets"), [("random", 7), ("sequential", 8)])
def test_every_offset_of_d2l_is_drawn_and_windows_are_shuffled(order, offsets):
    batches = Batches(np.arange(1000), BatchConfig(order, 2, 7))
    epochs = [[b.inputs_BT for b in batches] for _ in range(200)]
    assert {int(min(x.min() for x in epoch)) for epoch in epochs} >= set(range(offsets - 1))
    firsts = [epoch[0][0, 0] for epoch in epochs]
    drawn = {int(first) % 7 for first in firsts} if order == "random" else set(map(int, firsts))
    assert drawn == set(range(offsets))
    if order == "random":
        assert len({int(first) for first in firsts}) > 100


@pytest.mark.parametrize("order", ["random", "sequential"])
@pytest.mark.parametrize("stop", [0, 1, 5, 11, 12, 13, 30])
def test_a_restored_position_goes_on_with_the_same_bits(order, stop):
    tokens = np.random.default_rng(0).integers(3, 60000, 400).astype(np.uint16)
    config = BatchConfig(order, 3, 10, seed=4)

    def endless(batches):
        while True:
            yield from batches

    whole = list(islice(endless(Batches(tokens, config)), 45))
    assert any(not b.continues for b in whole[1:])
    first = Batches(tokens, config)
    list(islice(endless(first), stop))
    saved = json.loads(json.dumps(first.state()))
    second = Batches(tokens, config)
    second.restore(saved)
    rest = list(islice(endless(second), 45 - stop))
    for expected, found in zip(whole[stop:], rest, strict=True):
        assert found.inputs_BT.tobytes() == expected.inputs_BT.tobytes()
        assert found.targets_BT.tobytes() == expected.targets_BT.tobytes()
        assert found.continues == expected.continues


def test_a_position_in_other_batches_is_refused():
    state = Batches(np.arange(100), BatchConfig("random", 2, 5)).state()
    other = Batches(np.arange(101), BatchConfig("random", 2, 5))
    with pytest.raises(UserError, match="tokens is 100 there, 101 here"):
        other.restore(state)
    same = Batches(np.arange(100), BatchConfig("random", 2, 5))
    with pytest.raises(UserError, match="next -1"):
        same.restore({**state, "next": -1})


@pytest.mark.parametrize("order", ["random", "sequential"])
def test_shards_are_read_as_one_text(order):
    tokens = np.arange(3, 203, dtype=np.uint16)
    config = BatchConfig(order, 3, 7, seed=1)
    parts = np.split(tokens, [1, 1, 50, 120])
    assert as_lists(Batches(parts, config)) == as_lists(Batches(tokens, config))
    assert next(iter(Batches(parts, config))).inputs_BT.dtype == np.uint16


def test_a_split_of_less_than_a_batch_is_refused_with_the_numbers():
    one = Batches(np.arange(13), BatchConfig("random", 3, 4))
    assert sorted(x for b in one for row in b.inputs_BT.tolist() for x in row) == list(range(12))
    for order in ("random", "sequential"):
        with pytest.raises(UserError, match=r"12 tokens.* 3 rows of 4 steps takes 13"):
            Batches(np.arange(12), BatchConfig(order, 3, 4))


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 7), st.integers(1, 9))
def test_evaluation_loses_no_token(n_tokens, batch, steps):
    tokens = np.arange(10, 10 + n_tokens)
    batches = list(evaluation_batches(tokens, batch=batch, steps=steps))
    pairs = [
        pair
        for b in batches
        for pair in zip(b.inputs_BT[b.counted_BT], b.targets_BT[b.counted_BT], strict=True)
    ]
    assert sorted(pairs, key=lambda pair: pair[1]) == [
        (BEGIN if i == 0 else 9 + i, 10 + i) for i in range(n_tokens)
    ]
    rows = np.concatenate([b.targets_BT for b in batches], axis=1)
    assert rows.ravel().tolist() == [*tokens.tolist(), *[END] * (rows.size - n_tokens)]
    assert all(b.inputs_BT.shape == (batch, steps) for b in batches[:-1])


def test_an_empty_split_has_no_evaluation():
    with pytest.raises(UserError, match="without tokens"):
        next(evaluation_batches(np.zeros(0, np.uint16), batch=2, steps=3))


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"steps": 0}, {"seed": -1}, {"order": "both"}])
def test_a_configuration_without_sense_is_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        BatchConfig(**{"order": "random", "batch": 1, "steps": 1, **wrong})
