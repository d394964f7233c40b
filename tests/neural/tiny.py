"""Seven lines over twenty ids, for trainings in processes of their own."""

import numpy as np
import pyarrow as pa

from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary


def tiny_lines() -> Lines:
    """93 tokens of four documents. In 4 columns of 24 the last is padded; 5 chunks of 5 an epoch."""
    lengths = np.array([9, 14, 3, 20, 11, 30, 6])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.random.default_rng(0).integers(3, 20, lengths.sum()).astype(np.uint16)
    tokens[offsets[1:] - 1] = 2
    zeros = np.zeros(len(lengths), dtype=np.int64)
    documents = np.array([0, 0, 1, 1, 2, 3, 3])
    return Lines(tokens, offsets, documents, lengths, lengths, zeros, zeros, zeros.astype(float))


def tiny_vocabulary(counts: np.ndarray, unknown: str) -> Vocabulary:
    """Its twenty ids."""
    return Vocabulary(pa.array([f"t{i}" for i in range(17)]), counts, scheme="t", unknown=unknown)
