"""Full softmax: from the network's outputs to the probability of every id.

`<s>` is never predicted: its logit is -inf. Tied, the output shares the embedding's matrix (Press
and Wolf 2017): at 4,000 x 384 that saves 1.5 M of 5.4 M parameters and generalises better.

Suffixes: N positions, E width of the outputs that go in, V vocabulary, S ids of a slice, K slices.
"""

import math
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor, nn
from torch.linalg import vector_norm
from torch.nn import functional

from textmill.neural.chunk import PADDING
from textmill.neural.chunked_loss import chunked_cross_entropy
from textmill.neural.compiled_loss import compiled_cross_entropy, plain_cross_entropy
from textmill.tokenizers.vocabulary import BEGIN

IDS_AT_ONCE = 1024
"""Scoring makes the logits of so many ids at a time, or of more while there are few logits.

Slices of the matrix stay in the processor's cache, where few positions and all ids at a time would
read the whole of it again and again: twice as fast at 33,278 ids (measured on two cores)."""

FEW_LOGITS = 1 << 21
"""8 MB in float32."""

SMALL = 64
"""exp of more than 88 is infinite in float32, and so is a sum of millions of exp of 74."""


class FullHead(nn.Module):
    """The softmax over all logits x W + b."""

    def __init__(self, width: int, size: int, tied: nn.Embedding | None) -> None:
        super().__init__()
        # In a tuple, so that the shared matrix is neither counted nor saved twice.
        self.tied = (tied,) if tied is not None else ()
        self.bias = nn.Parameter(torch.zeros(size))
        if tied is None:
            self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(size, width)))
        self.never_predicted: Tensor
        self.register_buffer("never_predicted", only_begin(size), persistent=False)

    def matrix(self) -> Tensor:
        """W (V, E): the embedding's where the output is tied."""
        return self.tied[0].weight if self.tied else self.weight

    def log_probs(self, x_NE: Tensor) -> Tensor:
        """(N, V) natural logarithms; -inf for `<s>`."""
        return self._logits(x_NE).log_softmax(-1)

    def nats(self, x_NE: Tensor, ids_N: Tensor) -> Tensor:
        """(N,) -ln p of the ids, from the logits of a slice of the vocabulary at a time."""
        ids = max(IDS_AT_ONCE, FEW_LOGITS // max(1, len(x_NE)))
        firsts_K = torch.arange(0, len(self.bias), ids, device=ids_N.device)
        # A slice gives one logit to each position; those of ids outside of it are not used.
        places_KN = (ids_N - firsts_K[:, None]).clamp(0, ids - 1)
        is_small = len(firsts_K) > 1 and self._has_small_logits(x_NE.detach())
        found = [
            _slice_of(x_NE, W_SE, bias_S, places_N, is_small)
            for (W_SE, bias_S), places_N in zip(self._slices(ids), places_KN, strict=True)
        ]
        log_sums_KN, logits_KN = (torch.stack(part) for part in zip(*found, strict=True))
        wanted_N = logits_KN.gather(0, (ids_N // ids)[None])[0] + self.masked_bias()[ids_N]
        return log_sums_KN.logsumexp(0) - wanted_N

    @property
    def positions_at_once(self) -> int:
        """How many positions to ask `nats` for in one call."""
        return FEW_LOGITS // min(len(self.bias), IDS_AT_ONCE)

    def total_nats(self, x_NE: Tensor, targets_N: Tensor) -> Tensor:
        """The sum of -ln p over the targets that are no padding."""
        return plain_cross_entropy(x_NE, self.matrix(), self.masked_bias(), targets_N)

    def masked_bias(self) -> Tensor:
        """The bias b (V,), -inf for `<s>`."""
        return self.bias + self.never_predicted

    def _slices(self, ids: int) -> Iterable[tuple[Tensor, Tensor]]:
        """The matrix and the bias by so many ids; whole, not cut, where that is all of them."""
        whole = self.matrix(), self.masked_bias()
        if ids >= len(self.bias):
            return [whole]
        return zip(*(torch.split(part, ids) for part in whole), strict=True)

    def _has_small_logits(self, x_NE: Tensor) -> bool:
        """Whether no logit is of a size that exp cannot bear in float32, by Cauchy and Schwarz."""
        lengths = (vector_norm(part, dim=1).amax() for part in (x_NE, self.matrix().detach()))
        return bool(math.prod(lengths) + self.bias.detach().abs().amax() < SMALL)

    def _logits(self, x_NE: Tensor) -> Tensor:
        return functional.linear(x_NE, self.matrix(), self.masked_bias())


class ChunkedHead(FullHead):
    """The same softmax; training holds the logits of a few positions at a time."""

    def total_nats(self, x_NE: Tensor, targets_N: Tensor) -> Tensor:
        """The sum of -ln p over the targets that are no padding."""
        real_N = targets_N != PADDING
        return chunked_cross_entropy(
            x_NE[real_N], self.matrix(), self.masked_bias(), targets_N[real_N]
        )


class CompiledHead(FullHead):
    """The same softmax; training runs it as compiled code, or in chunks without a compiler."""

    def total_nats(self, x_NE: Tensor, targets_N: Tensor) -> Tensor:
        """The sum of -ln p over the targets that are no padding."""
        loss = compiled_cross_entropy(x_NE.device)
        real_N = targets_N != PADDING
        return loss(x_NE[real_N], self.matrix(), self.masked_bias(), targets_N[real_N])


def _slice_of(
    x_NE: Tensor, W_SE: Tensor, bias_S: Tensor, places_N: Tensor, is_small: bool
) -> tuple[Tensor, Tensor]:
    """(N,) the logarithm of the sum of exp(x W + b), and (N,) x W at the places.

    Where all is small, the sum is a product. Without gradients the same is done in place.
    """
    x_NS = x_NE @ W_SE.T
    keeps, logits_N = x_NS.requires_grad, x_NS.gather(1, places_N[:, None]).squeeze(1)
    if is_small:
        powers_NS = x_NS.exp() if keeps else x_NS.exp_()
        return (powers_NS @ bias_S.exp()).log(), logits_N
    # Added together with the product, the bias would first be copied to every row.
    x_NS = x_NS + bias_S if keeps else x_NS.add_(bias_S)
    highest_N1 = x_NS.detach().amax(1, keepdim=True)
    powers_NS = (x_NS - highest_N1).exp() if keeps else x_NS.sub_(highest_N1).exp_()
    return powers_NS.sum(1).log() + highest_N1.squeeze(1), logits_N


def only_begin(size: int) -> Tensor:
    """Zeros, and -inf for `<s>`."""
    mask_V = torch.zeros(size)
    mask_V[BEGIN] = -torch.inf
    return mask_V


HEADS: Mapping[str, Callable[[int, int, nn.Embedding | None], FullHead]] = {
    "full": FullHead,
    "chunked": ChunkedHead,
    "compiled": CompiledHead,
}
