"""A trained network as a language model: `start`, `score`, `distribution`.

State is h and c after everything read so far, `<s>` included; the last layer's h is all that the
next token's distribution needs, so a state is h and c and nothing else. Evaluation is float32
without autocast (or float64, for tests of invariance), the log-softmax runs over a bounded number
of logits at a time, and nats come out as float64.

Suffixes: B streams, T time, H hidden, L layers, V vocabulary, N positions.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from textmill.base.errors import UserError
from textmill.neural.config import Device
from textmill.neural.device import prepare
from textmill.neural.lstm import LstmNetwork, State
from textmill.neural.model_files import load_model
from textmill.tokenizers.vocabulary import BEGIN, Vocabulary

LOGITS_AT_ONCE = 1 << 23
"""32 MB in float32."""


class NetworkModel:
    """Scores streams with a network; implements `textmill.scoring.protocol.LanguageModel`."""

    def __init__(self, network: LstmNetwork, vocabulary: Vocabulary) -> None:
        self.network = network
        self.vocabulary = vocabulary

    def start(self, n: int) -> State:
        """State of n streams after `<s>`."""
        begin_1B = torch.full((1, n), BEGIN, device=self.network.bias.device)
        with torch.inference_mode():
            return self._read(begin_1B, self.network.zero_state(n))[1]

    def score(self, ids_BT: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """(B, T) float64 nats and the state after; the first B streams of `state` go on."""
        ids_TB = torch.from_numpy(ids_BT.T.astype(np.int64)).to(self.network.bias.device)
        with torch.inference_mode():
            state = _first(state, len(ids_BT))
            output_TBH, after = self._read(ids_TB, state)
            # Each token is predicted from the output before it; the first from the state's h.
            before_TBH = torch.cat([state[0][-1:], output_TBH[:-1]])
            nats_TB = self._nats(before_TBH.flatten(0, 1), ids_TB.flatten()).view(ids_TB.shape)
        return nats_TB.cpu().numpy().T, after

    def distribution(self, state: State) -> np.ndarray:
        """(B, V) float64 natural logarithms; -inf for `<s>`."""
        with torch.inference_mode():
            log_probs_BV = self.network.logits(state[0][-1]).log_softmax(-1)
        log_probs: np.ndarray = log_probs_BV.double().cpu().numpy()
        return log_probs

    def _read(self, ids_TB: Tensor, state: State) -> tuple[Tensor, State]:
        self.network.eval()
        no_starts_TB = torch.zeros(ids_TB.shape, dtype=torch.bool)
        output: tuple[Tensor, State] = self.network(ids_TB, state, no_starts_TB)
        return output

    def _nats(self, output_NH: Tensor, ids_N: Tensor) -> Tensor:
        rows = max(1, LOGITS_AT_ONCE // len(self.vocabulary))
        nats = []
        for part_NH, part_N in zip(
            torch.split(output_NH, rows), torch.split(ids_N, rows), strict=True
        ):
            logits_NV = self.network.logits(part_NH)
            chosen_N = logits_NV.gather(1, part_N[:, None]).squeeze(1)
            nats.append((logits_NV.logsumexp(1) - chosen_N).double())
        return torch.cat(nats)


def _first(state: State, n: int) -> State:
    """The state of the first n streams."""
    h_LBH, c_LBH = state
    return h_LBH[:, :n].contiguous(), c_LBH[:, :n].contiguous()


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
    network = LstmNetwork(len(vocabulary), config)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(f"the weights in {folder} do not fit its configuration ({error})") from None
    return NetworkModel(network.to(prepare(device, threads), dtype), vocabulary)
