"""Learning curves on one scale: bits per byte on validation against the text read.

A network's history holds nats per token and tokens seen, and a token is another amount of text
for every tokenizer. The validation split says how much: its bytes for its tokens. With them, and
with the spelling of its unknown words, which training does not change, every network's curve
stands on the axes of all the others.
"""

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError

COLUMNS = ("step", "tokens", "train_loss", "valid_loss", "learning_rate", "gradient_norm")
"""What of a history is plotted, all of it numbers."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One network's looks at the validation split, in order."""

    name: str
    tokenizer: str
    megabytes: tuple[float, ...]
    """Training text read so far, every pass over it counted anew."""
    bits_per_byte: tuple[float, ...]

    @property
    def best(self) -> int:
        """The look whose weights were kept: the first of the best."""
        return self.bits_per_byte.index(min(self.bits_per_byte))


def learning_curves(
    histories: Mapping[str, Path], metrics: Mapping[str, Mapping[str, Any]]
) -> tuple[Curve, ...]:
    """A curve for each history of a model in `metrics`, the byte-comparable ones, by name."""
    curves = []
    for name in sorted(histories.keys() & metrics.keys()):
        looks = _looks(histories[name])
        curve = _curve(name, metrics[name], [look for look in looks if math.isfinite(look[1])])
        if curve.megabytes:
            curves.append(curve)
    return tuple(curves)


def render_curves(histories: Mapping[str, Path]) -> str:
    """CSV for plots: every look of every history as it is, behind the name of its model."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("model", *COLUMNS))
    for name, path in sorted(histories.items()):
        rows = read_history(path)
        writer.writerows((name, *(row[column] for column in COLUMNS)) for row in rows)
    return out.getvalue()


def _looks(path: Path) -> list[tuple[int, float]]:
    """Tokens and validation loss of every look."""
    return [(int(row["tokens"]), float(row["valid_loss"])) for row in read_history(path)]


def read_history(path: Path) -> list[dict[str, str]]:
    """The columns of every look, all of them numbers; UserError naming a damaged file."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            for column in {*COLUMNS, *row}:
                float(row[column])
        return rows
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise UserError(
            f"it is not a whole learning history ({error!r})",
            where=str(path),
            next_step=f"rm {path}, then: dvc checkout {path}   (not in the cache: dvc repro)",
        ) from None


def _curve(name: str, found: Mapping[str, Any], looks: list[tuple[int, float]]) -> Curve:
    valid = found["valid"]
    bytes_a_token = valid["bytes"] / valid["tokens"]
    spelling = valid["nats_spelling"] / valid["bytes"]
    return Curve(
        name=name,
        tokenizer=found["tokenizer"],
        megabytes=tuple(tokens * bytes_a_token / 1e6 for tokens, _ in looks),
        bits_per_byte=tuple((loss / bytes_a_token + spelling) / math.log(2) for _, loss in looks),
    )
