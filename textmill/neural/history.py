"""The learning history: one row a look at the validation split, by step and tokens, no clock.

Written whole each time (it is a few kilobytes), so that a reader who follows it during training
never sees half a row; numbers are written so that they read back exactly.
"""

from dataclasses import astuple, dataclass, fields


@dataclass(frozen=True, slots=True)
class Look:
    """Training means since the look before; losses in nats a token.

    step, tokens: done so far. gradient_norm: mean, before clipping.
    """

    step: int
    tokens: int
    train_loss: float
    valid_loss: float
    learning_rate: float
    gradient_norm: float


def as_csv(looks: list[Look]) -> str:
    """The history as CSV with a header."""
    header = ",".join(field.name for field in fields(Look))
    return "\n".join([header, *(",".join(map(repr, astuple(look))) for look in looks)]) + "\n"


@dataclass(slots=True)
class Tally:
    """Sums since the last look."""

    nats: float = 0.0
    targets: int = 0
    norms: float = 0.0
    steps: int = 0

    def add(self, loss: float, targets: int, norm: float) -> None:
        """Count a step: its mean loss, over how many targets, and its gradient norm."""
        self.nats += loss * targets
        self.targets += targets
        self.norms += norm
        self.steps += 1
