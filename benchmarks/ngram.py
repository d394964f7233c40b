"""N-gram estimation: time, memory and files, beside KenLM's lmplz where it is on PATH.

Plain text in, model on disk: the words of a text at orders 3 and 5, whole processes, taking turns
with lmplz (which writes ARPA text to the null device), then both with the ARPA file on disk. Of
that, the part from tokens to a model. 3 million characters at order 7. And, in the full run, order
5 on four times the text under the memory limit: three more copies, in each of which a fifth of
the words is drawn anew from the unigrams, since plain copies break every discount. The text is
the 100 novels of the shared data, or one drawn by Zipf's law without them.

    python -m benchmarks.ngram [--quick] [--json FILE] [--words N] [--rounds N]
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks import report
from benchmarks.beside import Run, lmplz, median, ratio, run, taking_turns
from benchmarks.report import Row, absent, exact, timing
from benchmarks.texts import some_text, write_four_times
from textmill.ngram.arpa_write import write_arpa
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate_to
from textmill.ngram.storage import load
from textmill.tokenizers.characters import CharConfig, train_characters
from textmill.tokenizers.tokenizer import Tokenizer, with_line_ends
from textmill.tokenizers.words import WordConfig, train_words

MEMORY_LIMIT = 4e9


def main() -> None:
    parser = arguments_of(__doc__)
    child = ("TEXT", "UNIT", "ORDER", "FOLDER", "ARPA")
    parser.add_argument("--child", nargs=5, metavar=child)
    arguments = parser.parse_args()
    if arguments.child:
        text, unit, order, folder, arpa = arguments.child
        found = text_to_model(Path(text), unit, int(order), Path(folder), Path(arpa))
        print(json.dumps(found))
        return
    measured(arguments, measure)


def arguments_of(doc: str | None) -> argparse.ArgumentParser:
    """Options of the benchmarks of n-grams."""
    parser = report.arguments(doc)
    parser.add_argument("--words", type=int, default=14_000_000, help="words of text to train on")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, of which the median")
    return parser


def measured(arguments: argparse.Namespace, measure: Callable[..., list[Row]]) -> None:
    """Measure in a scratch folder, on less text if it is to be quick, and show the rows."""
    words, rounds = (60_000, 1) if arguments.quick else (arguments.words, arguments.rounds)
    with tempfile.TemporaryDirectory() as scratch:
        rows = measure(Path(scratch), words, rounds, quick=arguments.quick)
    report.show(rows, arguments.json)


def measure(scratch: Path, n_words: int, rounds: int, *, quick: bool) -> list[Row]:
    lines = some_text(n_words)
    training, characters, large = (scratch / f"{name}.txt" for name in ("train", "char", "large"))
    training.write_text("\n".join(lines) + "\n")
    some = " ".join(lines)[: 50_000 if quick else 3_000_000]
    characters.write_text(re.sub("(.{80}) ", "\\1\n", some) + "\n")
    rows = []
    for order in (3, 5):
        rows += against_lmplz(training, order, scratch, rounds, quick=quick)
    rows += with_arpa(training, scratch, rounds, quick=quick)
    ours = text_to_model_process(characters, "char", 7, scratch / "char")
    what = f"{millions(ours)} million characters, order 7, text to model"
    rows += [
        timing(what, ours["seconds"], "s", at_most=20, quick=quick),
        timing("  peak memory", ours["megabytes"], "MB", at_most=1500, quick=quick),
    ]
    write_four_times(lines, large)
    ours = text_to_model_process(large, "word", 5, scratch / "large")
    return [
        *rows,
        timing(f"{millions(ours)} million tokens, order 5", ours["seconds"], "s", quick=quick),
        timing("  of which tokens to model", ours["estimate"], "s", quick=quick),
        timing("  peak memory", ours["megabytes"], "MB", at_most=MEMORY_LIMIT / 1e6, quick=quick),
    ]


def text_to_model(text: Path, unit: str, order: int, folder: Path, arpa: Path) -> Run:
    """Tokenize, estimate, save, timed; what the measured child process does."""
    lines = read_lines(text)
    start = time.perf_counter()
    tokenizer = make_tokenizer(lines, unit)
    encoded = encode(tokenizer, lines)
    tokenized = time.perf_counter()
    config = NgramConfig(
        unit,
        "kneser_ney",
        order,
        event_space="observed",
        kenlm_compat=unit == "word",
        precision="single",
        memory_limit=MEMORY_LIMIT - 1e9,  # the text and its tokens are in this process too
    )
    estimate_to(folder, encoded, tokenizer.vocabulary, config, scratch=folder.with_suffix(".tmp"))
    estimated = time.perf_counter()
    if arpa.name != "none":
        write_arpa(load(folder, tokenizer.vocabulary), arpa)
    return {
        "tokens": len(encoded[0]),
        "encode": tokenized - start,
        "estimate": estimated - tokenized,
    }


def read_lines(text: Path) -> pa.Array:
    return pa.array(text.read_text().split("\n")[:-1], pa.large_string())


def make_tokenizer(lines: pa.Array, unit: str) -> Tokenizer:
    if unit == "char":
        return train_characters(lines, CharConfig("char"))[0]
    return train_words(lines, WordConfig("word"))[0]


def encode(tokenizer: Tokenizer, lines: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    encoded = tokenizer.encode(lines)
    return with_line_ends(encoded.ids, encoded.offsets)


def text_to_model_process(
    text: Path, unit: str, order: int, folder: Path, arpa: str = "none"
) -> Run:
    command = [
        sys.executable,
        "-m",
        "benchmarks.ngram",
        "--child",
        str(text),
        unit,
        str(order),
        str(folder),
        arpa,
    ]
    measured = run(command)
    return measured | json.loads(measured["output"])


def against_lmplz(text: Path, order: int, scratch: Path, rounds: int, *, quick: bool) -> list[Row]:
    ours, theirs = taking_turns(
        lambda: text_to_model_process(text, "word", order, scratch / f"word-{order}"),
        lambda: lmplz(text, order, scratch),
        rounds,
    )
    what = f"{millions(ours[0])} million tokens, order {order}"
    rows = [
        timing(f"{what}, text to model", median(ours, "seconds"), "s", quick=quick),
        timing("  of which tokens to model", median(ours, "estimate"), "s", quick=quick),
        timing("  processor time", median(ours, "processor"), "s", quick=quick),
        timing("  peak memory", median(ours, "megabytes"), "MB", quick=quick),
    ]
    if not theirs:
        return [*rows, absent("  lmplz, time and memory", "lmplz")]
    at_most = 0.5 if order == 5 else None
    return [
        *rows,
        timing("  lmplz", median(theirs, "seconds"), "s", quick=quick),
        timing("  lmplz, processor time", median(theirs, "processor"), "s", quick=quick),
        timing("  lmplz, peak memory (-S 2G)", median(theirs, "megabytes"), "MB", quick=quick),
        ratio("  wall time, share", ours, theirs, at_most=at_most, quick=quick),
    ]


def with_arpa(text: Path, scratch: Path, rounds: int, *, quick: bool) -> list[Row]:
    ours, theirs = taking_turns(
        lambda: text_to_model_process(text, "word", 5, scratch / "m", str(scratch / "ours.arpa")),
        lambda: lmplz(text, 5, scratch, keep=True),
        rounds,
    )
    rows = [
        timing("order 5 with the ARPA file", median(ours, "seconds"), "s", quick=quick),
        exact("  its unigrams, distance of their sum to 1", unigrams(scratch / "ours.arpa"), 1e-5),
    ]
    if not theirs:
        return [*rows, absent("  lmplz with its file", "lmplz")]
    return [*rows, ratio("  wall time, share", ours, theirs, at_most=0.7, quick=quick)]


def unigrams(arpa: Path) -> float:
    """How far the unigrams of an ARPA file, but for `<s>`, are from a distribution."""
    total = 0.0
    with arpa.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            if line.startswith("\\2-grams"):
                break
            number, tab, rest = line.rstrip("\n").partition("\t")
            if tab and rest.split("\t")[0] != "<s>":
                total += 10.0 ** float(number)
    return abs(total - 1.0)


def millions(measured: Run) -> str:
    return f"{measured['tokens'] / 1e6:.2g}"


if __name__ == "__main__":
    main()
