"""The full softmax's loss as one compiled function, where a compiler is there.

`torch.compile` joins the passes over the logits that the loss makes apart. Measured on two cores
against the plain loss in float32: 1.3 times as fast in float32 and 2.6 times in bfloat16 at 33,278
ids and 700 positions (the plain loss in bfloat16: 1.2), 1.0 and 1.8 times at 4,000 ids and 384
positions (the plain one: 1.7). So it pays for large vocabularies in bfloat16; in float32 on a CPU
the chunked head is faster. The recurrent kernels stay as they are: the compiler has nothing better
for them.

Compiling takes half a minute at a run's first step (the result is kept in the temporary folder),
and a C++ compiler, or Triton on a GPU. Shapes are dynamic from the start, so that a run that goes
on after a kill runs the same code as one that was never stopped.

Without a compiler the loss is computed in chunks, and the log says so.

Suffixes: N positions, E width, V vocabulary.
"""

import logging
import warnings
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn import functional

from textmill.base.errors import first_line
from textmill.neural.chunk import PADDING
from textmill.neural.chunked_loss import chunked_cross_entropy

_log = logging.getLogger(__name__)

Loss = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def plain_cross_entropy(
    x_NE: Tensor, weight_VE: Tensor, bias_V: Tensor, targets_N: Tensor
) -> Tensor:
    """The sum of -ln softmax(x W + b)[target] over the targets that are no padding."""
    logits_NV = functional.linear(x_NE, weight_VE, bias_V).float()
    return functional.cross_entropy(logits_NV, targets_N, ignore_index=PADDING, reduction="sum")


@cache
def compiled_cross_entropy(device: torch.device) -> Loss:
    """`plain_cross_entropy`, compiled and tried out; in chunks where that fails."""
    loss = _without_notice(torch.compile(plain_cross_entropy, dynamic=True))
    try:
        _try_out(loss, device)
    except Exception as error:
        _log.warning("no compiler for the head, so it runs in chunks: %s", first_line(error))
        return chunked_cross_entropy
    return loss


def _without_notice(loss: Loss) -> Loss:
    def run(x_NE: Tensor, weight_VE: Tensor, bias_V: Tensor, targets_N: Tensor) -> Tensor:
        with warnings.catch_warnings():
            # The compiler looks at the gradients of what it is given, and torch warns of that.
            warnings.filterwarnings("ignore", "The .grad attribute of a Tensor that is not a leaf")
            return loss(x_NE, weight_VE, bias_V, targets_N)

    return run


def _try_out(loss: Loss, device: torch.device) -> None:
    x_NE, weight_VE = (torch.zeros(n, 8, device=device, requires_grad=True) for n in (5, 6))
    bias_V = torch.zeros(6, device=device, requires_grad=True)
    total = loss(x_NE, weight_VE, bias_V, torch.ones(5, dtype=torch.int64, device=device))
    torch.autograd.backward(total)
