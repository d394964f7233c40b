"""Layout of the training text for truncated BPTT: B contiguous columns, walked down in chunks.

Every token of the split is a target exactly once an epoch, line ends included, and the last
column is padded with targets that the loss ignores; the usual layouts lose a tail and the first
token of every column. A token's input is the token before it in its document, `<s>` at the
document's start, where the state also begins at zero: training then sees exactly what scoring
will ask.

Column b goes on where column b-1 ends, so at the end of an epoch the state of each column moves
one to the right and no column ever begins an epoch in the middle of a document from nothing
(but in the first).

Suffixes: N tokens of the split, B columns, L rows (tokens a column), T rows of a chunk.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from textmill.base.errors import UserError
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN, Vocabulary

PADDING = -100
"""Target of a padded position; the loss leaves it out."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """inputs, targets: int64 (T, B). starts: bool (T, B), true where a document begins."""

    inputs: Tensor
    targets: Tensor
    starts: Tensor
    n_targets: int


class Columns:
    """The training split as columns; `chunk(step)` is a function of the step and the seed."""

    def __init__(
        self, lines: Lines, vocabulary: Vocabulary, *, batch: int, bptt: int, seed: int
    ) -> None:
        if not len(lines.tokens):
            raise UserError("the training split holds no tokens", next_step="dvc repro")
        self._tokens = np.asarray(lines.tokens)
        self._starts = np.zeros(len(self._tokens), dtype=bool)
        self._starts[lines.doc_offsets[:-1]] = True
        self._batch = batch
        self._bptt = bptt
        self._seed = seed
        self.rows = -(-len(self._tokens) // batch)
        self.chunks = -(-self.rows // bptt)
        self._rare = (
            np.flatnonzero(vocabulary.counts[self._tokens] == 1)
            if vocabulary.unknown == "singletons"
            else np.empty(0, dtype=np.int64)
        )
        self._starts_LB = self._in_columns(self._starts, False)
        self._epoch = -1

    def chunk(self, step: int) -> Chunk:
        """The chunk of a step, counted from 0 over all epochs."""
        epoch, number = divmod(step, self.chunks)
        if epoch != self._epoch:
            self._lay_out(epoch)
        rows = slice(number * self._bptt, (number + 1) * self._bptt)
        targets = torch.from_numpy(self._targets_LB[rows].astype(np.int64))
        return Chunk(
            torch.from_numpy(self._inputs_LB[rows].astype(np.int64)),
            targets,
            torch.from_numpy(self._starts_LB[rows]),
            int((targets != PADDING).sum()),
        )

    def begins_epoch(self, step: int) -> bool:
        """True where the state has to move one column to the right before the step."""
        return step > 0 and step % self.chunks == 0

    def tokens_until(self, step: int) -> int:
        """Targets seen in the steps before `step`."""
        epochs, number = divmod(step, self.chunks)
        row = number * self._bptt
        full, rest = divmod(len(self._tokens), self.rows)
        in_epoch = full * min(row, self.rows) + min(row, rest)
        return epochs * len(self._tokens) + in_epoch

    def _lay_out(self, epoch: int) -> None:
        tokens = self._with_unknown(epoch)
        inputs = np.roll(tokens, 1)
        inputs[self._starts] = BEGIN
        self._inputs_LB = self._in_columns(inputs, END)
        self._targets_LB = self._in_columns(tokens, PADDING)
        self._epoch = epoch

    def _with_unknown(self, epoch: int) -> np.ndarray:
        """Tokens of count one become `<unk>` with probability one half, anew each epoch."""
        tokens = self._tokens.astype(np.int32)
        flips = np.random.default_rng([self._seed, epoch]).random(len(self._rare)) < 0.5
        tokens[self._rare[flips]] = UNKNOWN
        return tokens

    def _in_columns(self, values: np.ndarray, padding: int | bool) -> np.ndarray:
        padded = np.full(self.rows * self._batch, padding, dtype=values.dtype)
        padded[: len(values)] = values
        return np.ascontiguousarray(padded.reshape(self._batch, self.rows).T)
