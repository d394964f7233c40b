"""Measured processes, and lmplz beside ours where it is on PATH."""

import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import Row, timing

Run = dict[str, Any]

# Linux counts in a process's peak memory what its parent held when it was forked, so each measured
# process has a small parent of its own.
LAUNCHER = """
import os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
processor = usage.ru_utime + usage.ru_stime
print(time.perf_counter() - start, processor, usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(command: list[str], source: Path | None = None, *, keep: bool = True) -> Run:
    """Wall seconds and peak megabytes of a process; its output, or none of it kept."""
    with (source or Path(os.devnull)).open("rb") as stdin:
        launched = subprocess.run(
            [sys.executable, "-c", LAUNCHER, *command],
            stdin=stdin,
            stdout=subprocess.PIPE if keep else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
            check=False,
        )
    if launched.returncode:
        raise SystemExit(f"ended with {launched.returncode}: {' '.join(command)}")
    seconds, processor, kilobytes = map(float, launched.stderr.split())
    output = launched.stdout.decode() if keep else ""
    return {
        "seconds": seconds,
        "processor": processor,
        "megabytes": kilobytes / 1000,
        "output": output,
    }


def lmplz(text: Path, order: int, scratch: Path, *, keep: bool = False) -> Run:
    """Its memory is what -S allows it, not what the text needs."""
    command = ["lmplz", "-o", str(order), "-S", "2G", "-T", str(scratch), "--discount_fallback"]
    if keep:
        command += ["--arpa", str(scratch / "lmplz.arpa")]
    return run(command, text, keep=False)


def taking_turns(
    one: Callable[[], Run], other: Callable[[], Run], rounds: int
) -> tuple[list[Run], list[Run]]:
    """Runs of ours and of lmplz, of which there are none where it is not on PATH."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(one())
        if shutil.which("lmplz") is not None:
            theirs.append(other())
    return ours, theirs


def ratio(
    name: str, ours: list[Run], theirs: list[Run], *, at_most: float | None, quick: bool
) -> Row:
    share = median(ours, "seconds") / median(theirs, "seconds")
    return timing(name, share, "x", at_most=at_most, against="lmplz", quick=quick)


def median(runs: list[Run], name: str) -> float:
    return statistics.median(run[name] for run in runs)
