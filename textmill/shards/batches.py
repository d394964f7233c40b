"""Batches of token windows, in the two ways of Dive into Deep Learning, and one for evaluation.

Random sampling cuts a running text, from a random offset on, into windows without overlap and
shuffles them. Sequential partition cuts it, from a random offset on, into B rows and walks down
all of them at once, so that row b of a batch goes on where row b of the batch before ended and a
network's state can be carried. Both leave a few tokens at the ends out, others every epoch; an
evaluation leaves none out (`evaluation_batches`).

An epoch's offset and order depend on the seed and the epoch's number alone, so a position is two
numbers: what was saved and restored goes on with the same bits.

Suffixes: B rows of a batch, T steps (tokens of a row). Source: d2l.ai, "Working with Sequences"
and "Language Models" (`seq_data_iter_random`, `seq_data_iter_sequential`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from textmill.base.errors import UserError
from textmill.tokenizers.vocabulary import BEGIN, END


@dataclass(frozen=True, slots=True)
class BatchConfig:
    """How a running text is cut: `batch` rows of `steps` tokens, by `order`, from `seed`."""

    order: Literal["random", "sequential"]
    batch: int
    steps: int
    seed: int = 0

    def __post_init__(self) -> None:
        if self.order not in ("random", "sequential"):
            raise ValueError("order must be random or sequential")
        if self.batch < 1 or self.steps < 1:
            raise ValueError("batch and steps must be 1 or more")
        if self.seed < 0:
            raise ValueError("seed must be 0 or more")


@dataclass(frozen=True, slots=True)
class Batch:
    """inputs, targets: (B, T) in the dtype of the text; a target is the token after its input.

    continues: whether each row goes on where the same row of the batch before ended.
    """

    inputs_BT: np.ndarray
    targets_BT: np.ndarray
    continues: bool


@dataclass(frozen=True, slots=True)
class EvaluationBatch:
    """As `Batch`; counted_BT: bool, false where a row is padded behind its last token."""

    inputs_BT: np.ndarray
    targets_BT: np.ndarray
    counted_BT: np.ndarray


class Batches:
    """Batches of a running text without end; `for batch in batches` gives the rest of an epoch.

    tokens: the text's ids, or those of each of its shards in order (see `read_shards`), which
    are read in place. UserError where the text is shorter than one batch.
    """

    def __init__(self, tokens: np.ndarray | Sequence[np.ndarray], config: BatchConfig) -> None:
        self._text = _RunningText(tokens)
        self._config = config
        self._epoch = self._batch = 0
        _check_size(len(self._text), config)

    def __iter__(self) -> Iterator[Batch]:
        """The batches that are left of this epoch; then the next epoch begins."""
        starts_NB = self._starts(self._epoch)
        while self._batch < len(starts_NB):
            number = self._batch
            self._batch += 1
            continues = self._config.order == "sequential" and number > 0
            yield self._at(starts_NB[number], continues=continues)
        self._epoch, self._batch = self._epoch + 1, 0

    def count(self, epoch: int) -> int:
        """How many batches an epoch has; its offset decides."""
        return len(self._starts(epoch))

    def state(self) -> dict[str, int | str]:
        """The position, as plain data: the batch that comes next, and what it is a place in."""
        return {**self._place(), "epoch": self._epoch, "next": self._batch}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go to a saved position. UserError where it is one in another text or configuration."""
        for name, here in self._place().items():
            if state.get(name) != here:
                raise UserError(
                    f"the saved position is in other batches: {name} is {state.get(name)!r} "
                    f"there, {here!r} here"
                )
        epoch, number = state.get("epoch"), state.get("next")
        if not (_is_count(epoch) and _is_count(number)):
            raise UserError(f"no position of batches: epoch {epoch!r}, next {number!r}")
        self._epoch, self._batch = int(epoch), int(number)  # type: ignore[arg-type]

    def _place(self) -> dict[str, int | str]:
        return {**asdict(self._config), "tokens": len(self._text)}

    def _starts(self, epoch: int) -> np.ndarray:
        """(batches, B): where the windows of an epoch begin."""
        rng = np.random.default_rng([self._config.seed, epoch])
        if self._config.order == "random":
            return _random_starts(len(self._text), self._config, rng)
        return _sequential_starts(len(self._text), self._config, rng)

    def _at(self, starts_B: np.ndarray, *, continues: bool) -> Batch:
        windows = self._text.windows(starts_B, self._config.steps + 1)
        return Batch(windows[:, :-1], windows[:, 1:], continues)


def evaluation_batches(
    tokens: np.ndarray | Sequence[np.ndarray], *, batch: int, steps: int
) -> Iterator[EvaluationBatch]:
    """Every token of the text as a target exactly once, in `batch` rows of one length.

    Row b goes on where row b - 1 ends, and each batch goes on where the one before ended. The
    input of the text's first token is `<s>`, of every other the token before it. The last batch
    may have fewer than `steps` columns. UserError for a text without tokens.
    """
    text = _RunningText(tokens)
    if not len(text):
        raise UserError("a split without tokens cannot be evaluated", next_step="dvc repro")
    rows = -(-len(text) // batch)
    for first in range(0, rows, steps):
        at_BT = np.arange(batch)[:, None] * rows + np.arange(first, min(first + steps, rows))
        in_row = at_BT < len(text)
        inputs_BT = text.take(np.maximum(at_BT - 1, 0), in_row)
        inputs_BT[at_BT == 0] = BEGIN
        yield EvaluationBatch(inputs_BT, text.take(at_BT, in_row), in_row)


class _RunningText:
    """Arrays one after the other, read as one without joining them."""

    def __init__(self, parts: np.ndarray | Sequence[np.ndarray]) -> None:
        given = [parts] if isinstance(parts, np.ndarray) else list(parts)
        self._parts = [part for part in given if len(part)] or [np.zeros(0, np.uint16)]
        self._begins = np.cumsum([0, *map(len, self._parts)])

    def __len__(self) -> int:
        return int(self._begins[-1])

    def windows(self, starts_B: np.ndarray, length: int) -> np.ndarray:
        """(B, length): the tokens from each start on."""
        at_BT = starts_B[:, None] + np.arange(length)
        return self.take(at_BT, np.ones(at_BT.shape, dtype=bool))

    def take(self, at_BT: np.ndarray, wanted_BT: np.ndarray) -> np.ndarray:
        """The tokens at these places; END where they are not wanted."""
        taken_BT = np.full(at_BT.shape, END, dtype=self._parts[0].dtype)
        part_BT = np.searchsorted(self._begins, at_BT, side="right") - 1
        for number in np.unique(part_BT[wanted_BT]):
            here_BT = wanted_BT & (part_BT == number)
            taken_BT[here_BT] = self._parts[number][at_BT[here_BT] - self._begins[number]]
        return taken_BT


def _random_starts(n_tokens: int, config: BatchConfig, rng: np.random.Generator) -> np.ndarray:
    """Whole windows from a random offset below `steps` on, shuffled; those left over fall away."""
    offset = int(rng.integers(min(config.steps, _spare(n_tokens, config) + 1)))
    windows = (n_tokens - offset - 1) // config.steps
    starts = offset + config.steps * rng.permutation(windows)
    batches = windows // config.batch
    return starts[: batches * config.batch].reshape(batches, config.batch)


def _sequential_starts(n_tokens: int, config: BatchConfig, rng: np.random.Generator) -> np.ndarray:
    """B rows of one length from a random offset up to `steps` on, walked down side by side."""
    offset = int(rng.integers(min(config.steps, _spare(n_tokens, config)) + 1))
    row = (n_tokens - offset - 1) // config.batch
    starts = np.arange(row // config.steps)[:, None] * config.steps
    return offset + starts + np.arange(config.batch) * row


def _spare(n_tokens: int, config: BatchConfig) -> int:
    """How large an offset may be and still leave one batch: a text of one batch has none."""
    return n_tokens - 1 - config.batch * config.steps


def _check_size(n_tokens: int, config: BatchConfig) -> None:
    needed = config.batch * config.steps + 1
    if n_tokens < needed:
        raise UserError(
            f"the split holds {n_tokens:,} tokens, and one batch of {config.batch:,} rows of "
            f"{config.steps:,} steps takes {needed:,}",
            next_step="use a smaller batch, fewer steps or a longer text",
        )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
