"""Three kinds of dropout that keep small-data LSTMs from memorising, with named randomness.

All draw one mask per chunk: locked dropout drops the same units at every time step (Gal and
Ghahramani 2016; a fresh mask a step would destroy what the recurrence remembers), row dropout
removes a word from the input for the whole chunk, weight drop entries of a matrix (both Merity et
al. 2017). Every draw comes from a generator seeded by (seed, step): a training run that is killed
and started again draws the same masks without a saved random state, on any device.

Suffixes: T time, B batch, H hidden, V vocabulary, E embedding.
"""

import numpy as np
import torch
from torch import Tensor


def step_generator(generator: torch.Generator, *numbers: int) -> torch.Generator:
    """Seed `generator` by seed and step; neighbouring pairs give unrelated streams."""
    # The CPU generator reads only 32 bits of a seed, so the numbers are hashed into as many.
    return generator.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1)[0]))


def locked_mask(like_TBH: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """(1, B, H) of 0 and 1/(1-p): the same for all time steps."""
    return _mask((1, *like_TBH.shape[1:]), like_TBH, p, generator)


def row_mask(size: int, like: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """(V, 1) of 0 and 1/(1-p): a number for every row of an embedding of `size` rows."""
    return _mask((size, 1), like, p, generator)


def drop(weight: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """The matrix with entries set to 0 and the others scaled by 1/(1-p)."""
    return weight * _mask(tuple(weight.shape), weight, p, generator)


def _mask(
    shape: tuple[int, ...], like: Tensor, p: float, generator: torch.Generator | None
) -> Tensor:
    keep = torch.empty(shape, dtype=like.dtype, device=like.device)
    return keep.bernoulli_(1 - p, generator=generator).div_(1 - p)
