"""What Prefect and MLflow cost beside `dvc repro`, and how fast they are there.

In a throw-away repository with three small models: `dvc repro` and the flow from nothing, the flow
with nothing to do, `make serve` on an empty home until it says that it is ready, publishing into no
store and again, and how much longer a training of some twenty seconds takes with `textmill follow`
beside it, into no store, by turns. `--quick` publishes what `pipeline --quick` makes.

    python -m benchmarks.services [--quick] [--json FILE]
"""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ruamel.yaml import YAML

from benchmarks.pipeline import copy_of_checkout, quick_pipeline, shrink, timed
from benchmarks.report import Row, exact, main, timing


def measure(quick: bool) -> list[Row]:
    if quick:
        return publish(quick_pipeline()[0], quick=True)
    with tempfile.TemporaryDirectory() as folder:
        checkout = copy_of_checkout(Path(folder) / "textmill")
        shrink(checkout / "params.yaml", shorter=False)
        repro, _ = timed(checkout, "dvc", "repro")
        beside = from_nothing(checkout, Path(folder) / "flow")
        nothing, _ = timed(checkout, sys.executable, "-m", "flows.command")
        ready = serve(checkout)
        return [
            timing("dvc repro from nothing", repro, "s", quick=False),
            *beside,
            timing("flow with nothing to do", nothing, "s", quick=False),
            timing("make serve ready, empty home", ready, "s", quick=False, at_most=60),
            *publish(checkout, quick=False),
            *followed(checkout),
        ]


def from_nothing(finished: Path, path: Path) -> list[Row]:
    """The flow in a fresh copy: its time, and whether DVC's lock is the same."""
    checkout = copy_of_checkout(path)
    shutil.copy(finished / "params.yaml", checkout / "params.yaml")
    seconds, _ = timed(checkout, sys.executable, "-m", "flows.command")
    locks = [YAML(typ="safe").load((one / "dvc.lock").read_text()) for one in (finished, checkout)]
    return [
        timing("flow from nothing, its server included", seconds, "s", quick=False),
        exact("entries of dvc.lock that differ", differing(*locks), 0),
    ]


def differing(first: dict[str, dict], second: dict[str, dict]) -> int:
    names = first["stages"].keys() | second["stages"].keys()
    return sum(first["stages"].get(name) != second["stages"].get(name) for name in names)


def serve(checkout: Path) -> float:
    """Seconds until `make serve` says that it is ready; it is ended afterwards."""
    shutil.rmtree(checkout / ".textmill/prefect", ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "flows.serve"], cwd=checkout, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if "ready after" in line:
            break
    else:
        raise SystemExit("make serve ended without being ready")
    seconds = time.perf_counter() - start
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    return seconds


def followed(checkout: Path, rounds: int = 5) -> list[Row]:
    """Seconds of one training alone and with a follower beside it, which fills a new store."""
    yaml = YAML()
    content = yaml.load((checkout / "params.yaml").read_text())
    content["networks"]["lstm_subword"] |= {"hidden": 256, "steps": 400, "evaluate_every": 100}
    with (checkout / "params.yaml").open("w") as file:
        yaml.dump(content, file)
    command = ("dvc", "repro", "--single-item", "--force", "train@lstm_subword")
    seconds: dict[str, list[float]] = {"alone": [], "followed": []}
    for _ in range(rounds):
        seconds["alone"].append(timed(checkout, *command)[0])
        forget_store(checkout)
        follower = subprocess.Popen(
            [sys.executable, "-m", "textmill.cli", "follow"], cwd=checkout, start_new_session=True
        )
        seconds["followed"].append(timed(checkout, *command)[0])
        follower.send_signal(signal.SIGTERM)
        follower.wait(timeout=60)
    alone, beside = (statistics.median(found) for found in seconds.values())
    return [
        timing("a training alone", alone, "s", quick=False),
        timing("with textmill follow beside it", beside / alone, "x", quick=False, against="alone"),
    ]


def forget_store(checkout: Path) -> None:
    (checkout / "mlflow.db").unlink()
    shutil.rmtree(checkout / "mlruns", ignore_errors=True)


def publish(checkout: Path, *, quick: bool) -> list[Row]:
    forget_store(checkout)
    first, _ = timed(checkout, "textmill", "publish")
    second, said = timed(checkout, "textmill", "publish")
    return [
        timing("publish into no store", first, "s", quick=quick),
        timing("publish with nothing new", second, "s", quick=quick),
        exact("models written when nothing is new", int("nothing new" not in said), 0),
    ]


if __name__ == "__main__":
    main(__doc__, measure)
