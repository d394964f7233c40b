"""What is asked of a flow, checked before anything is started: wrong words cost half a second."""

import math
from collections.abc import Sequence
from pathlib import Path

from flows.cores import read_cores
from flows.graph import Graph
from pipeline_steps.check import check as check_params
from pipeline_steps.check import check_chosen
from textmill.base.errors import UserError
from textmill.repository.stages import read_stages


def check(
    root: Path, targets: Sequence[str] | None, cores: int | None, timeout_minutes: float | None
) -> None:
    """UserError for the first mistake in the arguments, or what `textmill check` refuses.

    Names alone are compared, with dvc.yaml: DVC itself does not read it where dvc.lock is damaged.
    """
    for name, value in (("cores", cores), ("timeout_minutes", timeout_minutes)):
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise UserError(f"{name} must be a number greater than 0 (it is {value})")
    check_params(root)
    check_chosen(root)
    read_cores(root)
    Graph({stage.name: frozenset() for stage in read_stages(root)}).select(targets or [])
