"""N-gram models: time, memory and numbers, beside KenLM's lmplz and query where they are on PATH.

Text in, model on disk: the words of a text at orders 3 and 5, whole processes, taking turns with
lmplz (which writes ARPA text to the null device); 3 million characters at order 7; held-out words
scored, beside query on lmplz's model as a probing binary, loading included on both sides. Then
what must be right: distributions sum to one, scores equal distributions, and the perplexity is
KenLM's. The text is the 100 novels of the shared data, or one drawn by Zipf's law without them.

    python -m benchmarks.ngram [--quick] [--json FILE] [--words N] [--rounds N]
"""

import json
import lzma
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import report
from benchmarks.report import Row, absent, exact, timing
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.model import NgramModel
from textmill.ngram.storage import load, save
from textmill.tokenizers.characters import CharConfig, train_characters
from textmill.tokenizers.tokenizer import Tokenizer, with_line_ends
from textmill.tokenizers.words import WordConfig, train_words

DATA = Path(os.environ.get("TEXTMILL_TEST_DATA", "../shared/data"))
CHUNK = 50_000
Run = dict[str, Any]

# Linux counts in a process's peak memory what its parent held when it was forked, so each measured
# process has a small parent of its own.
LAUNCHER = """
import os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--words", type=int, default=5_000_000, help="words of text to train on")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, of which the median")
    parser.add_argument("--child", nargs=4, metavar=("TEXT", "UNIT", "ORDER", "FOLDER"))
    arguments = parser.parse_args()
    if arguments.child:
        text, unit, order, folder = arguments.child
        print(json.dumps(text_to_model(Path(text), unit, int(order), Path(folder))))
        return
    words, rounds = (60_000, 1) if arguments.quick else (arguments.words, arguments.rounds)
    with tempfile.TemporaryDirectory() as scratch:
        rows = measure(Path(scratch), words, rounds, quick=arguments.quick)
    report.show(rows, arguments.json)


def measure(scratch: Path, n_words: int, rounds: int, *, quick: bool) -> list[Row]:
    lines = some_text(n_words + n_words // 20)
    cut = len(lines) - len(lines) // 20
    training, held_out, characters = (scratch / f"{name}.txt" for name in ("train", "test", "char"))
    training.write_text("\n".join(lines[:cut]) + "\n")
    held_out.write_text("\n".join(lines[cut:]) + "\n")
    some = " ".join(lines)[: 50_000 if quick else 3_000_000]
    characters.write_text(re.sub("(.{80}) ", "\\1\n", some) + "\n")
    rows = []
    for order in (3, 5):
        rows += against_lmplz(training, order, scratch, rounds, quick=quick)
    ours = text_to_model_process(characters, "char", 7, scratch / "char")
    what = f"{ours['tokens'] / 1e6:.2g} million characters, order 7, text to model"
    rows += [
        timing(what, ours["seconds"], "s", at_most=20, quick=quick),
        timing("  peak memory", ours["megabytes"], "MB", at_most=1500, quick=quick),
    ]
    return rows + scored(training, held_out, scratch, rounds, quick=quick)


def some_text(n_words: int) -> list[str]:
    """Lines of about 15 words between single spaces, lower case."""
    novels = DATA / "novels100.txt.xz"
    if novels.exists():
        with lzma.open(novels, "rt", encoding="utf-8", newline="\n") as file:
            words = file.read(n_words * 7).lower().split()[:n_words]
    else:
        names = np.array([f"w{i}" for i in range(50_000)])
        chances = 1 / np.arange(1, len(names) + 1)
        drawn = np.random.default_rng(0).choice(len(names), n_words, p=chances / chances.sum())
        words = names[drawn].tolist()
    lengths = np.random.default_rng(1).integers(1, 30, len(words) // 15)
    bounds = [0, *np.cumsum(lengths).tolist()]
    return [" ".join(words[i:j]) for i, j in pairwise(bounds) if j <= len(words)]


def text_to_model(text: Path, unit: str, order: int, folder: Path) -> Run:
    """Tokenize, estimate, save, timed; what the measured child process does."""
    lines = read_lines(text)
    start = time.perf_counter()
    tokenizer = make_tokenizer(lines, unit)
    tokens, offsets = encode(tokenizer, lines)
    encoded = time.perf_counter()
    config = NgramConfig(
        unit, "kneser_ney", order, event_space="observed", kenlm_compat=unit == "word"
    )
    model = estimate(tokens, offsets, tokenizer.vocabulary, config)
    estimated = time.perf_counter()
    save(model, folder)
    return {"tokens": len(tokens), "encode": encoded - start, "estimate": estimated - encoded}


def read_lines(text: Path) -> pa.Array:
    return pa.array(text.read_text().split("\n")[:-1], pa.large_string())


def make_tokenizer(lines: pa.Array, unit: str) -> Tokenizer:
    if unit == "char":
        return train_characters(lines, CharConfig("char"))[0]
    return train_words(lines, WordConfig("word"))[0]


def encode(tokenizer: Tokenizer, lines: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    encoded = tokenizer.encode(lines)
    return with_line_ends(encoded.ids, encoded.offsets)


def text_to_model_process(text: Path, unit: str, order: int, folder: Path) -> Run:
    command = [
        sys.executable,
        "-m",
        "benchmarks.ngram",
        "--child",
        str(text),
        unit,
        str(order),
        str(folder),
    ]
    measured = run(command)
    return measured | json.loads(measured["output"])


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
    seconds, kilobytes = map(float, launched.stderr.split())
    output = launched.stdout.decode() if keep else ""
    return {"seconds": seconds, "megabytes": kilobytes / 1000, "output": output}


def lmplz(text: Path, order: int, scratch: Path, *, keep: bool = False) -> Run:
    """Its memory is what -S allows it, not what the text needs."""
    command = ["lmplz", "-o", str(order), "-S", "2G", "-T", str(scratch), "--discount_fallback"]
    if keep:
        command += ["--arpa", str(scratch / "lmplz.arpa")]
    return run(command, text, keep=False)


def against_lmplz(text: Path, order: int, scratch: Path, rounds: int, *, quick: bool) -> list[Row]:
    has_lmplz = shutil.which("lmplz") is not None
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(text_to_model_process(text, "word", order, scratch / f"word-{order}"))
        if has_lmplz:
            theirs.append(lmplz(text, order, scratch))
    what = f"{ours[0]['tokens'] / 1e6:.2g} million tokens, order {order}"
    seconds = median(ours, "seconds")
    rows = [
        timing(f"{what}, text to model", seconds, "s", quick=quick),
        timing("  of which estimation", median(ours, "estimate"), "s", quick=quick),
        timing("  peak memory", median(ours, "megabytes"), "MB", quick=quick),
    ]
    if not has_lmplz:
        return [*rows, absent("  lmplz, time and memory", "lmplz")]
    ratio = median(theirs, "seconds") / seconds
    return [
        *rows,
        timing("  lmplz", median(theirs, "seconds"), "s", quick=quick),
        timing("  lmplz, peak memory (-S 2G)", median(theirs, "megabytes"), "MB", quick=quick),
        timing("  speed, whole process", ratio, "x", against="lmplz", quick=quick),
    ]


def scored(training: Path, held_out: Path, scratch: Path, rounds: int, *, quick: bool) -> list[Row]:
    """Load and score, beside query; then what must be right whatever the machine."""
    tokenizer = make_tokenizer(read_lines(training), "word")
    tokens, _ = encode(tokenizer, read_lines(held_out))
    has_query = all(shutil.which(name) for name in ("lmplz", "build_binary", "query"))
    binary = scratch / "lmplz.binary"
    if has_query:
        lmplz(training, 5, scratch, keep=True)
        run(["build_binary", "probing", str(scratch / "lmplz.arpa"), str(binary)])
    ours, theirs = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        model = load(scratch / "word-5", tokenizer.vocabulary)
        nats = score(model, tokens)
        ours.append({"seconds": time.perf_counter() - start})
        if has_query:
            theirs.append(run(["query", "-v", "summary", str(binary)], held_out))
    rate = len(tokens) / median(ours, "seconds")
    rows = [timing("loaded and scored, order 5", rate, "tokens/s", quick=quick)]
    rows += right_numbers(model, tokens)
    if not has_query:
        return [*rows, absent("  query, speed and perplexity", "query or build_binary")]
    query_rate = len(tokens) / median(theirs, "seconds")
    printed = re.search(r"Perplexity including OOVs:\s*([\d.]+)", theirs[0]["output"])
    difference = float(abs(np.exp(nats.mean()) / float(printed[1] if printed else "nan") - 1))
    return [
        *rows,
        timing("  query", query_rate, "tokens/s", quick=quick),
        timing("  speed, loading included", rate / query_rate, "x", against="query", quick=quick),
        exact("perplexity, difference", difference, 1e-5, "query"),
    ]


def score(model: NgramModel, tokens: np.ndarray) -> np.ndarray:
    state, parts = model.start(1), []
    for first in range(0, len(tokens), CHUNK):
        nats, state = model.score(tokens[None, first : first + CHUNK], state)
        parts.append(nats[0])
    return np.concatenate(parts)


def right_numbers(model: NgramModel, tokens: np.ndarray) -> list[Row]:
    """After 64 histories of the text: the sum over all ids, and scores against distributions."""
    streams = tokens[: 64 * (len(tokens) // 64)].reshape(64, -1)[:, :12]
    _, state = model.score(streams[:, :-1], model.start(64))
    log_p = model.distribution(state)
    nats, _ = model.score(streams[:, -1:], state)
    sums = np.abs(np.exp(log_p).sum(axis=1) - 1).max()
    difference = np.abs(nats[:, 0] + log_p[np.arange(64), streams[:, -1]]).max()
    return [
        exact("distribution, distance of its sum to 1", float(sums), 1e-12),
        exact("score against distribution, nats", float(difference), 1e-12),
    ]


def median(runs: list[Run], name: str) -> float:
    return statistics.median(run[name] for run in runs)


if __name__ == "__main__":
    main()
