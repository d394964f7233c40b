"""Exact cross-entropy over a large vocabulary without ever holding all logits.

The logits of a few positions are made, turned into their share of the loss and of the gradients,
and thrown away, all in the forward pass: the backward pass only scales what is there. (The
gradient of a softmax needs the softmax again, so doing it backwards would make every logit twice.)
Memory is one chunk of logits and the gradient of the matrix, instead of three arrays of N x V.

On a CPU the softmax is a compiled kernel: it takes 25 us of a position at 33,278 ids where torch's
functions took 70, so that a training step in float32 is 1.6 to 1.7 times as fast as with the full
softmax, and 1.2 times at 10,000 ids (docs/results.md, 2026-12-01).

Suffixes: N positions, C positions of a chunk, E width, V vocabulary.
"""

import threading
from functools import partial
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor

from textmill.neural.row_threads import RowThreads
from textmill.neural.softmax_kernels import to_errors, to_errors_of_bfloat16

LOGITS_AT_ONCE = 1 << 25
"""128 MB in float32, touched where needed. At 33,278 ids that is 1,008 positions; with a quarter of
it a step takes a twentieth longer."""


_places = threading.local()


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
        grad_x, grad_weight = torch.empty_like(x_NE), torch.empty_like(weight_VE)
        grad_bias, total = torch.zeros_like(bias_V), bias_V.new_zeros(())
        with torch.autocast(weight_VE.device.type, enabled=False), RowThreads() as threads:
            errors_of = partial(_compiled_errors, threads) if _fits(bias_V, product) else _errors
            x, weight = x_NE.to(product), weight_VE.to(product)
            chunks = _chunks(len(x), max(1, LOGITS_AT_ONCE // len(weight)))
            for chunk in chunks:
                logits_CV = torch.mm(x[chunk], weight.T, out=_room(x[chunk], len(weight)))
                errors_CV, nats, bias_errors_V = errors_of(logits_CV, bias_V, targets_N[chunk])
                total += nats
                grad_bias += bias_errors_V
                grad_x[chunk] = errors_CV @ weight
                _add_product(grad_weight, errors_CV.T, x[chunk], is_first=chunk is chunks[0])
        ctx.save_for_backward(grad_x, grad_weight, grad_bias)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        # In place: a copy of the largest would cost as much as the update.
        grad_x, grad_weight, grad_bias = (one.mul_(gradients[0]) for one in ctx.saved_tensors)
        return grad_x, grad_weight, grad_bias, None, None


def _chunks(rows: int, most: int) -> list[slice]:
    """Ranges of at most so many rows and of nearly one size, the first the largest."""
    count = max(1, -(-rows // most))
    bounds = [-(-rows * chunk // count) for chunk in range(count + 1)]
    return [slice(*bound) for bound in pairwise(bounds)]


def _room(x_CE: Tensor, size: int) -> Tensor:
    """(C, V) for logits. On a CPU it is one place that stays from step to step.

    New memory would be cleared by the system in every step, which took a tenth of it.
    """
    if x_CE.device.type != "cpu":
        return x_CE.new_empty(len(x_CE), size)
    numbers, places = max(LOGITS_AT_ONCE, size), _places.__dict__
    place = places.get(str(x_CE.dtype))
    if place is None or len(place) < numbers:
        with torch.inference_mode(mode=False):
            place = places[str(x_CE.dtype)] = torch.empty(numbers, dtype=x_CE.dtype)
    return cast(Tensor, place)[: len(x_CE) * size].view(-1, size)


def _add_product(total: Tensor, a: Tensor, b: Tensor, *, is_first: bool) -> None:
    """Total + a b, or a b if it is the first; multiplied in the precision of a."""
    if a.dtype == total.dtype:
        total.addmm_(a, b, beta=0.0 if is_first else 1.0)
    elif is_first:
        total.copy_(a @ b)
    else:
        total += a @ b


def _errors(logits_CV: Tensor, bias_V: Tensor, targets_C: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The loss's gradient by logits, softmax minus one-hot (C, V); the nats; the sum of rows."""
    log_probs_CV = (logits_CV.to(bias_V.dtype) + bias_V).log_softmax(1)
    at_C1 = targets_C[:, None]
    nats = -log_probs_CV.gather(1, at_C1).sum()
    ones_C1 = log_probs_CV.new_ones(len(at_C1), 1)
    errors_CV = log_probs_CV.exp_().scatter_add_(1, at_C1, -ones_C1)
    return errors_CV.to(logits_CV.dtype), nats, errors_CV.sum(0)


def _fits(bias_V: Tensor, product: torch.dtype) -> bool:
    """Whether there is a kernel: on a CPU, in float32, of logits in float32 or bfloat16."""
    is_there = product in (torch.float32, torch.bfloat16)
    return bias_V.device.type == "cpu" and bias_V.dtype == torch.float32 and is_there


def _compiled_errors(
    threads: RowThreads, logits_CV: Tensor, bias_V: Tensor, targets_C: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """What `_errors` gives, in place of the logits."""
    if len(targets_C) and not 0 <= int(targets_C.min()) <= int(targets_C.max()) < len(bias_V):
        raise IndexError(f"a target is outside of the {len(bias_V)} ids")
    is_half = logits_CV.dtype == torch.bfloat16
    kernel = to_errors_of_bfloat16 if is_half else to_errors
    nats_C = bias_V.new_empty(len(logits_CV))
    sums_SV = bias_V.new_zeros(threads.count, len(bias_V))
    logits = logits_CV.view(torch.uint16).numpy() if is_half else logits_CV.numpy()
    bias, targets, nats, sums = (a.numpy() for a in (bias_V.detach(), targets_C, nats_C, sums_SV))

    def work(share: int, rows: slice) -> None:
        kernel(logits[rows], bias, targets[rows], nats[rows], sums[share])

    threads.run(work, len(logits))
    return logits_CV, nats_C.sum(), sums_SV.sum(0)
