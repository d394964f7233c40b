"""What `textmill score`, `generate`, `export` and `estimate` do: ask a model, write it as text."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.table import Table

from textmill.base.errors import UserError
from textmill.generate.sampling import sample
from textmill.lineage.opened import Opened, open_ngram
from textmill.ngram.arpa_names import escaped, name_of
from textmill.ngram.arpa_write import write_arpa
from textmill.ngram.config import Method, NgramConfig
from textmill.ngram.count import count_ngrams, sentence_stream
from textmill.ngram.counts_text import EXPORT, crosses_lines, read_counts, write_counts
from textmill.ngram.estimate import estimate_from_counts, useful_order
from textmill.ngram.model import NgramModel
from textmill.ngram.prune import pruned
from textmill.repository import layout
from textmill.repository.layout import find_root
from textmill.repository.stages import read_yaml
from textmill.scoring.comparison import SCORES_ONLY
from textmill.scoring.text_scores import TextScores, score_text
from textmill.shards.reader import read_split
from textmill.tokenizers.tokenizer import encode_line
from textmill.tokenizers.vocabulary import END, UNKNOWN

ARPA, COUNTS = (".arpa", ".arpa.gz"), (".counts", ".counts.gz")
"""Endings of what is written."""
ROWS = {
    "bits_per_byte": ("bits per byte", "of the text, unknown words spelled out"),
    "perplexity": ("perplexity", "all tokens, unknown ones and line ends too"),
    "perplexity_without_unknown": ("  without unknown", "SRILM's ppl, KenLM's excluding OOVs"),
    "perplexity_without_line_ends": ("  and line ends not counted", "SRILM's ppl1"),
    "log10_p": ("log10 p", "of the text: the tokens, as with --tokens"),
    "log10_p_spelling": ("  and of the spelling", "of what the unknown ones are"),
}


def score(opened: Opened, lines: Sequence[str]) -> TextScores:
    """What a model says of some lines."""
    return score_text(
        opened.model,
        opened.codec,
        lines,
        spells=opened.spells,
        learnt_unknown=opened.learnt_unknown,
        gives_probabilities=opened.gives_probabilities,
        is_rounded=opened.is_rounded,
    )


def totals_table(scores: TextScores) -> Table:
    """The totals, for a terminal."""
    numbers = scores.numbers | {"words": scores.numbers["words"] - scores.numbers["lines"]}
    for name, nats in (("log10_p", "nats_tokens"), ("log10_p_spelling", "nats_spelling")):
        numbers[name] = None if numbers[nats] is None else 0.0 - numbers[nats] / math.log(10)
    if numbers["unknown"] and not numbers["nats_spelling"]:  # nobody spells them
        numbers["log10_p_spelling"] = None
    table = Table(box=None, pad_edge=False, show_header=False)
    for justify in ("left", "right", "left"):
        table.add_column(justify=justify)
    for name, (heading, remark) in ROWS.items():
        value = numbers[name]
        table.add_row(heading, "\N{EN DASH}" if value is None else f"{value:,.4g}", remark)
    remarks = {
        "tokens": "line ends among them",
        "unknown": f"{numbers['unknown_rate']:.1%} of the tokens",
        "impossible": "of probability zero",
    }
    for name in ("lines", "words", "bytes", "tokens", "unknown", "impossible"):
        table.add_row(name, f"{numbers[name]:,}", remarks.get(name, ""))
    return table


def token_rows(opened: Opened, scores: TextScores) -> Iterator[dict[str, Any]]:
    """Of each token: line, token (named as in ARPA files), log10 p, and whether it is unknown.

    An unknown one is named by its text; log10 p is None for what is impossible.
    """
    vocabulary = opened.tokenizer.vocabulary
    names = {one: name_of(one, vocabulary) for one in np.unique(scores.tokens).tolist()}
    texts = iter(scores.unknown_texts)
    log10_p = -scores.nats / np.log(10)
    columns = scores.line.tolist(), scores.tokens.tolist(), log10_p.tolist()
    for line, token, value in zip(*columns, strict=True):
        yield {
            "line": line,
            "token": escaped(next(texts)) if token == UNKNOWN else names[token],
            "log10_p": value if math.isfinite(value) else None,
            "unknown": token == UNKNOWN,
        }


def generate(
    opened: Opened, prompt: str, *, tokens: int, seed: int, temperature: float, lines: bool
) -> str:
    """The prompt as the model reads it, and up to `tokens` tokens that it draws after it.

    lines: whether it goes on after the end of the line.
    """
    if not opened.gives_probabilities:
        raise UserError(f"{opened.name} cannot be drawn from: {SCORES_ONLY}")
    if not 0 <= temperature < float("inf"):
        raise UserError(
            f"--temperature must be 0 or more, not {temperature:g}",
            next_step="1 is the model as it is, 0 takes what is likeliest every time",
        )
    *whole, last = prompt.split("\n")
    ids = [one for line in whole for one in (*encode_line(opened.tokenizer, line), END)]
    ids += encode_line(opened.tokenizer, last)
    read = np.array(ids, np.int64)
    drawn = sample(opened.model, read, tokens, seed=seed, temperature=temperature, lines=lines)
    said = np.append(read, drawn)
    ends = np.flatnonzero(said == END)
    parts = np.split(said, ends + 1)
    if not len(parts[-1]):
        parts.pop()
    return "\n".join(opened.tokenizer.decode(part[part != END].tolist()) for part in parts)


def export(name: str, path: Path, *, threshold: float = 0.0, size: int = 0) -> tuple[int, str]:
    """Write a model as an ARPA file, or its training text's counts.

    Returns how many n-grams, and the kind of tokens that they are of.

    threshold, size: as `ngram.prune.prune` takes them, of an ARPA file. UserError for any other
    ending.
    """
    _check_ending(path, (*ARPA, *COUNTS))
    model, tokenizer = open_ngram(name)
    if path.name.endswith(COUNTS):
        if threshold or size:
            raise UserError("counts are not pruned", next_step="leave --prune-... out")
        return _export_counts(name, model, tokenizer, path), _kind(tokenizer)
    if threshold and size:
        raise UserError("--prune-threshold and --prune-to are two ways to say one thing")
    if threshold or size:
        model = pruned(model, threshold=threshold, size=size)
    return write_arpa(model, path), _kind(tokenizer)


def _kind(tokenizer: str) -> str:
    """Of a tokenizer of params.yaml; the tokens of an ARPA file are words."""
    if not tokenizer:
        return "word"
    entry = read_yaml(find_root() / layout.PARAMS)["tokenizers"][tokenizer]
    return str(entry["kind"])


def estimate(counts: Path, path: Path, *, order: int, method: str) -> tuple[int, str]:
    """Write an ARPA file of counts; order 0 is the highest that is there.

    Returns how many n-grams, and what the model is.
    """
    _check_ending(path, ARPA)
    if not counts.exists():
        raise UserError(f"there is no {counts}", next_step=EXPORT)
    tables, vocabulary = read_counts(counts)
    if not tables[0].counts[END]:
        raise UserError(
            "no line ends in it: </s> does not occur",
            where=str(counts),
            next_step="count with <s> and </s> where lines begin and end",
        )
    if order > len(tables):
        raise UserError(
            f"it holds n-grams up to order {len(tables)}, and none of order {order}",
            where=str(counts),
            next_step=f"--order {len(tables)}",
        )
    try:
        config = NgramConfig(
            "",
            cast(Method, method),
            order or len(tables),
            sentence_boundaries=not crosses_lines(tables),
        )
    except ValueError as error:
        raise UserError(str(error), next_step="see docs/ngrams.md") from None
    model = estimate_from_counts(tables, vocabulary, config)
    return write_arpa(model, path), model.describe()


def _export_counts(name: str, model: NgramModel, tokenizer: str, path: Path) -> int:
    if not tokenizer:
        raise UserError(
            f"{name} is an ARPA file, which holds no counts",
            next_step="name a model of params.yaml",
        )
    vocabulary = model.vocabulary
    lines = read_split(find_root() / layout.shards(tokenizer), "train", vocabulary.fingerprint)
    is_running = not model.config.sentence_boundaries
    bounds = lines.doc_offsets if is_running else lines.offsets
    stream = sentence_stream(lines.tokens, bounds, len(vocabulary), crosses_lines=is_running)
    order = useful_order(bounds, model.config.order)
    counts = count_ngrams(stream, len(vocabulary), order)
    write_counts(counts, vocabulary, path)
    return sum(table.seen() for table in counts)


def _check_ending(path: Path, known: tuple[str, ...]) -> None:
    if not path.name.endswith(known):
        raise UserError(
            f"{str(path)!r} does not say what to write",
            next_step=f"let it end in {', '.join(known[:-1])} or {known[-1]}",
        )
