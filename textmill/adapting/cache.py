"""Neural cache (Grave, Joulin and Usunier 2016, "Improving neural language models with a
continuous cache"): what came after a similar state will come again.

The cache holds, for each of the last `window` tokens, the output of the last layer that the token
was predicted from, and the token. At the next output h it gives a token w

    p_cache(w) = sum over the entries (h_i, x_i) with x_i = w of exp(theta h . h_i), normalised,

and the model is p = weight * p_cache + (1 - weight) * p_network. Both sum to one, so p does.
Nothing is trained. While the cache is empty, p is the network's.

One product of matrices serves a whole segment: each token sees the entries before it, those of its
own segment included.

Suffixes: N tokens of a segment, M entries kept from before, K = M + N, H outputs.
"""

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

from textmill.adapting.stream import Scored


class Cache:
    """The last `window` tokens with what they were predicted from; `theta` as above."""

    def __init__(self, window: int, theta: float) -> None:
        self._window = window
        self._theta = theta
        self._keys_MH: Tensor | None = None
        self._ids_M: Tensor | None = None

    def nats(self, segment: Scored) -> np.ndarray:
        """(N,) float64 -ln p_cache of each token, infinite where the cache does not hold it.

        Each is scored by the entries before it, then all of them enter the cache.
        """
        keys_KH, ids_K = self._with(segment)
        scores_NK = self._theta * (segment.outputs @ keys_KH.T)
        scores_NK.masked_fill_(~self._visible(len(segment.ids), scores_NK), -torch.inf)
        all_N = scores_NK.logsumexp(1)
        others_NK = ids_K[None] != segment.ids[:, None]
        same_N = scores_NK.masked_fill_(others_NK, -torch.inf).logsumexp(1)
        found: np.ndarray = (all_N - same_N).double().cpu().numpy()
        is_empty = torch.isneginf(all_N).cpu().numpy()
        self._keys_MH, self._ids_M = keys_KH[-self._window :], ids_K[-self._window :]
        return np.where(is_empty, segment.nats, found)

    def _with(self, segment: Scored) -> tuple[Tensor, Tensor]:
        if self._keys_MH is None or self._ids_M is None:
            return segment.outputs, segment.ids
        return (
            torch.cat([self._keys_MH, segment.outputs]),
            torch.cat([self._ids_M, segment.ids]),
        )

    def _visible(self, n: int, scores_NK: Tensor) -> Tensor:
        """(N, K) which entries stand before a token and at most `window` back."""
        places_K = torch.arange(scores_NK.shape[1], device=scores_NK.device)
        back_NK = places_K[-n:, None] - places_K[None]
        return (back_NK > 0) & (back_NK <= self._window)


def cache_nats(segments: Iterable[Scored], window: int, theta: float) -> np.ndarray:
    """(T,) float64 nats of a stream's tokens under a cache that is empty before the first."""
    cache = Cache(window, theta)
    return np.concatenate([cache.nats(segment) for segment in segments])
