"""The `textmill` command. It reads the repository that it stands in.

Exit codes: 0 done, 1 the answer is no, 2 wrong use.
"""

import json
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from pipeline_steps.check import check as check_params
from pipeline_steps.check import check_chosen
from textmill.base.environment import switch_telemetry_off
from textmill.base.errors import UserError, as_user_error
from textmill.base.files import write_atomically
from textmill.lineage import params, standings
from textmill.lineage import trace as tracing
from textmill.lineage import verify as verification
from textmill.reports.plain import render_json
from textmill.reports.terminal import render_terminal
from textmill.repository.layout import find_root
from textmill.text.given import read_lines

app = typer.Typer(
    help="Language models that can be compared: raw text in, a leaderboard out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"textmill {version('textmill')}")
        raise typer.Exit


@app.callback()
def common(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Language models that can be compared: raw text in, a leaderboard out."""


DIAGNOSIS = Path("reports/diagnosis")
"""Where `textmill diagnose` writes, unless it is told otherwise."""
PIPED_WIDTH = 120
"""Columns where no terminal says how many it has."""

NEXT = """
What next (first: . .venv/bin/activate):
  reports/leaderboard.html              the same with pictures and explanations, for a browser
  change a line of params.yaml, then    dvc repro           only what depends on it runs again
  make run TEXT=path/to/text.txt        the same on a text of your own
  make run CORPUS=time_machine          another corpus of params.yaml; back: CORPUS=sotu
  make ui                               compare the models in MLflow
  textmill trace MODEL                  where a model came from"""


SMALL = 25_000
THEN = "next (make run does it by itself): textmill check && dvc repro"


def sound_root() -> Path:
    """The repository, its params.yaml checked: whoever reads all of it need not look twice."""
    root = find_root()
    check_params(root)
    return root


@app.command(epilog="Example: textmill leaderboard --html page.html")
def leaderboard(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write the page, with training times, to this file.")
    ] = None,
    show_next: Annotated[bool, typer.Option("--next", help="Also print what to try next.")] = False,
) -> None:
    """Rank every model in bits per byte.

    Of the test text, with the training times of this machine beside it.
    """
    root = sound_root()
    if html is not None and html.suffix not in (".html", ".htm"):
        raise UserError(
            f"the page is HTML, {str(html)!r} is no name for it", next_step="--html page.html"
        )
    view = standings.view(root)
    if note := standings.out_of_date(view.board, root):
        print(f"textmill: not up to date: {note}", file=sys.stderr)
    if html is not None:
        from textmill.reports.html import render_html  # noqa: PLC0415  # it draws: a second

        write_atomically(html, render_html(view))
    if as_json:
        print(render_json(view), end="")
        return
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, PIPED_WIDTH)
    console.print(render_terminal(view))
    if show_next:
        print(NEXT)


@app.command(epilog="Example: textmill use time_machine")
def use(corpus: Annotated[str, typer.Argument(help="An entry of corpora in params.yaml.")]) -> None:
    """Choose a corpus of params.yaml; then: dvc repro."""
    params.choose_corpus(corpus, find_root())
    print(f"params.yaml: corpus is {corpus}\n{THEN}")


@app.command(epilog="Example: textmill check && dvc repro")
def check() -> None:
    """Name the first mistake in params.yaml.

    It is read as the stages will read it, and the chosen corpus's own rules are imported; no
    stage runs.
    """
    root = find_root()
    counts = check_params(root)
    check_chosen(root)
    print("params.yaml is sound: " + ", ".join(f"{n} {group}" for group, n in counts.items()))


@app.command(epilog="Example: textmill pin essays/  (then: dvc repro)")
def pin(
    text: Annotated[str, typer.Argument(help="A file, a folder, or a quoted glob.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was pinned as JSON.")] = False,
) -> None:
    """Make a text of your own the corpus.

    Its path and digest are written into params.yaml; pin it again when it has changed.
    """
    pinned = params.pin(text, find_root())
    if as_json:
        print(json.dumps(pinned, indent=2))
        return
    files, size = pinned["files"], pinned["bytes"]
    counted = "1 file" if files == 1 else f"{files:,} files"
    print(f"params.yaml: corpus is local, {counted}, {size:,} bytes: {pinned['path']}")
    if words := params.taken_and_left_out(text, find_root()):
        print(f"of the folder: {words}")
    if size < SMALL:
        print("a small text: the defaults suit 25 kB or more, `pieces` may have to be lowered")
    print(THEN)


@app.command(epilog="Examples: textmill generate kn5_word; textmill generate mix_word -p 'We must'")
def generate(
    model: Annotated[str, typer.Argument(help="A model of params.yaml, or an ARPA file.")],
    prompt: Annotated[str, typer.Option("--prompt", "-p", help="What the text begins with.")] = "",
    tokens: Annotated[int, typer.Option(min=1, help="How many tokens at most.")] = 200,
    lines: Annotated[bool, typer.Option("--lines", help="Go on after the line's end.")] = False,
    temperature: Annotated[float, typer.Option(help="Below 1: likelier words; above: rarer.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, another text.")] = 0,
) -> None:
    """Let a model write: a line, or more, drawn word by word from what it expects.

    <unk> stands for a word that its vocabulary lacks. One seed gives one text.
    """
    from textmill.lineage import asking  # noqa: PLC0415  # a model's code takes a second to load
    from textmill.lineage.opened import open_model  # noqa: PLC0415

    opened = open_model(model)
    limits = {"tokens": tokens, "seed": seed}
    print(asking.generate(opened, prompt, lines=lines, temperature=temperature, **limits))


@app.command(
    epilog="Examples: textmill score kn5_word my.txt; "
    "echo We must | textmill score kn5_word - --tokens"
)
def score(
    model: Annotated[str, typer.Argument(help="A model of params.yaml, or an ARPA file.")],
    text: Annotated[
        str, typer.Argument(help="A file, also .gz, .bz2 or .xz; - is standard input.")
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
        Console(width=None if sys.stdout.isatty() else PIPED_WIDTH).print(
            asking.totals_table(scores)
        )
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
    prune_to: Annotated[int, typer.Option(min=0, help="Leave so many n-grams.")] = 0,
) -> None:
    """Write an n-gram model as an ARPA file, or the counts of its training text.

    Both are text that other toolkits read.
    """
    from textmill.lineage import asking  # noqa: PLC0415  # a model's code takes a second to load

    ngrams = asking.export(model, file, threshold=prune_threshold, size=prune_to)
    print(f"{file}: {ngrams:,} n-grams, {file.stat().st_size:,} bytes")


@app.command(epilog="Example: textmill estimate word.counts.gz kn3.arpa --order 3")
def estimate(
    counts: Annotated[Path, typer.Argument(help="Counts as text: n-gram, tab, number.")],
    file: Annotated[Path, typer.Argument(help="The ARPA file to write: .arpa or .arpa.gz.")],
    method: Annotated[str, typer.Option(help="As in params.yaml.")] = "kneser_ney",
    order: Annotated[int, typer.Option(min=0, help="0: the highest that is there.")] = 0,
) -> None:
    """Make an n-gram model of counts, as an ARPA file.

    The counts must hold all orders from 1 on. `textmill score` and `generate` take the file.
    """
    from textmill.lineage import asking  # noqa: PLC0415  # a model's code takes a second to load

    model = asking.estimate(counts, file, order=order, method=method)
    ngrams = sum(model.ngrams)
    print(f"{file}: {model.config.describe()}, {ngrams:,} n-grams, {file.stat().st_size:,} bytes")


@app.command(epilog="Example: textmill publish")
def publish(
    as_json: Annotated[bool, typer.Option("--json", help="Print the runs as JSON.")] = False,
) -> None:
    """Put the leaderboard's models into MLflow.

    What is there already is left alone.
    """
    from textmill.tracking.publish import publish  # noqa: PLC0415
    from textmill.tracking.store import StoreError  # noqa: PLC0415

    try:
        outcome = publish(sound_root())
    except StoreError as error:
        _say_no(error)
    if as_json:
        print(json.dumps(asdict(outcome), indent=2))
        return
    print(
        f"MLflow {outcome.uri}, experiment {outcome.experiment}: {len(outcome.models)} models, "
        f"{outcome.written or 'nothing'} new"
    )
    for model, other in outcome.doubles.items():
        print(f"{model} is the same model as {other}, so the two are one run")


@app.command(epilog="Example: textmill follow --until $$ & dvc repro")
def follow(
    until: Annotated[int | None, typer.Option(help="End when this process ends.")] = None,
) -> None:
    """Show learning curves in MLflow live.

    Runs beside the training, which knows nothing of it.
    """
    from textmill.tracking.follow import follow  # noqa: PLC0415

    follow(find_root(), until)


@app.command(epilog="Example: textmill promote kn5_subword")
def promote(model: Annotated[str, typer.Argument(help="A model of the leaderboard.")]) -> None:
    """Make a model MLflow's champion.

    Only if it beats the champion on the same test text beyond chance; exit code 1 otherwise.
    """
    from textmill.tracking.promote import promote  # noqa: PLC0415
    from textmill.tracking.store import StoreError  # noqa: PLC0415

    try:
        verdict = promote(model, sound_root())
    except StoreError as error:
        _say_no(error)
    if not verdict.promoted:
        _say_no(f"not promoted: {verdict.reason}")
    print(verdict.reason)


@app.command(epilog="Example: textmill trace kn5_subword")
def trace(
    model: Annotated[str, typer.Argument(help="A model of params.yaml.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print where a model came from.

    Shards, vocabulary, cleaned text, raw file, address, sha256 and licence.
    """
    traced = tracing.trace(model, sound_root())
    print(json.dumps(traced, indent=2) if as_json else tracing.render(traced))


@app.command(epilog="Example: textmill verify kn5_subword")
def verify(
    model: Annotated[str | None, typer.Argument(help="A model; all of them without one.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Hash everything behind a model anew.

    The first file that is not what it was is named; exit code 1 then.
    """
    links, broken = verification.verify(model, sound_root())
    if as_json:
        print(json.dumps({"links": links, "broken": broken and asdict(broken)}, indent=2))
    elif broken is None:
        print(f"all {links:,} links hold")
    if broken is not None:
        _say_no(verification.in_words(broken))


@app.command(epilog="Example: textmill diagnose lstm_word kn5_word")
def diagnose(
    models: Annotated[
        list[str] | None, typer.Argument(help="Models to hold side by side; without one: networks.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for the page and the files of numbers.")
    ] = DIAGNOSIS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what models remember and where they lose.

    Gradients over time, recurrent matrices, gates, the model on its own text, loss by place and by
    frequency, on the validation text. Writes a page with pictures, and JSON and CSV a model.
    """
    from textmill.lineage import diagnosis  # noqa: PLC0415  # torch takes seconds to load

    root = sound_root()
    found = diagnosis.diagnose(models or [], root)
    written = list(diagnosis.write(found, out))
    if as_json:
        print(json.dumps([asdict(one) for one in found], indent=2, allow_nan=False))
        return
    Console(width=None if sys.stdout.isatty() else PIPED_WIDTH).print(diagnosis.table(found))
    print(f"with pictures: {written[-1]}")


def _say_no(reason: object) -> NoReturn:
    """One message, and the exit code for an answer that is no."""
    print(f"textmill: {reason}", file=sys.stderr)
    raise typer.Exit(1)


def main() -> None:
    """Run the command; what a user can mend is one message and exit code 2."""
    switch_telemetry_off()
    try:
        app()
    except (UserError, OSError) as error:
        print(f"textmill: {as_user_error(error)}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
