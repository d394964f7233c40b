"""A trained network as a language model: `start`, `score`, `distribution`.

State is the last output (1, B, H), from which the next token is predicted, and behind it the
network's own state after everything read so far, `<s>` included. Evaluation is float32 without
autocast (or float64, for tests of invariance), the log-softmax runs over a bounded number of
logits at a time, and nats come out as float64.

Suffixes: B streams, T time, H hidden, V vocabulary, N positions.
"""

import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from textmill.base.errors import UserError
from textmill.neural.config import Device
from textmill.neural.device import prepare
from textmill.neural.model_files import load_model
from textmill.neural.network import Network
from textmill.neural.state import Piece, State, first_streams
from textmill.tokenizers.vocabulary import BEGIN, Vocabulary


class NetworkModel:
    """Scores streams with a network; implements `textmill.scoring.protocol.LanguageModel`."""

    def __init__(self, network: Network, vocabulary: Vocabulary) -> None:
        self.network = network
        self.vocabulary = vocabulary

    def start(self, n: int) -> State:
        """State of n streams after `<s>`."""
        begin_1B = torch.full((1, n), BEGIN, device=self.network.device)
        with torch.inference_mode():
            output_1BH, after = self._read(begin_1B, self.network.zero_state(n))
        return output_1BH, *after

    def score(self, ids_BT: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """(B, T) float64 nats and the state after; the first B streams of `state` go on."""
        ids_TB = torch.from_numpy(ids_BT.T.astype(np.int64)).to(self.network.device)
        with torch.inference_mode():
            last_1BH, *before = first_streams(state, len(ids_BT))
            output_TBH, after = self._read(ids_TB, tuple(before))
            # Each token is predicted from the output before it.
            before_TBH = torch.cat([last_1BH, output_TBH[:-1]])
            nats_TB = self._nats(before_TBH.flatten(0, 1), ids_TB.flatten()).view(ids_TB.shape)
        return nats_TB.cpu().numpy().T, (output_TBH[-1:], *after)

    def distribution(self, state: State) -> np.ndarray:
        """(B, V) float64 natural logarithms; -inf for `<s>`."""
        with torch.inference_mode():
            log_probs_BV = self.network.log_probs(state[0][0])
        log_probs: np.ndarray = log_probs_BV.double().cpu().numpy()
        return log_probs

    def _read(self, ids_TB: Tensor, state: State) -> tuple[Tensor, State]:
        self.network.eval()
        reading = self.network(ids_TB, state, [Piece(slice(None), None)])
        return reading.output, reading.state

    def _nats(self, output_NH: Tensor, ids_N: Tensor) -> Tensor:
        count = max(1, math.ceil(len(ids_N) / self.network.head.positions_at_once))
        # Of nearly one size: a short last one would cost more than its share.
        parts = zip(output_NH.tensor_split(count), ids_N.tensor_split(count), strict=True)
        return torch.cat([self.network.nats(part_NH, ids).double() for part_NH, ids in parts])


def load(
    folder: Path,
    vocabulary: Vocabulary,
    *,
    threads: int,
    device: Device = "auto",
    dtype: torch.dtype = torch.float32,
) -> NetworkModel:
    """The network of a finished model folder, ready to score. UserError as `load_model` says."""
    config, weights = load_model(folder, vocabulary)
    where = prepare(device, threads)
    network = Network(len(vocabulary), config)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(f"the weights in {folder} do not fit its configuration ({error})") from None
    return NetworkModel(network.to(where, dtype), vocabulary)
