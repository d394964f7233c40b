"""The layout of the training text: nothing lost, nothing twice, documents kept apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.neural.chunk import PADDING
from textmill.neural.columns import Columns
from textmill.neural.text import TrainingText
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN, Vocabulary

Speak = Callable[..., Vocabulary]
Write = Callable[..., Lines]

DOCUMENTS = [[[3, 4, END], [5, END]], [[6, 7, 8, 9, END]], [[3, END]]]
FLAT = [3, 4, END, 5, END, 6, 7, 8, 9, END, 3, END]
INPUTS = [BEGIN, 3, 4, END, 5, BEGIN, 6, 7, 8, 9, BEGIN, 3]


def _columns(
    lines: Lines, vocabulary: Vocabulary, *, batch: int, bptt: int, **options: Any
) -> Columns:
    text = TrainingText(lines, vocabulary, 0)
    return Columns(text, batch=batch, bptt=bptt, seed=0, **options)


def _unrolled(columns: Columns, steps: range) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, targets and starts of an epoch in the order of the text, without padding."""
    chunks = [columns.chunk(step) for step in steps]
    parts = [
        np.concatenate([getattr(chunk, name).numpy() for chunk in chunks]).T.ravel()
        for name in ("inputs", "targets", "starts")
    ]
    real = parts[1] != PADDING
    return parts[0][real], parts[1][real], parts[2][real]


@pytest.mark.parametrize(("batch", "bptt"), [(1, 4), (2, 4), (5, 2), (7, 1), (12, 3), (40, 9)])
def test_every_token_is_a_target_once_after_the_token_before_it(
    make_vocabulary: Speak, make_lines: Write, batch: int, bptt: int
) -> None:
    lines = make_lines(DOCUMENTS)
    columns = _columns(lines, make_vocabulary(10), batch=batch, bptt=bptt)
    for epoch in range(2):
        steps = range(epoch * columns.chunks, (epoch + 1) * columns.chunks)
        inputs, targets, starts = _unrolled(columns, steps)
        assert targets.tolist() == FLAT
        assert inputs.tolist() == INPUTS
        assert np.flatnonzero(starts).tolist() == [0, 5, 10]
        assert sum(columns.chunk(step).n_targets for step in steps) == len(FLAT)


@pytest.mark.parametrize(
    "options", [{"truncation": "variable"}, {"truncation": "random", "continuation": 0.5}]
)
def test_chunks_of_any_length_hold_every_token_once(
    make_vocabulary: Speak, make_lines: Write, options: dict[str, Any]
) -> None:
    lines = make_lines(DOCUMENTS * 4)
    columns = _columns(lines, make_vocabulary(10), batch=2, bptt=3, **options)
    lengths, step = [], 0
    for epoch in range(3):
        first = step
        while step == first or not columns.begins_epoch(step):
            lengths.append(len(columns.chunk(step).inputs))
            step += 1
        inputs, targets, _ = _unrolled(columns, range(first, step))
        assert targets.tolist() == FLAT * 4
        assert inputs.tolist() == INPUTS * 4
        assert columns.tokens_until(step) == (epoch + 1) * len(FLAT) * 4
    assert len(set(lengths)) > 2
    again = _columns(lines, make_vocabulary(10), batch=2, bptt=3, **options)
    assert again.chunk(step - 1).targets.equal(columns.chunk(step - 1).targets)


@pytest.mark.parametrize("truncation", ["fixed", "variable", "random"])
def test_tokens_until_counts_the_targets_of_the_steps_before(
    make_vocabulary: Speak, make_lines: Write, truncation: str
) -> None:
    columns = _columns(
        make_lines(DOCUMENTS), make_vocabulary(10), batch=5, bptt=2,
        truncation=truncation, continuation=0.5,
    )  # fmt: skip
    seen = 0
    for step in range(3 * columns.chunks + 1):
        assert columns.tokens_until(step) == seen
        seen += columns.chunk(step).n_targets


def test_a_column_goes_on_where_the_one_before_it_ends(
    make_vocabulary: Speak, make_lines: Write
) -> None:
    columns = _columns(make_lines(DOCUMENTS), make_vocabulary(10), batch=3, bptt=4)
    first, again = columns.chunk(0), columns.chunk(columns.chunks)
    assert [columns.begins_epoch(step) for step in range(3)] == [False, True, True]
    last_targets = columns.chunk(columns.chunks - 1).targets[-1]
    assert again.inputs[0, 1:].tolist() == last_targets[:-1].tolist()
    assert again.inputs.tolist() == first.inputs.tolist()


def test_about_half_of_the_singletons_become_unknown_anew_each_epoch(
    make_vocabulary: Speak, make_lines: Write
) -> None:
    rare = list(range(4, 1004))
    lines = make_lines([[[3, token, 3, END] for token in rare]])
    counts = [0, 0, 1000, 2000] + [1] * 1000
    vocabulary = make_vocabulary(1004, counts, "singletons")
    columns = _columns(lines, vocabulary, batch=1, bptt=10_000)
    first, second = columns.chunk(0), columns.chunk(1)
    unknown = first.targets[:, 0] == UNKNOWN
    assert 430 < int(unknown.sum()) < 570
    assert set(first.targets[unknown.roll(-1), 0].tolist()) == {3}
    assert (first.inputs[1:, 0] == UNKNOWN).tolist() == unknown[:-1].tolist()
    both = unknown & (second.targets[:, 0] == UNKNOWN)
    assert 170 < int(both.sum()) < 330
    other = _columns(lines, vocabulary, batch=1, bptt=10_000)
    assert other.chunk(1).targets.equal(second.targets)


@pytest.mark.parametrize("unknown", ["learnt", "none"])
def test_other_vocabularies_keep_their_singletons(
    make_vocabulary: Speak, make_lines: Write, unknown: str
) -> None:
    vocabulary = make_vocabulary(10, [1] * 10, unknown)
    columns = _columns(make_lines(DOCUMENTS), vocabulary, batch=1, bptt=50)
    assert columns.chunk(0).targets[:, 0].tolist() == FLAT


def test_an_empty_split_is_refused(make_vocabulary: Speak, make_lines: Write) -> None:
    with pytest.raises(UserError, match="no tokens"):
        _columns(make_lines([]), make_vocabulary(10), batch=2, bptt=3)
