"""WikiText-2 at the word level from nothing: an LSTM, adapted, mixed with an n-gram model.

The standard vocabulary and conventions: every line ends in an event, blank lines too, so the test
text has 245,569 tokens; all of them are scored, the state is carried over the whole split. What is
chosen is chosen on validation: the best step of training, the adapting's settings (on its first
quarter), the weights of mixtures. Processor hours are those of all threads: of training, looks at
validation included, of the rest, and in all, from reading the text to the last number; the limit is
for all. Training keeps a checkpoint in --folder: what was interrupted goes on there, its seconds
are counted on, to the last minute also after SIGKILL. A model that is in --folder is taken if it
has this configuration. The table goes into docs/results.md too.
`--quick` takes a small text, trains for a moment and writes nothing there.

    python -m benchmarks.wikitext2 [--quick] [--json FILE] [--folder FOLDER]
"""

import json
import logging
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa

import pipeline_steps  # noqa: F401 - threads that wait sleep soon, as in every step
from benchmarks import report
from benchmarks.report import Row, absent, exact, timing
from benchmarks.texts import DATA, some_text
from textmill.adapting.adapt import tune
from textmill.adapting.config import AdaptedConfig, CacheConfig, DynamicConfig
from textmill.base.files import read_record, write_atomically, write_json
from textmill.neural.config import NetworkConfig
from textmill.neural.model import load
from textmill.neural.train import train
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.scoring.likelihood import token_nats
from textmill.scoring.mixture import fit_weight, mix
from textmill.shards.reader import SPLITS, Lines
from textmill.tokenizers.tokenizer import with_line_ends
from textmill.tokenizers.vocabulary import Vocabulary
from textmill.tokenizers.words import WordConfig, WordTokenizer, train_words

ARCHIVE = DATA / "wikitext-2-v1.zip"
TEST_TOKENS = 245_569
CPU_HOURS = 3
NETWORK = NetworkConfig(
    tokenizer="word",
    embedding=450,
    hidden=450,
    layers=2,
    head="adaptive",
    tied=True,
    cutoffs=(2_000, 10_000),
    dropout=0.3,
    embedding_dropout=0.1,
    batch=64,
    bptt=40,
    truncation="variable",
    learning_rate=3e-3,
    warmup=200_000,
    weight_decay=0.02,
    clip=0.5,
    tokens=26_000_000,
    evaluate_every=1_000_000,
    precision="bfloat16",
)
ADAPTED = AdaptedConfig(
    model="lstm",
    tokenizer="word",
    cache=CacheConfig(windows=(2000, 4000), thetas=(0.3, 0.6, 1.0)),
    dynamic=DynamicConfig(learning_rates=(1.5e-3, 3e-3), decays=(3e-4, 1e-3)),
)
TINY = replace(
    NETWORK, embedding=16, hidden=16, cutoffs=(20,), batch=8, bptt=10, warmup=500,
    tokens=6_000, evaluate_every=3_000, precision="float32",
)  # fmt: skip
TINY_ADAPTED = replace(
    ADAPTED,
    cache=CacheConfig(windows=(500,), thetas=(1.0,)),
    dynamic=DynamicConfig(learning_rates=(2e-3,)),
)
SPENT = "spent.json"
RESULTS = Path(__file__).parents[1] / "docs/results.md"
DEAD_ENDS = "## Dead ends"
Nats = dict[str, np.ndarray]


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--folder", type=Path, help="keeps checkpoint and model; made if need be")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    if not given.quick and not ARCHIVE.exists():
        report.show([absent("WikiText-2", ARCHIVE.name, f"in {DATA}")], given.json)
        return
    with tempfile.TemporaryDirectory() as scratch:
        rows = measure(given.folder or Path(scratch), quick=given.quick)
    report.show(rows, given.json)
    if not given.quick:
        write_atomically(RESULTS, with_section(RESULTS.read_text(), rows, date.today()))


def measure(folder: Path, *, quick: bool) -> list[Row]:
    folder.mkdir(parents=True, exist_ok=True)
    lines, vocabulary = encoded(small_splits() if quick else wikitext2())
    config, adapted = (TINY, TINY_ADAPTED) if quick else (NETWORK, ADAPTED)
    ngram = estimate(
        lines["train"].tokens,
        lines["train"].offsets,
        vocabulary,
        NgramConfig("word", "kneser_ney", 5, event_space="observed"),
    )
    kn5 = {split: token_nats(ngram, lines[split]) for split in SPLITS[1:]}
    before = time.process_time()
    if (folder / "model").exists():
        check_configuration(folder / "model", config)
    else:
        train_counting(folder, config, lines, vocabulary)
    trained = time.process_time()
    scored = scores_of(folder / "model", config, adapted, lines, vocabulary)
    mixed = {f"{name} + 5-gram": mixture(nats, kn5) for name, nats in scored.items()}
    rows = perplexities({"5-gram": kn5, **scored, **mixed}, quick=quick)
    rest = before + time.process_time() - trained
    return [*rows, *costs(read_record(folder / SPENT), config.budget, rest, quick=quick)]


def train_counting(
    folder: Path, config: NetworkConfig, lines: dict[str, Lines], vocabulary: Vocabulary
) -> None:
    """Train, or go on, and add the seconds it took to those before, however it ends."""
    with counting(folder / SPENT):
        documents = in_parts(lines["valid"])
        where = {"folder": folder / "model", "scratch": folder / "scratch"}
        train(lines["train"], documents, vocabulary, config, **where)


@contextmanager
def counting(spent: Path, every: float = 60.0) -> Iterator[None]:
    """Keep in a file the seconds until now, on the wall and of processors, and those before."""
    before = read_record(spent) if spent.exists() else {"processor_seconds": 0.0, "seconds": 0.0}
    start = {"processor_seconds": time.process_time(), "seconds": time.monotonic()}
    done = threading.Event()

    def keep() -> None:
        now = {"processor_seconds": time.process_time(), "seconds": time.monotonic()}
        write_json(spent, {name: before[name] + now[name] - start[name] for name in now})

    def keep_on() -> None:
        while not done.wait(every):
            keep()

    keeper = threading.Thread(target=keep_on, daemon=True)
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join()
        keep()


def check_configuration(model: Path, config: NetworkConfig) -> None:
    """SystemExit where the model that is there is another one."""
    found = read_record(model / "model.json", "config")["config"]
    wanted = json.loads(json.dumps(config.as_json()))
    for name, value in wanted.items():
        if found.get(name) != value:
            raise SystemExit(
                f"{model} has {name} {found.get(name)!r}, and here it is {value!r}: "
                "delete it, or name another --folder"
            )


def with_section(results: str, rows: list[Row], day: date) -> str:
    """The page of results with these rows as its last section but the dead ends."""
    head, mark, tail = results.partition(DEAD_ENDS)
    lines = [f"## {day}: WikiText-2 from nothing, the table as it was printed", ""]
    lines += ["| what | value | wanted | holds |", "|---|---|---|---|"]
    for row in rows:
        value = "absent" if row.value is None else f"{row.value:,.4g} {row.unit}".strip()
        target = "" if row.target is None else f"{row.target:g}"
        holds = {None: "", True: "yes", False: "**no**"}[row.holds]
        lines.append(f"| {row.name.strip()} | {value} | {target} | {holds} |")
    return "\n".join([head.rstrip("\n"), "", *lines, "", mark + tail])


def costs(spent: dict[str, float], tokens: int, rest: float, *, quick: bool) -> list[Row]:
    """spent: on training. rest: processor seconds of all else."""
    hours = (spent["processor_seconds"] + rest) / 3600
    speed = tokens / spent["seconds"]
    return [
        timing("training: processor hours", spent["processor_seconds"] / 3600, "h", quick=quick),
        timing("  tokens trained on", tokens, "tokens", quick=quick),
        timing("  tokens a second, looks included", speed, "tokens/s", quick=quick),
        timing("the rest: processor hours", rest / 3600, "h", quick=quick),
        timing("processor hours in all", hours, "h", at_most=CPU_HOURS, quick=quick),
    ]


def scores_of(
    folder: Path,
    config: NetworkConfig,
    adapted: AdaptedConfig,
    lines: dict[str, Lines],
    vocabulary: Vocabulary,
) -> dict[str, Nats]:
    """Nats of the network alone, with a cache, under dynamic evaluation, and with both."""
    model = load(folder, vocabulary, threads=config.threads, device=config.device)
    found: dict[str, Nats] = {}
    for name, way in {"LSTM": replace(adapted, dynamic=None), "LSTM, dynamic": adapted}.items():
        adapting = tune(model, config, way, lines["train"], lines["valid"])
        found[name], found[f"{name}, cache"] = {}, {}
        for split in SPLITS[1:]:
            own, cached = adapting.nats_without_and_with_cache(lines[split])
            found[name][split], found[f"{name}, cache"][split] = own, cached
    return found


def mixture(first: Nats, second: Nats) -> Nats:
    """Both mixed by the weight that is best on validation."""
    weight = fit_weight(first["valid"], second["valid"])
    return {split: mix(first[split], second[split], weight) for split in first}


def perplexities(scored: dict[str, Nats], *, quick: bool) -> list[Row]:
    wanted = {"LSTM": 100, "LSTM, dynamic, cache + 5-gram": 66}
    rows = []
    for name, nats in scored.items():
        valid, test = (float(np.exp(nats[split].mean())) for split in SPLITS[1:])
        rows.append(timing(f"{name}: validation", valid, "perplexity", quick=quick))
        target = wanted.get(name)
        rows.append(timing("  test", test, "perplexity", at_most=target, quick=quick))
    best = min(scored["LSTM"]["valid"].mean(), scored["5-gram"]["valid"].mean())
    worse = float(scored["LSTM + 5-gram"]["valid"].mean() - best)
    rows.append(exact("mixture worse than its better part, validation", worse, 1e-9))
    if not quick:
        missing = abs(len(scored["LSTM"]["test"]) - TEST_TOKENS)
        rows.append(exact("test tokens not scored", missing, 0))
    return rows


def wikitext2() -> dict[str, Sequence[str]]:
    """The lines of each split, blank ones too."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        return {
            split: archive.read(f"wikitext-2/wiki.{split}.tokens").decode().split("\n")[:-1]
            for split in SPLITS
        }


def small_splits() -> dict[str, Sequence[str]]:
    lines = some_text(5_000)
    return {"train": lines[:-40], "valid": lines[-40:-20], "test": lines[-20:]}


def encoded(splits: dict[str, Sequence[str]]) -> tuple[dict[str, Lines], Vocabulary]:
    """Every split as one document, over the words of the training split."""
    columns = {split: pa.array(lines, pa.large_string()) for split, lines in splits.items()}
    vocabulary = train_words(columns["train"], WordConfig("word"))[0].vocabulary
    tokenizer = WordTokenizer(vocabulary)
    found = {}
    for split, column in columns.items():
        ids = tokenizer.encode(column)
        tokens, offsets = with_line_ends(ids.ids, ids.offsets)
        found[split] = as_document(tokens, offsets)
    return found, vocabulary


def as_document(tokens: np.ndarray, offsets: np.ndarray) -> Lines:
    """Lines of one document, of which only the tokens are asked for."""
    zeros = np.zeros(len(offsets) - 1, np.int32)
    return Lines(tokens, offsets, zeros, zeros, zeros, zeros, zeros, zeros.astype(float))


def in_parts(lines: Lines, parts: int = 40) -> Lines:
    """The same in documents that are read side by side, for the many looks of training."""
    doc = np.arange(len(lines.doc)) * parts // len(lines.doc)
    return replace(lines, doc=doc.astype(np.int32))


if __name__ == "__main__":
    main()
