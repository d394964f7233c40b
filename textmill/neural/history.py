"""The learning history: one row a look at the validation split, by step and tokens, no clock.

Written whole each time (it is a few kilobytes), so that a reader who follows it during training
never sees half a row; numbers are written so that they read back exactly.
"""

import math
from dataclasses import astuple, dataclass, field, fields

from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Look:
    """Training means since the look before; losses in nats a token.

    step, tokens: done so far. gradient_norm: mean, before clipping, over steps where it is finite.
    clipped, skipped: steps whose gradient was clipped, and those without a finite gradient.
    """

    step: int
    tokens: int
    train_loss: float
    valid_loss: float
    learning_rate: float
    gradient_norm: float
    clipped: int = 0
    skipped: int = 0


def as_csv(looks: list[Look]) -> str:
    """The history as CSV with a header."""
    header = ",".join(field.name for field in fields(Look))
    return "\n".join([header, *(",".join(map(repr, astuple(look))) for look in looks)]) + "\n"


@dataclass(slots=True)
class Tally:
    """Sums since the last look; `skipped_in_a_row` goes on over looks."""

    nats: float = 0.0
    targets: int = 0
    norms: float = 0.0
    steps: int = 0
    clipped: int = 0
    skipped: int = 0
    skipped_in_a_row: int = 0

    def add(self, loss: float, targets: int, norm: float, clip: float) -> None:
        """Count a step: its mean loss, over how many targets, its gradient norm and the limit."""
        self.nats += loss * targets
        self.targets += targets
        self.steps += 1
        if math.isfinite(norm):
            self.norms += norm
            self.clipped += norm > clip
            self.skipped_in_a_row = 0
        else:
            self.skipped += 1
            self.skipped_in_a_row += 1

    def next(self) -> "Tally":
        """The one after a look."""
        return Tally(skipped_in_a_row=self.skipped_in_a_row)

    @property
    def gradient_norm(self) -> float:
        """The mean over the steps where it was finite."""
        taken = self.steps - self.skipped
        return self.norms / taken if taken else math.nan


@dataclass(slots=True)
class Looks:
    """All looks of a run, and the weights of the best one. What is no number is never best."""

    looks: list[Look] = field(default_factory=list)
    best: Look | None = None
    best_weights: dict[str, Tensor] = field(default_factory=dict)

    @property
    def valid_losses(self) -> list[float]:
        """One a look."""
        return [look.valid_loss for look in self.looks]

    def add(self, look: Look, network: nn.Module) -> None:
        """Keep the weights of `network` if it is the best so far."""
        self.looks.append(look)
        if look.valid_loss < (self.best.valid_loss if self.best else math.inf):
            self.best = look
            weights = network.state_dict()
            self.best_weights = {name: t.detach().cpu().clone() for name, t in weights.items()}

    def since_best(self) -> int:
        """Looks after the best one; all of them where there is none."""
        return len(self.looks) - (self.looks.index(self.best) + 1 if self.best else 0)
