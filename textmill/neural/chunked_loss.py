"""Exact cross-entropy over a large vocabulary without ever holding all logits.

The logits of a few positions are made, turned into their share of the loss and of the gradients,
and thrown away, all in the forward pass: the backward pass only scales what is there. (The
gradient of a softmax needs the softmax again, so doing it backwards would make every logit twice.)
Memory is two chunks of logits and the gradient of the matrix, instead of three arrays of N x V.
Measured on two cores at 33,278 ids and 700 positions it is 1.1 times as fast as the full softmax in
float32 and 1.6 times in bfloat16; at 4,000 ids and 384 positions the two are equal.

Suffixes: N positions, C positions of a chunk, E width, V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor

LOGITS_AT_ONCE = 1 << 23
"""32 MB in float32. At 33,278 ids that is 252 positions; 64 are a third slower, 32 half as fast."""


def chunked_cross_entropy(
    x_NE: Tensor, weight_VE: Tensor, bias_V: Tensor, targets_N: Tensor
) -> Tensor:
    """The sum of -ln softmax(x W + b)[target], in float32 at least.

    The products run in autocast's precision where that is on; loss and gradients are summed in
    the parameters' own. -inf in the bias keeps an id out.
    """
    device = weight_VE.device.type
    product = (
        torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else weight_VE.dtype
    )
    total: Tensor = _ChunkedCrossEntropy.apply(x_NE, weight_VE, bias_V, targets_N, product)  # type: ignore[no-untyped-call]
    return total


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x_NE: Tensor,
        weight_VE: Tensor,
        bias_V: Tensor,
        targets_N: Tensor,
        product: torch.dtype,
    ) -> Tensor:
        rows = max(1, LOGITS_AT_ONCE // len(weight_VE))
        grad_x, grad_weight = torch.empty_like(x_NE), torch.zeros_like(weight_VE)
        grad_bias, total = torch.zeros_like(bias_V), bias_V.new_zeros(())
        with torch.autocast(weight_VE.device.type, enabled=False):
            x, weight = x_NE.to(product), weight_VE.to(product)
            for first in range(0, len(x), rows):
                chunk = slice(first, first + rows)
                errors_CV, nats = _errors(x[chunk], weight, bias_V, targets_N[chunk])
                total += nats
                grad_bias += errors_CV.sum(0)
                if product == weight_VE.dtype:
                    grad_x[chunk] = errors_CV @ weight
                    grad_weight.addmm_(errors_CV.T, x[chunk])
                else:
                    grad_x[chunk] = errors_CV.to(product) @ weight
                    grad_weight += errors_CV.to(product).T @ x[chunk]
        ctx.save_for_backward(grad_x, grad_weight, grad_bias)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        grad_x, grad_weight, grad_bias = ctx.saved_tensors
        scale = gradients[0]
        return grad_x * scale, grad_weight * scale, grad_bias * scale, None, None


def _errors(
    x_CE: Tensor, weight_VE: Tensor, bias_V: Tensor, targets_C: Tensor
) -> tuple[Tensor, Tensor]:
    """The loss's gradient by logits, softmax minus one-hot (C, V); and the nats."""
    # Added at once (addmm), the bias would first be copied to every row.
    logits_CV = (x_CE @ weight_VE.T).to(bias_V.dtype).add_(bias_V)
    log_probs_CV = logits_CV.log_softmax(1)
    at_C1 = targets_C[:, None]
    nats = -log_probs_CV.gather(1, at_C1).sum()
    ones_C1 = log_probs_CV.new_ones(len(at_C1), 1)
    return log_probs_CV.exp_().scatter_add_(1, at_C1, -ones_C1), nats
