"""How OpenMP's threads should wait: alone on the machine, and with a second training beside.

Each way of waiting trains the default subword network's sizes for some seconds with two threads,
once alone and twice at the same time. Spinning for ever is fast alone and a standstill in company;
sleeping at once is slow alone; `GOMP_SPINCOUNT=1000`, which every step sets, is in between.
`--quick` asks two ways, alone, whether the numbers stay the same.

    python -m benchmarks.threads [--quick] [--json FILE]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import Row, exact, main, timing
from benchmarks.training import make_run

WAYS = {
    "sleep at once": {"OMP_WAIT_POLICY": "PASSIVE"},
    "spin for ever": {"OMP_WAIT_POLICY": "ACTIVE"},
    "libgomp's default": {},
    "spin 1000 times": {"GOMP_SPINCOUNT": "1000"},
}
STEADY = 5


def measure(quick: bool) -> list[Row]:
    seconds, rounds = (0.1, 1) if quick else (6.0, 3)
    ways = dict(list(WAYS.items())[::3]) if quick else WAYS
    rates: dict[tuple[str, int], list[float]] = {}
    losses: set[str] = set()
    for _ in range(rounds):
        for way, settings in ways.items():
            for company in (1,) if quick else (1, 2):
                rates.setdefault((way, company), []).append(
                    train(settings, company, seconds, losses)
                )
    rows = []
    for (way, company), found in rates.items():
        who = "alone" if company == 1 else "each of two"
        middle = sorted(found)[len(found) // 2]
        rows.append(timing(f"{way}, {who}", middle, "tokens/s", quick=quick))
    return [*rows, exact("losses that differ between the ways", len(losses) - 1, 0)]


def train(settings: dict[str, str], company: int, seconds: float, losses: set[str]) -> float:
    """Tokens a second of the slowest of `company` trainings at once; their losses are kept."""
    unset = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    command = [sys.executable, "-m", "benchmarks.threads", "--child", str(seconds)]
    children = [
        subprocess.Popen(
            command, cwd=Path(__file__).parents[1], env=unset | settings,
            stdout=subprocess.PIPE, text=True,
        )
        for _ in range(company)
    ]  # fmt: skip
    printed = [child.communicate()[0].split() for child in children]
    losses.update(loss for _, loss in printed)
    return min(float(rate) for rate, _ in printed)


def child(seconds: float) -> None:
    """Train for some seconds; print tokens a second and the loss of a fixed early step."""
    with tempfile.TemporaryDirectory() as scratch:
        run = make_run("bfloat16", 0.2, Path(scratch))
        loss = [run.take_step()[0] for _ in range(STEADY)][-1]
        tokens, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            tokens += run.take_step()[1]
        print(tokens / (time.perf_counter() - start), loss.hex())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(float(sys.argv[2]))
    else:
        main(__doc__, measure)
