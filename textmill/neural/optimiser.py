"""AdamW or SGD over a network, and their buffers as named tensors for the checkpoint.

Decay acts on matrices alone. The fused update is used on every device: on two cores the plain
one costs a sixth of a small network's step. AdamW's second moment forgets within 100 steps
(`beta2` 0.99), which suits runs of thousands of steps better than the usual 1,000 (0.999).
"""

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW

from textmill.neural.config import NetworkConfig

BETA1 = 0.9


def make_optimiser(network: nn.Module, config: NetworkConfig) -> AdamW | SGD:
    """The optimiser that `config` names, with decay on matrices."""
    matrices = [p for p in network.parameters() if p.dim() > 1]
    vectors = [p for p in network.parameters() if p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    if config.optimiser == "sgd":
        return SGD(groups, lr=config.learning_rate, momentum=config.momentum or 0.0, fused=True)
    betas = (BETA1, cast(float, config.beta2))
    return AdamW(groups, lr=config.learning_rate, betas=betas, fused=True)


def update(
    network: nn.Module, optimiser: AdamW | SGD, loss: Tensor, *, rate: float, clip: float
) -> float:
    """One step down the gradient of `loss`; the gradient's norm before clipping.

    Where the norm is no finite number nothing is changed: one bad gradient would make every
    weight NaN, and clipping says nothing about it.
    """
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    norm = float(nn.utils.clip_grad_norm_(network.parameters(), clip))
    if math.isfinite(norm):
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.step()
    return norm


def buffers(optimiser: AdamW | SGD) -> dict[str, Tensor]:
    """Every state tensor, named by the parameter's number and its own name."""
    state = optimiser.state_dict()["state"]
    return {
        f"{i}/{name}": value
        for i, named in state.items()
        for name, value in named.items()
        if isinstance(value, Tensor)
    }


def restore_buffers(optimiser: AdamW | SGD, saved: dict[str, Tensor]) -> None:
    """Put back what `buffers` gave."""
    content = optimiser.state_dict()
    content["state"] = {}
    for key, tensor in saved.items():
        number, name = key.split("/")
        content["state"].setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict(content)
