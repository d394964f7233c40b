"""The training split as inputs and targets: what a network sees before what it shall predict.

A token's input is the token before it in its document, `<s>` at the document's start: training then
sees exactly what scoring will ask. Where the vocabulary says so, tokens of count one become
`<unk>` with probability one half, anew each epoch, so that the network learns what `<unk>` costs.

Suffixes: N tokens of the split.
"""

import numpy as np

from textmill.base.errors import UserError
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import BEGIN, UNKNOWN, Vocabulary


class TrainingText:
    """starts: bool (N,), true where a document begins. UserError for a split without tokens."""

    def __init__(self, lines: Lines, vocabulary: Vocabulary, seed: int) -> None:
        if not len(lines.tokens):
            raise UserError("the training split holds no tokens", next_step="dvc repro")
        self._tokens = np.asarray(lines.tokens)
        self._seed = seed
        self.starts = np.zeros(len(self._tokens), dtype=bool)
        self.starts[lines.doc_offsets[:-1]] = True
        self._rare = (
            np.flatnonzero(vocabulary.counts[self._tokens] == 1)
            if vocabulary.unknown == "singletons"
            else np.empty(0, dtype=np.int64)
        )

    def __len__(self) -> int:
        return len(self._tokens)

    def epoch(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and targets of an epoch, int32 (N,): a function of its number and the seed."""
        targets = self._tokens.astype(np.int32)
        flips = np.random.default_rng([self._seed, number]).random(len(self._rare)) < 0.5
        targets[self._rare[flips]] = UNKNOWN
        inputs = np.roll(targets, 1)
        inputs[self.starts] = BEGIN
        return inputs, targets
