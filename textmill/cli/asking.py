"""Commands that ask or write one model."""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from textmill.base.errors import UserError
from textmill.cli.app import app, console, say_what_is_old
from textmill.text.given import read_lines


@app.command(
    epilog="Examples: textmill generate kn5_word; textmill generate mix_word -p 'We must'",
    context_settings={"allow_extra_args": True},
)
def generate(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A model of params.yaml, or an ARPA file.")],
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="What the text begins with.")] = "",
    tokens: Annotated[int, typer.Option(min=1, help="How many tokens at most.")] = 200,
    lines: Annotated[bool, typer.Option("--lines", help="Go on after the line's end.")] = False,
    temperature: Annotated[
        float, typer.Option(help="Below 1: likelier words; above: rarer; 0: the likeliest.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another text.")] = 0,
) -> None:
    """Let a model write: a line, or more, drawn word by word from what it expects.

    <unk> stands for a word that its vocabulary lacks. One seed gives one text.
    """
    if more := " ".join(context.args):
        raise UserError(
            f'"{more}" stands where nothing belongs',
            next_step=f"textmill generate {model} --prompt {shlex.quote(more)}",
        )
    from textmill.lineage import asking  # noqa: PLC0415  # a model's code takes a second to load
    from textmill.lineage.opened import open_model  # noqa: PLC0415

    opened = open_model(model)
    say_what_is_old([model])
    limits = {"tokens": tokens, "seed": seed}
    print(asking.generate(opened, prompt, lines=lines, temperature=temperature, **limits))


@app.command(
    epilog="Examples: textmill score kn5_word my.txt; "
    "echo We must | textmill score kn5_word - --tokens"
)
def score(
    model: Annotated[str, typer.Argument(help="A model of params.yaml, or an ARPA file.")],
    text: Annotated[
        str, typer.Argument(help="A file, also .gz, .bz2, .xz or .zst; - is standard input.")
    ],
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Every token with its log10 p instead of totals.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score a text: perplexity with and without unknown words, bits per byte.

    A line is a sentence, and its end is predicted too. The text is taken as it is, not cleaned.
    """
    from textmill.lineage import asking  # noqa: PLC0415  # a model's code takes a second to load
    from textmill.lineage.opened import open_model  # noqa: PLC0415

    lines, opened = read_lines(text), open_model(model)
    say_what_is_old([model])
    scores = asking.score(opened, lines)
    if as_json:
        told = {"model": model, "kind": opened.kind, "why_not": scores.why_not, **scores.numbers}
        print(json.dumps([*asking.token_rows(opened, scores)] if tokens else told, indent=2))
    elif tokens:
        print("line\ttoken\tlog10_p\tunknown")
        for row in asking.token_rows(opened, scores):
            value = "-inf" if row["log10_p"] is None else f"{row['log10_p']:.7f}"
            print(row["line"], row["token"], value, int(row["unknown"]), sep="\t")
    else:
        print(f"{model}: {opened.kind}")
        console().print(asking.totals_table(scores))
        if scores.why_not:
            print(f"no bits per byte: {scores.why_not}")


@app.command(
    epilog="Examples: textmill export kn5_word kn5.arpa.gz; textmill export kn5_word word.counts.gz"
)
def export(
    model: Annotated[str, typer.Argument(help="An n-gram model of params.yaml, or an ARPA file.")],
    file: Annotated[
        Path, typer.Argument(help="What to write: .arpa or .counts, also with .gz at the end.")
    ],
    prune_threshold: Annotated[
        float, typer.Option(min=0, help="Leave out n-grams that perplexity misses by less.")
    ] = 0,
    prune_to: Annotated[
        int, typer.Option(min=0, help="Leave so many n-grams; single words stay.")
    ] = 0,
) -> None:
    """Write an n-gram model as an ARPA file, or the counts of its training text.

    Both are text that other toolkits read.
    """
    from textmill.lineage import asking  # noqa: PLC0415  # a model's code takes a second to load

    ngrams, kind = asking.export(model, file, threshold=prune_threshold, size=prune_to)
    say_what_is_old([model])
    print(f"{file}: {ngrams:,} n-grams, {file.stat().st_size:,} bytes")
    if kind != "word":
        print(f"its words are {kind}s: give other toolkits, and textmill score, a text of these")


@app.command(epilog="Example: textmill estimate word.counts.gz kn3.arpa --order 3")
def estimate(
    counts: Annotated[Path, typer.Argument(help="Counts as text: n-gram, tab, number.")],
    file: Annotated[Path, typer.Argument(help="The ARPA file to write: .arpa or .arpa.gz.")],
    method: Annotated[
        str, typer.Option(help="As in params.yaml: witten_bell, good_turing, ...")
    ] = "kneser_ney",
    order: Annotated[int, typer.Option(min=0, help="0: the highest that is there.")] = 0,
) -> None:
    """Make an n-gram model of counts, as an ARPA file.

    The counts must hold all orders from 1 on, with <s> and </s> where lines begin
    and end; `textmill export MODEL word.counts.gz` writes those of a model.
    `textmill score` and `generate` take the file.
    """
    from textmill.lineage import asking  # noqa: PLC0415  # a model's code takes a second to load

    ngrams, kind = asking.estimate(counts, file, order=order, method=method)
    print(f"{file}: {kind}, {ngrams:,} n-grams, {file.stat().st_size:,} bytes")
