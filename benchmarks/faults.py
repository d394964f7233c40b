"""The shard stage, killed again and again: does it end in an undisturbed run's bytes?

A made-up text is cut into many pieces, and the stage's own code is run on it without DVC. Half of
the kills (SIGKILL) fall on a file being opened for writing, renamed, moved or removed, the rest on
a random moment of a run with two worker processes. After each, the stage is run again to its end:
its files must be an undisturbed run's, byte for byte, nothing half-written may lie about, and no
worker may have outlived its parent.

    python -m benchmarks.faults [--quick] [--json FILE]
"""

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

from benchmarks import report
from benchmarks.report import Row, exact
from textmill.base.files import read_table, sha256_of, write_json, write_table
from textmill.repository import layout
from textmill.scoring.spelling import train_spelling
from textmill.shards.lines import lines_of
from textmill.tokenizers import store
from textmill.tokenizers.words import WordConfig

ROOT = Path(__file__).parents[1]
READ_BY_THE_STAGE = ("textmill", "pipeline_steps", "dvc.yaml", "params.yaml")
TOKENIZER = "word"
BYTES_A_PIECE = 8_000

# The stage's own code in small pieces. With a number N it kills itself at the Nth touch of a file.
STAGE = """
import os, signal, sys
from pathlib import Path
from pipeline_steps import settings, shard
from textmill.shards import work

if __name__ == "__main__":
    mode, kill_at, key, bytes_a_piece = sys.argv[1:]
    sys.argv = ["shard", key]
    work.write_splits.__kwdefaults__["bytes_a_piece"] = int(bytes_a_piece)
    work.BYTES_FOR_THREADS = work.BYTES_FOR_PROCESSES = 0 if mode == "pool" else 1 << 60
    touches = 0

    def touch(event, arguments):
        global touches
        if event == "open" and not str(arguments[0]).endswith((".part", ".json")):
            return
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.move"):
            touches += 1
            if touches == int(kill_at):
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(touch)
    settings.run(shard.main)
    print("touches", touches)
"""


def main() -> None:
    report.main(__doc__, lambda quick: measure(1 if quick else 20))


def measure(kills: int) -> list[Row]:
    rng = np.random.default_rng(0)
    differ = orphans = left = hits = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_checkout(Path(scratch))
        touches = run_to_the_end(folder)
        expected = take_hashes(folder)
        for number in range(kills):
            if number % 2:
                hits += kill_at_touch(folder, int(rng.integers(1, touches + 1)))
            else:
                hit, alive = kill_pool(folder, int(rng.integers(len(expected) - 3)))
                hits, orphans = hits + hit, orphans + alive
            run_to_the_end(folder, "pool" if number % 4 < 2 else "alone")
            left += len(leftovers(folder))
            differ += take_hashes(folder) != expected
    return [
        exact(f"results that differ, of {kills} kills", differ, 0, "an undisturbed run"),
        exact("files left half-written", left, 0),
        exact("workers that outlived their parent", orphans, 0),
        Row("kills that hit a running stage", hits),
    ]


def make_checkout(folder: Path, n_lines: int = 4000) -> Path:
    """A folder with all that the stage reads: this code, a cleaned text and its vocabulary."""
    for name in READ_BY_THE_STAGE:
        (folder / name).symlink_to(ROOT / name)
    rng = np.random.default_rng(1)
    words = np.array([f"w{i}" for i in range(2000)])[rng.zipf(1.3, 12 * n_lines) % 2000]
    lines = [" ".join(row) + "\n" for row in words.reshape(n_lines, 12)]
    bounds = {"train": lines[200:], "valid": lines[:100], "test": lines[100:200]}
    for split, some in bounds.items():
        # One long document and some short ones: both ways of cutting.
        texts = ["".join(some[: n_lines // 2]), *some[n_lines // 2 :]]
        write_table(folder / layout.clean_split(split), documents_table(texts))
    write_json(folder / layout.CLEAN_SUMMARY, {"sha256": dict.fromkeys(bounds, "0")})
    train = read_table(folder / layout.clean_split("train"))
    config = WordConfig("word", minimum_frequency=2)
    tokenizer, unknown = store.train(lines_of(train).text, config)
    vocabulary = folder / layout.vocabulary(TOKENIZER)
    vocabulary.mkdir(parents=True)
    store.save(tokenizer, config, vocabulary)
    spelling = train_spelling(unknown, tokenizer.vocabulary, tokenizer.kind)
    spelling.save(vocabulary / "spelling")
    return folder


def documents_table(texts: list[str]) -> pa.Table:
    sizes = [len(text.encode()) for text in texts]
    names = [str(number) for number in range(len(texts))]
    columns = {"doc_id": names, "text": pa.array(texts, pa.large_string()), "n_bytes": sizes}
    return pa.table(columns)


def run_to_the_end(folder: Path, mode: str = "alone") -> int:
    """Run the stage; how often it touched a file."""
    with start(folder, mode) as process:
        output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"the stage ended with {process.returncode}: {output}")
    return int(output.split()[-1])


def kill_at_touch(folder: Path, number: int) -> bool:
    """Run the stage until it touches a file for the `number`th time; whether it was killed."""
    shutil.rmtree(folder / layout.shards(TOKENIZER), ignore_errors=True)
    with start(folder, "alone", number) as process:
        process.communicate()
    return process.returncode == -signal.SIGKILL


def kill_pool(folder: Path, n_finished: int) -> tuple[bool, int]:
    """Kill the stage when so many shards are finished; whether it still ran, and orphans."""
    shutil.rmtree(folder / layout.shards(TOKENIZER), ignore_errors=True)
    with start(folder, "pool") as process:
        while process.poll() is None and len(records(folder)) < max(n_finished, 1):
            time.sleep(0.002)
        children = psutil.Process(process.pid).children() if process.poll() is None else []
        process.kill()
    _, alive = psutil.wait_procs(children, timeout=20)
    return process.returncode == -signal.SIGKILL, len(alive)


def start(folder: Path, mode: str, kill_at: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", STAGE, mode, str(kill_at), TOKENIZER, str(BYTES_A_PIECE)]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, cwd=folder, text=True, **output)


def records(folder: Path) -> list[Path]:
    """What the stage's scratch folder says is finished."""
    return list((folder / layout.SCRATCH).glob("*/*.json"))


def leftovers(folder: Path) -> list[Path]:
    """What a finished stage should have cleared away."""
    scratch = folder / layout.SCRATCH
    return [*scratch.glob("*"), *(folder / layout.shards(TOKENIZER)).parent.rglob("*.part")]


def take_hashes(folder: Path) -> dict[str, str]:
    """sha256 of every file that the stage has written."""
    return {p.name: sha256_of(p) for p in sorted((folder / layout.shards(TOKENIZER)).iterdir())}


if __name__ == "__main__":
    main()
