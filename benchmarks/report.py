"""How every benchmark speaks: rows of `{name, value, unit, target, holds, against, must_hold}`.

A row with a target says whether it holds. Times, rates and sizes are judged on the full run only:
under `--quick` their `holds` is null, while numbers that must be right are judged always.
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value. value None: what it is measured against is not on this machine.

    must_hold: a number that is wrong otherwise, and not only slow.
    """

    name: str
    value: float | None
    unit: str = ""
    target: float | None = None
    holds: bool | None = None
    against: str = ""
    must_hold: bool = False


def exact(name: str, value: float, at_most: float, against: str = "") -> Row:
    """A number that must be right on any machine."""
    return Row(name, value, target=at_most, holds=value <= at_most, against=against, must_hold=True)


def timing(
    name: str,
    value: float,
    unit: str,
    *,
    quick: bool,
    at_most: float | None = None,
    at_least: float | None = None,
    against: str = "",
) -> Row:
    """A time, rate, size or ratio; judged on the full run only."""
    target = at_most if at_most is not None else at_least
    holds = None
    if not quick and at_most is not None:
        holds = value <= at_most
    elif not quick and at_least is not None:
        holds = value >= at_least
    return Row(name, value, unit, target, holds, against)


def absent(name: str, missing: str, where: str = "on PATH") -> Row:
    """What could not be measured, since a program or a device is missing."""
    return Row(name, None, against=f"{missing} is not {where}")


def table(rows: list[Row]) -> str:
    """Rows as text columns."""
    width = max(len(row.name) for row in rows) + 2
    lines = [f"{'what':<{width}}{'value':>11} {'unit':<10}{'target':>9}  holds  against"]
    for row in rows:
        value = "absent" if row.value is None else _short(row.value)
        target = "" if row.target is None else f"{row.target:g}"
        holds = {None: "", True: "yes", False: "no"}[row.holds]
        lines.append(
            f"{row.name:<{width}}{value:>11} {row.unit:<10}{target:>9}  {holds:<6} {row.against}"
        )
    return "\n".join(line.rstrip() for line in lines)


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """The two options of every benchmark."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, under a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    return parser


def show(rows: list[Row], json_file: Path | None) -> None:
    """Print the table and write the rows where asked. Exits with 1 where a number is not right."""
    print(table(rows))
    if json_file:
        json_file.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    if wrong := [row.name for row in rows if row.must_hold and not row.holds]:
        sys.exit(f"not right: {', '.join(wrong)}")


def main(doc: str | None, measure: Callable[[bool], list[Row]]) -> None:
    """A benchmark without options of its own. measure: from `quick` to rows."""
    given = arguments(doc).parse_args()
    show(measure(given.quick), given.json)
