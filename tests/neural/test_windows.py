"""Random windows: pieces of the text, each at most once an epoch, a function of step and seed."""

from collections.abc import Callable

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.neural.text import TrainingText
from textmill.neural.windows import Windows
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import BEGIN, END, Vocabulary

Speak = Callable[..., Vocabulary]
Write = Callable[..., Lines]

LONG = [[[*range(3, 43), END]], [[*range(43, 63), END]]]


@pytest.fixture
def windows(make_vocabulary: Speak, make_lines: Write) -> Callable[[], Windows]:
    text = TrainingText(make_lines(LONG), make_vocabulary(70), 0)
    return lambda: Windows(text, batch=2, bptt=5, seed=1)


def test_windows_are_runs_of_the_text_without_overlap(windows: Callable[[], Windows]) -> None:
    made = windows()
    flat = np.array([token for document in LONG for line in document for token in line])
    before = np.roll(flat, 1)
    before[[0, 41]] = BEGIN
    seen: list[int] = []
    for step in range(made.chunks):
        chunk = made.chunk(step)
        for b in range(2):
            # All tokens but </s> differ, so a target says where the window stands.
            targets = chunk.targets[:, b].numpy()
            at = int(np.flatnonzero(flat == targets[targets != END][0])[0])
            first = at - int(np.flatnonzero(targets != END)[0])
            assert targets.tolist() == flat[first : first + 5].tolist()
            assert chunk.inputs[:, b].tolist() == before[first : first + 5].tolist()
            starts = np.isin(np.arange(first, first + 5), [0, 41])
            starts[0] = True
            assert chunk.starts[:, b].tolist() == starts.tolist()
            seen += range(first, first + 5)
    assert len(seen) == len(set(seen)) == made.chunks * 10
    assert made.tokens_until(made.chunks) == len(seen)


def test_any_step_can_be_asked_for_in_any_order(windows: Callable[[], Windows]) -> None:
    in_order = windows()
    chunks = [in_order.chunk(step) for step in range(18)]
    made = windows()
    for step in (17, 3, 4, 0, 9, 8):
        assert made.chunk(step).targets.equal(chunks[step].targets)
        assert made.chunk(step).inputs.equal(chunks[step].inputs)
    epochs = [chunks[i * in_order.chunks].targets for i in range(2)]
    assert not epochs[0].equal(epochs[1])


def test_a_text_shorter_than_a_batch_is_refused(make_vocabulary: Speak, make_lines: Write) -> None:
    text = TrainingText(make_lines([[[3, 4, END]]]), make_vocabulary(10), 0)
    with pytest.raises(UserError, match="one batch of 2 rows of 5 steps takes 11"):
        Windows(text, batch=2, bptt=5, seed=0)
