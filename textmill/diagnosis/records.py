"""What is found out about a model, as frozen records: written to JSON as they are, and as one CSV.

Numbers are nats a token unless they say otherwise, so they compare among models of one tokenizer.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bin:
    """Tokens from `low` to `high`, both included: how many, and their mean nats."""

    low: int
    high: int
    tokens: int
    nats: float


@dataclass(frozen=True, slots=True)
class Matrix:
    """One recurrent matrix. layer: counted from 1. gate: what it is for.

    radius: its spectral radius. turns: the dominant eigenvalue is a complex pair, so the dominant
    direction is a plane that it turns. direction: (H,) unit vector, or two of them. converged:
    whether the iteration came to rest. alignment: length of the part of a loss's gradient in the
    direction that the transposed matrix draws gradients to, the gradient's own length being 1;
    by_chance: what a random gradient would show.
    """

    layer: int
    gate: str
    radius: float
    turns: bool
    direction: tuple[tuple[float, ...], ...]
    converged: bool
    alignment: float
    by_chance: float


@dataclass(frozen=True, slots=True)
class Gate:
    """Mean over text of the gate that keeps the old state, for each unit of a layer (from 1)."""

    layer: int
    units: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over all units."""
        return sum(self.units) / len(self.units)


@dataclass(frozen=True, slots=True)
class Exposure:
    """Mean nats at each distance from the prompt, on the model's own text and on the real one.

    error: standard error of the difference of the two means over all distances; None of one text.
    """

    own: tuple[float, ...]
    forced: tuple[float, ...]
    error: float | None

    @property
    def means(self) -> tuple[float, float]:
        """Mean nats on its own text and on the real one."""
        return sum(self.own) / len(self.own), sum(self.forced) / len(self.forced)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A model under examination; what its kind does not have is empty or None.

    corpus, title: name and title of the text that it learnt from and is examined on.
    gradients: `h`, and an LSTM's `c` -> median norm of the gradient of the loss at t with respect
    to that state at t - k, for k = 1, 2, ...
    """

    name: str
    kind: str
    corpus: str
    title: str
    tokenizer: str
    gradients: Mapping[str, tuple[float, ...]]
    matrices: tuple[Matrix, ...]
    gates: tuple[Gate, ...]
    exposure: Exposure | None
    positions: tuple[Bin, ...]
    frequencies: tuple[Bin, ...]


def factor_a_token(norms: tuple[float, ...]) -> float:
    """By what one step back in time multiplies the gradient, the geometric mean over all steps."""
    if len(norms) < 2 or norms[0] == 0:
        return 0.0
    return float((norms[-1] / norms[0]) ** (1 / (len(norms) - 1)))


def to_json(found: Diagnosis) -> str:
    """Everything, with a final line end; what is not a number cannot be in it."""
    return json.dumps(asdict(found), indent=1, allow_nan=False) + "\n"


def to_csv(found: Diagnosis) -> str:
    """A row a point of every picture: part, series, x, y, tokens (where they are counted)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("part", "series", "x", "y", "tokens"))
    writer.writerows(_rows(found))
    return out.getvalue()


def _rows(found: Diagnosis) -> Iterator[tuple[Any, ...]]:
    for state, norms in found.gradients.items():
        yield from (("gradient", state, k, norm, "") for k, norm in enumerate(norms, 1))
    for one in found.matrices:
        yield ("spectral_radius", one.gate, one.layer, one.radius, "")
    for gate in found.gates:
        series = f"layer {gate.layer}"
        yield from (("keep_gate", series, unit, y, "") for unit, y in enumerate(gate.units))
    if found.exposure:
        for series in ("own", "forced"):
            nats = getattr(found.exposure, series)
            yield from (("exposure", series, step, y, "") for step, y in enumerate(nats, 1))
    for part, bins in (("position", found.positions), ("frequency", found.frequencies)):
        for one_bin in bins:
            yield (part, f"to {one_bin.high}", one_bin.low, one_bin.nats, one_bin.tokens)
