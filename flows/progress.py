"""What a step says of its progress: `training: 12,345/67,890 tokens, loss 4.2, 3:10 left`."""

import re
from dataclasses import dataclass

_LINE = re.compile(r"(?P<label>\w[\w ]*): (?P<done>[\d,]+)/(?P<total>[\d,]+) \w+")


@dataclass(frozen=True, slots=True)
class Step:
    """percent: of the work that `label` names, 0 to 100; text: the whole line."""

    label: str
    percent: float
    text: str


def parse(line: str) -> Step | None:
    """Progress in a line of a stage's output; None where the line is of something else."""
    found = _LINE.match(line.strip())
    if found is None:
        return None
    done, total = (int(found[name].replace(",", "")) for name in ("done", "total"))
    if total == 0:
        return None
    return Step(found["label"], min(100.0, 100.0 * done / total), line.strip())
