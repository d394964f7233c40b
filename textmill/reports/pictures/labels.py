"""Where labels go so that none is printed over another: along an edge, or around marks."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

Point = tuple[float, float]
SIDES = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
"""Where a label may stand beside its mark, the usual place first."""
AIR = 1.0
"""Between a mark and the label to its left or right."""
RINGS = (1.0, 1.8, 2.6)
"""How far from it, in steps of the nearest place."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle about a centre."""

    x: float
    y: float
    width: float
    height: float

    def overlap(self, other: "Box") -> float:
        """The area that both cover."""
        across = (self.width + other.width) / 2 - abs(self.x - other.x)
        along = (self.height + other.height) / 2 - abs(self.y - other.y)
        return max(across, 0.0) * max(along, 0.0)


def spread(levels: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights near ascending `levels`, `gap` apart or more, between `low` and `high`.

    The nearest in least squares: levels less the room that labels below take must not fall, so
    neighbours that would fall are pooled at their mean (isotonic regression, Ayer et al. 1955).
    """
    pools: list[tuple[float, int]] = []
    for place, level in enumerate(levels):
        mean, size = level - place * gap, 1
        while pools and pools[-1][0] > mean:
            before, count = pools.pop()
            mean = (before * count + mean * size) / (count + size)
            size += count
        pools.append((mean, size))
    most = max(low, high - (len(levels) - 1) * gap)
    fitted = [min(max(mean, low), most) for mean, size in pools for _ in range(size)]
    return [level + place * gap for place, level in enumerate(fitted)]


def beside(marks: Sequence[Box], labels: Sequence[Point], frame: Box) -> list[Box]:
    """A box for the label (width, height) of every mark, in order, clear of what stands already.

    The first free place of those around the mark that is inside the frame; where none is free, the
    one that covers least.
    """
    placed: list[Box] = []
    for mark, size in zip(marks, labels, strict=True):
        places = [box for box in _around(mark, size) if _is_inside(box, frame)]
        taken = [*marks, *placed]
        covered = [sum(box.overlap(other) for other in taken) for box in places]
        placed.append(places[covered.index(min(covered))])
    return placed


def _around(mark: Box, size: Point) -> list[Box]:
    width, height = size
    return [
        Box(
            mark.x + across * ring * ((mark.width + width) / 2 + AIR),
            mark.y + along * ring * (mark.height + height) / 2,
            width,
            height,
        )
        for ring, (across, along) in product(RINGS, SIDES)
    ]


def _is_inside(box: Box, frame: Box) -> bool:
    across = abs(box.x - frame.x) <= (frame.width - box.width) / 2
    return across and abs(box.y - frame.y) <= (frame.height - box.height) / 2
