"""N-gram queries: rates, sizes and numbers, beside KenLM where it is on this machine.

Words held out are scored by the mapped model, in bulk beside `query` on lmplz's probing binary
(both read text, loading included) and beside PyPI's `kenlm`, a sentence at a time. Files are
compared with KenLM's trie, the coded form with its `-q 8 -b 8 -a 22`. Then what must be right:
distributions sum to one, scores equal distributions, the perplexity is KenLM's.

    python -m benchmarks.ngram_queries [--quick] [--json FILE] [--words N] [--rounds N]
"""

import importlib.util
import re
import shutil
import time
from pathlib import Path

import numpy as np

from benchmarks.beside import lmplz, median, run
from benchmarks.ngram import arguments_of, encode, make_tokenizer, measured, read_lines
from benchmarks.report import Row, absent, exact, timing
from benchmarks.texts import some_text
from textmill.ngram.columns import Precision
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.model import NgramModel
from textmill.ngram.storage import load, save
from textmill.tokenizers.tokenizer import Tokenizer

ORDER = 5
TIMES = 10
"""How many times the held-out text is scored, as a longer one."""


def main() -> None:
    measured(arguments_of(__doc__).parse_args(), measure)


def measure(scratch: Path, n_words: int, rounds: int, *, quick: bool) -> list[Row]:
    lines = some_text(n_words)
    cut = len(lines) - len(lines) // 50
    training, held_out = scratch / "train.txt", scratch / "test.txt"
    training.write_text("\n".join(lines[:cut]) + "\n")
    held_out.write_text("\n".join(lines[cut:] * TIMES) + "\n")
    tokenizer = make_tokenizer(read_lines(training), "word")
    for precision in ("double", "single", "coded"):
        save(trained(training, tokenizer, precision), scratch / precision)
    tokens, _ = encode(tokenizer, read_lines(held_out))
    kenlm = all(shutil.which(name) for name in ("lmplz", "build_binary", "query"))
    if kenlm:
        lmplz(training, ORDER, scratch, keep=True)
        for name, options in (
            ("probing", ["probing"]),
            ("trie", ["trie"]),
            ("coded-trie", ["-q", "8", "-b", "8", "-a", "22", "trie"]),
        ):
            run(["build_binary", *options, str(scratch / "lmplz.arpa"), str(scratch / name)])
    rows = opened(scratch, tokenizer, tokens, rounds, quick=quick)
    rows += beside_query(scratch, tokenizer, held_out, rounds, kenlm=kenlm, quick=quick)
    rows += beside_package(scratch, tokenizer, lines[cut:], rounds, kenlm=kenlm, quick=quick)
    return rows + sizes(scratch, tokenizer, tokens, kenlm=kenlm, quick=quick)


def trained(training: Path, tokenizer: Tokenizer, precision: Precision) -> NgramModel:
    config = NgramConfig(
        "word",
        "kneser_ney",
        ORDER,
        event_space="observed",
        kenlm_compat=True,
        precision=precision,
    )
    return estimate(*encode(tokenizer, read_lines(training)), tokenizer.vocabulary, config)


def opened(
    scratch: Path, tokenizer: Tokenizer, tokens: np.ndarray, rounds: int, *, quick: bool
) -> list[Row]:
    seconds = []
    for _ in range(rounds + 1):  # the first compiles, or reads what was compiled
        start = time.perf_counter()
        model = load(scratch / "single", tokenizer.vocabulary)
        seconds.append(time.perf_counter() - start)
    exact_model = load(scratch / "double", tokenizer.vocabulary)
    return [
        timing("model opened and checked", min(seconds), "s", at_most=0.2, quick=quick),
        *right_numbers(exact_model, tokens, 1e-12),
        *right_numbers(model, tokens, 1e-6),
    ]


def beside_query(
    scratch: Path, tokenizer: Tokenizer, text: Path, rounds: int, *, kenlm: bool, quick: bool
) -> list[Row]:
    ours, theirs = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        model = load(scratch / "single", tokenizer.vocabulary)
        tokens, _ = encode(tokenizer, read_lines(text))
        encoded = time.perf_counter()
        nats, _ = model.score(tokens[None, :], model.start(1))
        done = time.perf_counter()
        ours.append({"seconds": done - start, "score": done - encoded})
        if kenlm:
            theirs.append(run(["query", "-v", "summary", str(scratch / "probing")], text))
    rate = len(tokens) / median(ours, "score")
    rows = [
        timing("scored in bulk, from ids", rate, "tokens/s", quick=quick),
        timing("  from text", len(tokens) / median(ours, "seconds"), "tokens/s", quick=quick),
    ]
    if not kenlm:
        return [*rows, absent("  query, speed and perplexity", "query or build_binary")]
    query_rate = len(tokens) / median(theirs, "seconds")
    printed = re.search(r"Perplexity including OOVs:\s*([\d.]+)", theirs[0]["output"])
    difference = float(abs(np.exp(nats.mean()) / float(printed[1] if printed else "nan") - 1))
    return [
        *rows,
        timing("  query", query_rate, "tokens/s", quick=quick),
        timing("  from ids", rate / query_rate, "x", at_least=1, against="query", quick=quick),
        exact("perplexity, difference", difference, 1e-5, "query"),
    ]


def beside_package(
    scratch: Path,
    tokenizer: Tokenizer,
    lines: list[str],
    rounds: int,
    *,
    kenlm: bool,
    quick: bool,
) -> list[Row]:
    if not (kenlm and importlib.util.find_spec("kenlm")):
        return [absent("PyPI's kenlm, a sentence at a time", "the kenlm package or lmplz")]
    import kenlm as package  # noqa: PLC0415  an oracle that few machines have

    model = load(scratch / "single", tokenizer.vocabulary)
    oracle = package.Model(str(scratch / "probing"))
    tokens, _ = encode(tokenizer, read_lines(scratch / "test.txt"))
    ours, theirs = [], []
    for _ in range(rounds):
        start = time.perf_counter()
        model.score(tokens[None, :], model.start(1))
        ours.append({"seconds": (time.perf_counter() - start) / TIMES})
        start = time.perf_counter()
        for line in lines:
            oracle.score(line)
        theirs.append({"seconds": time.perf_counter() - start})
    share = median(theirs, "seconds") / median(ours, "seconds")
    what = "in bulk, speed"
    return [timing(what, share, "x", at_least=5, against="kenlm, a sentence a time", quick=quick)]


def sizes(
    scratch: Path, tokenizer: Tokenizer, tokens: np.ndarray, *, kenlm: bool, quick: bool
) -> list[Row]:
    tokens = tokens[: len(tokens) // TIMES]
    rows, perplexities = [], {}
    for precision, beside in (("double", ""), ("single", "trie"), ("coded", "coded-trie")):
        folder = scratch / precision
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        model = load(folder, tokenizer.vocabulary)
        nats, _ = model.score(tokens[None, :], model.start(1))
        perplexities[precision] = float(np.exp(nats.mean()))
        at_most = (scratch / beside).stat().st_size / 1e6 if kenlm and beside else None
        against = f"KenLM's {beside}" if beside else ""
        rows.append(
            timing(
                f"{precision} on disk", size, "MB", at_most=at_most, against=against, quick=quick
            )
        )
    for precision, at_most in (("single", 1e-6), ("coded", 0.01)):
        worse = perplexities[precision] / perplexities["double"] - 1
        rows.append(exact(f"{precision}, perplexity raised by", abs(worse), at_most, "double"))
    return rows


def right_numbers(model: NgramModel, tokens: np.ndarray, within: float) -> list[Row]:
    """After 64 histories of the text: the sum over all ids, and scores against distributions."""
    streams = tokens[: 64 * (len(tokens) // 64)].reshape(64, -1)[:, :12]
    _, state = model.score(streams[:, :-1], model.start(64))
    log_p = model.distribution(state)
    nats, _ = model.score(streams[:, -1:], state)
    sums = np.abs(np.exp(log_p).sum(axis=1) - 1).max()
    difference = np.abs(nats[:, 0] + log_p[np.arange(64), streams[:, -1]]).max()
    precision = model.config.precision
    return [
        exact(f"{precision}: distribution, distance of its sum to 1", float(sums), within),
        exact(f"{precision}: score against distribution, nats", float(difference), 1e-12),
    ]


if __name__ == "__main__":
    main()
