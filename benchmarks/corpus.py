"""Text to shards, beside the textbooks' plain Python, HuggingFace and sentencepiece itself.

Each way takes the same cleaned text to a vocabulary and ids on disk, in a process of its own, by
turns; the seconds are those of the work, without starting Python and importing, and without
loading what numba has compiled, which is a row of its own. Plain Python is a
regular expression, `split`, `Counter` and a dictionary; HuggingFace is `tokenizers` under
`datasets.map` with two processes; sentencepiece encodes with its own threads and keeps nothing.
For subwords the model is learnt before: both sides encode with it. The spelling model, which no
other way has, is a row of its own. Then memory, and time and memory for four times the text.
`--quick` takes one short text and leaves out compiling and growth.

    python -m benchmarks.corpus [--quick] [--json FILE] [--texts NAME ...] [--rounds N]
"""

import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import psutil
import pyarrow as pa

from benchmarks import report
from benchmarks.faults import documents_table
from benchmarks.report import Row, exact, timing
from benchmarks.texts import DATA, some_text
from benchmarks.ways import CONFIGS, Run
from textmill.base.files import write_table
from textmill.tokenizers import store

TEXTS = ("time_machine", "wikitext2", "novels100")


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--texts", nargs="+", default=TEXTS, choices=TEXTS)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, of which the median")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        rows = measure(Path(scratch), given.texts, given.rounds, quick=given.quick)
    report.show(rows, given.json)


def measure(scratch: Path, names: list[str], rounds: int, *, quick: bool) -> list[Row]:
    rows = [] if quick else kernels(scratch / "kernels")
    for name in ["some text"] if quick else names:
        lines = some_text(30_000) if quick else lines_of_text(name)
        if lines is None:
            rows.append(Row(name, None, against=f"it is not in {DATA}"))
            continue
        folder = make_folder(scratch / name, lines)
        for kind in ("word", "char"):
            rows += against_others(name, kind, folder, 1 if quick else rounds, quick=quick)
        rows += against_sentencepiece(name, folder, 1 if quick else rounds, quick=quick)
    if not quick and names[-1] == "novels100":
        rows += growth(folder, lines, scratch / "four")
    return rows


def lines_of_text(name: str) -> list[str] | None:
    """The lines of a text of the shared data, single spaces between words; None without it."""
    files = {"time_machine": "timemachine.txt", "wikitext2": "wikitext-2-v1.zip"}
    path = DATA / files.get(name, "novels100.txt.xz")
    if not path.exists():
        return None
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            text = archive.read("wikitext-2/wiki.train.tokens").decode()
    else:
        data = path.read_bytes()
        text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode()
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return [line for line in lines if line]


def make_folder(folder: Path, lines: list[str]) -> Path:
    """The text as plain text and as a cleaned split, and a subword model for both sides."""
    folder.mkdir()
    text = "\n".join(lines) + "\n"
    (folder / "text").write_text(text, newline="\n")
    write_table(folder / "train.arrow", documents_table([text]))
    config = CONFIGS["subword"]
    tokenizer, _ = store.train(pa.array(lines[:20_000], pa.large_string()), config)
    (folder / "subword").mkdir()
    store.save(tokenizer, config, folder / "subword")
    return folder


def child(way: str, kind: str, folder: Path, *, watch: bool = False) -> Run:
    """Run one way in a process of its own; `megabytes`: peak of its processes, where watched."""
    command = [sys.executable, "-m", "benchmarks.ways", way, kind, str(folder)]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"}
    environment["RAYON_NUM_THREADS"] = "1"  # a process each for two cores, as in datasets.map
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, cwd=root, env=environment, **output) as process:
        peak = 0
        while watch and process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            time.sleep(0.05)
        printed, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{way} ended with {process.returncode}: {' '.join(command)}")
    return json.loads(printed.splitlines()[-1]) | {"megabytes": peak / 1e6}


def memory_of(pid: int) -> int:
    """Bytes that a process and its children hold, shared pages counted once."""
    total = 0
    try:
        for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            total += process.memory_full_info().pss
    except (psutil.Error, AttributeError):
        return total
    return total


def by_turns(ways: list[str], kind: str, folder: Path, rounds: int) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            runs[way].append(child(way, kind, folder))
    return runs


def seconds_of(runs: list[Run], which: str = "seconds") -> float:
    return statistics.median(run[which] for run in runs)


def processor_ratio(runs: dict[str, list[Run]], way: str) -> Row:
    """What does not depend on what else the machine does, nor on who uses both cores."""
    ratio = seconds_of(runs[way], "processor") / seconds_of(runs["ours"], "processor")
    return Row("    in processor seconds", ratio, "x", against=way)


def kernels(folder: Path) -> list[Row]:
    """What a first run compiles, and what every process that splits a text loads."""
    make_folder(folder, some_text(1000))
    os.environ["NUMBA_CACHE_DIR"] = str(folder / "compiled")
    runs = [child("ours", kind, folder) for kind in (*CONFIGS, *CONFIGS)]
    del os.environ["NUMBA_CACHE_DIR"]
    first = sum(run["starting"] for run in runs[: len(CONFIGS)])
    loading = statistics.median(run["starting"] for run in runs[len(CONFIGS) :])
    once = timing("kernels: three first runs", first, "s", quick=False, at_most=6 + 3 * loading)
    return [once, timing("  every later start", loading, "s", quick=False)]


def against_others(name: str, kind: str, folder: Path, rounds: int, *, quick: bool) -> list[Row]:
    has_hf = find_spec("datasets") is not None and find_spec("tokenizers") is not None
    ways = ["ours", "with_spelling", "plain", *["huggingface"] * has_hf]
    runs = by_turns(ways, kind, folder, rounds)
    mine = seconds_of(runs["ours"])
    rows = [timing(f"{name}, {kind}: text to shards", mine, "s", quick=quick)]
    spelt = seconds_of(runs["with_spelling"])
    rows.append(timing("  with a spelling model", spelt, "s", quick=quick))
    for way, target in (("plain", 8), ("huggingface", 4)):
        if way not in runs:
            rows.append(Row(f"  speed against {way}", None, against="datasets is not installed"))
            continue
        ratio = seconds_of(runs[way]) / mine
        what = f"  speed against {way}"
        rows.append(timing(what, ratio, "x", at_least=target, against=way, quick=quick))
        rows.append(processor_ratio(runs, way))
        same = {run["tokens"] for run in (*runs["ours"], *runs[way])}
        rows.append(exact("  numbers of tokens", len(same), 1, way))
    differ = {run["ids"] for run in (*runs["ours"], *runs["with_spelling"], *runs["plain"])}
    return [*rows, exact("  different ids", len(differ) - 1, 0, "plain")]


def against_sentencepiece(name: str, folder: Path, rounds: int, *, quick: bool) -> list[Row]:
    runs = by_turns(["ours", "sentencepiece"], "subword", folder, rounds)
    mine, theirs = (seconds_of(runs[way]) for way in ("ours", "sentencepiece"))
    same = {run["tokens"] for way in runs.values() for run in way}
    what = "  rate against its own encoding"
    return [
        timing(f"{name}, subword: text to shards", mine, "s", quick=quick),
        timing(what, theirs / mine, "x", at_least=0.9, against="sentencepiece", quick=quick),
        processor_ratio(runs, "sentencepiece"),
        exact("  numbers of tokens", len(same), 1, "sentencepiece"),
    ]


def growth(folder: Path, lines: list[str], four: Path) -> list[Row]:
    """Peak memory, and what four times the text takes of it and of time."""
    make_folder(four, lines * 4)
    rows = []
    for kind in CONFIGS:
        once, more = (child("ours", kind, place, watch=True) for place in (folder, four))
        peak, ratio = once["megabytes"], more["megabytes"] / once["megabytes"]
        time_ratio = more["processor"] / once["processor"]
        rows += [
            timing(f"{kind}: peak memory", peak, "MB", at_most=1500, quick=False),
            timing("  of four times the text", ratio, "x", at_most=1.25, quick=False),
            timing("  processor seconds for it", time_ratio, "x", at_most=4.4, quick=False),
        ]
    return rows


if __name__ == "__main__":
    main()
