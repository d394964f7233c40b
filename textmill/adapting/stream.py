"""A split read as one stream, token after token in the order of the text, by a network.

What adapts depends on the order of the text, so nothing is read side by side. The hidden state
starts afresh at each document, as in training and in plain scoring, so that a model which learns
nothing from the text costs what it costs without adapting. What is learnt is carried from one
document to the next, to the end of the split; the next split begins with the trained model again.

A segment is scored whole before anything is learnt from it, and learnt from by the gradient of that
very reading.

Suffixes: N tokens of a segment, B streams (one), H outputs of the last layer, V vocabulary.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from textmill.neural.inside import evaluating, read
from textmill.neural.network import Network
from textmill.neural.state import detached
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import BEGIN

LONGEST = 256
"""Tokens of a segment that nothing is learnt from; bounds the memory of its logits."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A segment's tokens: ids (N,), nats (N,) float64, and the (N, H) outputs they came from."""

    ids: Tensor
    nats: np.ndarray
    outputs: Tensor


def read_stream(
    network: Network,
    lines: Lines,
    *,
    segment: int = LONGEST,
    learn: Callable[[Tensor], None] | None = None,
) -> Iterator[Scored]:
    """Every token of the split, scored in order, segments of at most `segment` tokens.

    learn: is given the mean nats of each segment, to differentiate, after it was scored, and may
    change the network.
    """
    evaluating(network)
    for start, stop in itertools.pairwise(lines.doc_offsets):
        state, last = network.zero_state(1), BEGIN
        for first in range(start, stop, segment):
            tokens = lines.tokens[first : min(first + segment, stop)].astype(np.int64)
            ids = torch.from_numpy(tokens).to(network.device)
            inputs = torch.cat([ids.new_tensor([last]), ids[:-1]])[:, None]
            with torch.set_grad_enabled(learn is not None):
                output_NBH, after = read(network, inputs, state)
                nats_N = network.nats(output_NBH[:, 0], ids)
            found_N = nats_N.detach().double().cpu().numpy()
            yield Scored(ids, found_N, output_NBH[:, 0].detach())
            if learn is not None:
                learn(nats_N.mean())
            state, last = detached(after), int(tokens[-1])
