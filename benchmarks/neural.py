"""Tokens a second of networks against PyTorch's word language model example, on CPU and GPU.

The example's size: 33,278 words, embedding and hidden 200, two layers, BPTT 35, dropout 0.2, SGD.
Ours runs in bfloat16 where the device has it, with each of the exact heads and with the adaptive
softmax; `plain_lstm` is the example's own step. A character network of 2 x 256 and the evaluation
follow. All take turns, a step each, in one process, so that other load weighs on all alike, and
ratios are of medians. A profile of our fastest exact step says where its time goes. On a CUDA
device the steps run there too; `--only` asks for one of the two, where a GPU is lent for minutes.
First it is checked that the same is computed: from equal weights and without dropout the losses in
float32 are equal.

`--quick` makes everything small and leaves out the compiled head, which takes half a minute to
compile.

    python -m benchmarks.neural [--quick] [--json FILE] [--only cpu|cuda]
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks import report
from benchmarks.plain_lstm import CLIP, LAYERS, RATE, PlainSteps, evaluate
from benchmarks.report import Row, absent, exact, timing
from benchmarks.training import alternate, zipf_text
from textmill.neural.chunked_loss import chunked_cross_entropy
from textmill.neural.compiled_loss import compiled_cross_entropy
from textmill.neural.config import Head, NetworkConfig, Precision
from textmill.neural.device import usable_precision
from textmill.neural.model import NetworkModel
from textmill.neural.training import Training
from textmill.scoring.likelihood import token_nats
from textmill.tokenizers.vocabulary import BEGIN

THREADS, DROPOUT, CUTOFFS = 2, 0.2, (2_000, 10_000)
CPU, CUDA = torch.device("cpu"), torch.device("cuda")
PLAIN = "plain float32"
EXACT_TARGETS = {"cpu": 2.0, "cuda": 3.0}
ADAPTIVE_TARGETS = {("cpu", 64): 5.5}
CHARACTER_TARGET, EVALUATION_TARGET = 2.0, 1.5

Contenders = dict[str, Callable[[int], object]]
"""Name: one step, given its number, or one pass."""


@dataclass(frozen=True, slots=True)
class Shape:
    """size: of the vocabulary. width: of embedding and hidden state. batch, bptt: of a chunk."""

    size: int
    width: int
    batch: int
    bptt: int

    def smaller(self) -> "Shape":
        return replace(self, size=min(self.size, 10_500), width=32, batch=4, bptt=8)


WORDS, CHARACTERS = Shape(33_278, 200, 20, 35), Shape(68, 256, 64, 100)


def make_run(
    shape: Shape,
    head: Head,
    precision: Precision,
    device: torch.device = CPU,
    dropout: float = DROPOUT,
) -> Training:
    """Our training with the example's optimiser, over a text of 40 chunks."""
    adaptive = head == "adaptive"
    config = NetworkConfig(
        tokenizer="zipf",
        embedding=shape.width,
        hidden=shape.width,
        layers=LAYERS,
        dropout=dropout,
        head=head,
        tied=None if adaptive else False,
        cutoffs=CUTOFFS if adaptive else None,
        bptt=shape.bptt,
        batch=shape.batch,
        optimiser="sgd",
        learning_rate=RATE,
        schedule="constant",
        warmup=0,
        weight_decay=0.0,
        clip=CLIP,
        steps=10_000,
        evaluate_every=10_000,
        threads=THREADS,
        device="cuda" if device.type == "cuda" else "cpu",
        precision=precision,
    )
    lines, vocabulary = zipf_text(shape.size, [40 * shape.batch * shape.bptt])
    return Training(lines, lines, vocabulary, config, Path(tempfile.gettempdir()))


def same_loss(shape: Shape, device: torch.device, *, quick: bool) -> list[Row]:
    """Largest relative difference of the loss over three steps; two of them follow an update.

    On a GPU the plain step may use TF32, whose products have ten bits.
    """
    rows, most = [], {"cpu": 1e-5, "cuda": 1e-3}[device.type]
    for head in exact_heads(device, quick=quick):
        run = make_run(shape, head, "float32", device, dropout=0.0)
        plain = PlainSteps(run)
        plain.follow(run)
        worst = max(abs(run.take_step()[0] / plain(number) - 1) for number in range(3))
        what = f"{device.type}: loss, {head} head, relative difference"
        rows.append(exact(what, worst, most, "plain"))
    return rows


def same_evaluation(shape: Shape) -> Row:
    """Relative difference of the nats of one document."""
    run = make_run(shape, "full", "float32", dropout=0.0)
    plain = PlainSteps(run)
    plain.follow(run)
    lines, vocabulary = zipf_text(shape.size, [200])
    ids = torch.from_numpy(np.append(BEGIN, lines.tokens).astype(np.int64))
    ours = token_nats(NetworkModel(run.network, vocabulary), lines).mean()
    worst = abs(float(ours) / evaluate(plain.network, ids, batch=1) - 1)
    return exact("evaluation, relative difference", worst, 1e-5, "plain")


def exact_heads(device: torch.device, *, quick: bool) -> list[Head]:
    """Heads of the exact softmax; the compiled one where there is a compiler."""
    heads: list[Head] = ["full", "chunked"]
    if not quick and compiled_cross_entropy(device) is not chunked_cross_entropy:
        heads.append("compiled")
    return heads


def training_speed(shape: Shape, device: torch.device, *, quick: bool) -> list[Row]:
    """Every head and the example's step, its bfloat16 too where the device has that."""
    precision = usable_precision("bfloat16", device)
    heads = exact_heads(device, quick=quick)
    runs = {head: make_run(shape, head, precision, device) for head in (*heads, "adaptive")}
    contenders: Contenders = {PLAIN: PlainSteps(runs["full"])}
    if precision == "bfloat16":
        contenders["plain bfloat16"] = PlainSteps(runs["full"], precision)
    contenders |= {head: partial(take_step, run) for head, run in runs.items()}
    medians = take_turns(contenders, 10, quick)
    fastest = min(heads, key=medians.__getitem__)
    place = f"{device.type}, batch {shape.batch}"
    show_profile(f"{place}: {fastest} head in {precision}", runs[fastest])
    targets = {fastest: EXACT_TARGETS[device.type]}
    targets["adaptive"] = ADAPTIVE_TARGETS.get((device.type, shape.batch))
    tokens = shape.batch * shape.bptt
    return [*rates(place, medians, tokens, quick), *ratios(place, medians, targets, quick)]


def take_step(run: Training, _: int) -> None:
    run.take_step()


def show_profile(title: str, run: Training) -> None:
    """Print where three steps spend their time."""
    activities = [ProfilerActivity.CPU]
    if run.device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiled:
        for number in range(3):
            take_step(run, number)
    own_time = f"self_{run.device.type}_time_total"
    print(title, profiled.key_averages().table(own_time, row_limit=8), sep="\n")


def characters(shape: Shape, *, quick: bool) -> list[Row]:
    """bfloat16 against the plain step in float32."""
    place = "cpu, characters"
    if usable_precision("bfloat16", CPU) != "bfloat16":
        return [absent(f"{place}: bfloat16, speed", "bfloat16", "in this processor")]
    run = make_run(shape, "full", "bfloat16")
    contenders: Contenders = {PLAIN: PlainSteps(run), "bfloat16": partial(take_step, run)}
    medians = take_turns(contenders, 20, quick)
    tokens, targets = shape.batch * shape.bptt, {"bfloat16": CHARACTER_TARGET}
    return [*rates(place, medians, tokens, quick), *ratios(place, medians, targets, quick)]


def evaluation(shape: Shape, *, quick: bool) -> list[Row]:
    """Scoring of 64 documents of 100 to 500 tokens, in float32 as always."""
    run = make_run(shape, "full", "float32")
    network = PlainSteps(run).network
    most = 10 if quick else 500
    lengths = np.random.default_rng(1).integers(most // 5, most, 64).tolist()
    lines, vocabulary = zipf_text(shape.size, lengths)
    model, ids = NetworkModel(run.network, vocabulary), torch.from_numpy(lines.tokens).long()
    contenders: Contenders = {
        PLAIN: lambda _: evaluate(network, ids),
        "scoring": lambda _: token_nats(model, lines),
    }
    medians = take_turns(contenders, 5, quick)
    place, targets = "cpu, evaluation", {"scoring": EVALUATION_TARGET}
    return [*rates(place, medians, len(ids), quick), *ratios(place, medians, targets, quick)]


def take_turns(contenders: Contenders, rounds: int, quick: bool) -> dict[str, float]:
    """Median seconds of each; the first two rounds only warm up."""
    return alternate(contenders, 1 if quick else rounds, warm_up=1 if quick else 2)


def rates(place: str, medians: dict[str, float], tokens: int, quick: bool) -> list[Row]:
    """Tokens a second, and the time of a step or pass."""
    rows = []
    for name, seconds in medians.items():
        rows.append(timing(f"{place}: {name}", tokens / seconds, "tokens/s", quick=quick))
        rows.append(timing(f"{place}: {name}, time", 1000 * seconds, "ms", quick=quick))
    return rows


def ratios(
    place: str, medians: dict[str, float], targets: dict[str, float | None], quick: bool
) -> list[Row]:
    """Speed against each plain contender; a target is against its float32."""
    return [
        timing(
            f"{place}: {name}, speed",
            medians[plain] / medians[name],
            "x",
            quick=quick,
            at_least=target if plain == PLAIN else None,
            against=plain,
        )
        for name, target in targets.items()
        for plain in medians
        if plain.startswith("plain")
    ]


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--only", choices=("cpu", "cuda"), help="one device; without it both")
    given = parser.parse_args()
    torch.manual_seed(0)
    rows = []
    if given.only != "cuda":
        rows += on_cpu(quick=given.quick)
    if given.only != "cpu":
        rows += on_cuda(quick=given.quick)
    report.show(rows, given.json)


def on_cpu(*, quick: bool) -> list[Row]:
    """Right first, then fast."""
    words, letters = (shape.smaller() if quick else shape for shape in (WORDS, CHARACTERS))
    rows = [*same_loss(words, CPU, quick=quick), same_evaluation(words)]
    rows += both_batches(words, CPU, quick=quick)
    return [*rows, *characters(letters, quick=quick), *evaluation(words, quick=quick)]


def on_cuda(*, quick: bool) -> list[Row]:
    if not torch.cuda.is_available():
        return [absent("cuda: exact softmax, speed", "a CUDA device", "on this machine")]
    words = WORDS.smaller() if quick else WORDS
    return [*same_loss(words, CUDA, quick=quick), *both_batches(words, CUDA, quick=quick)]


def both_batches(words: Shape, device: torch.device, *, quick: bool) -> list[Row]:
    large = replace(words, batch=8 if quick else 64)
    return [row for one in (words, large) for row in training_speed(one, device, quick=quick)]


if __name__ == "__main__":
    main()
