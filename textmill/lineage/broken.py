"""A link that does not hold, and what brings an output back."""

from collections.abc import Callable
from dataclasses import dataclass

RESTORE = "rm -r {0}; dvc checkout {0}   (not in the cache: dvc repro)"


@dataclass(frozen=True, slots=True)
class Broken:
    """A link that does not hold. unbuilt: its stage has still to run, so nothing is damaged."""

    link: str
    expected: str
    found: str
    next_step: str
    unbuilt: bool = False


Check = Callable[[], Broken | None]
