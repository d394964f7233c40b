"""Full softmax: from the network's outputs to the probability of every id.

`<s>` is never predicted: its logit is -inf. Tied, the output shares the embedding's matrix (Press
and Wolf 2017): at 4,000 x 384 that saves 1.5 M of 5.4 M parameters and generalises better.

Suffixes: N positions, E width of the outputs that go in, V vocabulary.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from textmill.neural.chunk import PADDING
from textmill.neural.chunked_loss import chunked_cross_entropy
from textmill.neural.compiled_loss import compiled_cross_entropy, plain_cross_entropy
from textmill.tokenizers.vocabulary import BEGIN


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
        """(N,) -ln p of the ids."""
        logits_NV = self._logits(x_NE)
        return logits_NV.logsumexp(1) - logits_NV.gather(1, ids_N[:, None]).squeeze(1)

    def total_nats(self, x_NE: Tensor, targets_N: Tensor) -> Tensor:
        """The sum of -ln p over the targets that are no padding."""
        return plain_cross_entropy(x_NE, self.matrix(), self.masked_bias(), targets_N)

    def masked_bias(self) -> Tensor:
        """The bias b (V,), -inf for `<s>`."""
        return self.bias + self.never_predicted

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
