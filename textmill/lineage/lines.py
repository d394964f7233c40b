"""What a model needs for every test line: by it a later model is compared with this one.

A number of the summary and the lines behind it come from one run of one stage. Lines that add up
to another number are of another model or damaged, and would decide who is champion.
"""

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from textmill.base.errors import UserError
from textmill.base.files import read_table
from textmill.repository import layout

COLUMNS = ("doc", "bytes", "nats")
TOLERANCE = 1e-9
"""Relative: another order of adding is no other number."""


def of_model(name: str, summary: Mapping[str, Any], root: Path = Path()) -> pa.Table:
    """Document, bytes and nats of every test line. UserError where they are not the summary's."""
    path = layout.scores(name) / "test.arrow"
    scores = read_table(root / path)
    try:
        nats = pc.add(scores["nats_tokens"], scores["nats_spelling"])
        table = pa.table({"doc": scores["doc"], "bytes": scores["bytes"], "nats": nats})
        why = why_not(table, summary["test"]["bits_per_byte"])
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        why = f"it is not a table of scores ({error})"
    if why is not None:
        raise UserError(
            why,
            where=str(root / path),
            next_step=f"dvc checkout --force {layout.scores(name)}   "
            "(not in the cache: rm -r it, then dvc repro)",
        )
    return table


def why_not(table: pa.Table, told: float | None) -> str | None:
    """Why the lines are not those behind `told` bits per byte; None where they are.

    told: None for a model without such a number, which has no rank to be wrong about.
    """
    if missing := [name for name in COLUMNS if name not in table.column_names]:
        return f"it has no {', '.join(missing)}"
    if told is None:
        return None
    total = float(np.sum(table["nats"].to_numpy()))
    size = int(np.sum(table["bytes"].to_numpy()))
    found = total / (size * math.log(2)) if size else math.nan
    if math.isclose(found, told, rel_tol=TOLERANCE):
        return None
    return f"its lines need {found:.6f} bits per byte, its model {told:.6f}"


def digest(table: pa.Table) -> str:
    """sha256 of the values, whatever version of Arrow wrote them."""
    whole = hashlib.sha256()
    for name in COLUMNS:
        kind = np.float64 if name == "nats" else np.int64
        whole.update(np.ascontiguousarray(table[name].to_numpy(), dtype=kind).tobytes())
    return whole.hexdigest()
