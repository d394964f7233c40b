"""AdamW over a network, and its moments as named tensors for the checkpoint.

Decay acts on matrices alone. The fused update is used on every device: on two cores the plain
one costs a sixth of a small network's step. The second moment forgets within 100 steps (0.99),
which suits runs of thousands of steps better than the default of 1,000.
"""

from torch import Tensor, nn
from torch.optim import AdamW

from textmill.neural.config import NetworkConfig

BETAS = (0.9, 0.99)


def make_optimiser(network: nn.Module, config: NetworkConfig) -> AdamW:
    """AdamW with decay on matrices."""
    matrices = [p for p in network.parameters() if p.dim() > 1]
    vectors = [p for p in network.parameters() if p.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=config.learning_rate, betas=BETAS, fused=True)


def moments(optimiser: AdamW) -> dict[str, Tensor]:
    """Every state tensor, named by the parameter's number and its own name."""
    state = optimiser.state_dict()["state"]
    return {f"{i}/{name}": tensor for i, named in state.items() for name, tensor in named.items()}


def restore_moments(optimiser: AdamW, saved: dict[str, Tensor]) -> None:
    """Put back what `moments` gave."""
    content = optimiser.state_dict()
    content["state"] = {}
    for key, tensor in saved.items():
        number, name = key.split("/")
        content["state"].setdefault(int(number), {})[name] = tensor
    optimiser.load_state_dict(content)
