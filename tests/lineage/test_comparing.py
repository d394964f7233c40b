"""`textmill compare`: a few models, their differences, and how certain these are."""

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console
from typer.testing import CliRunner

from textmill.base.errors import UserError
from textmill.base.files import read_json, read_table, write_json, write_table
from textmill.cli.main import app
from textmill.lineage import comparing
from textmill.lineage.comparing import compare, table
from textmill.reports.certainty import line_scores
from textmill.repository import layout
from textmill.scoring.permutation import every_pair


def scores_of(made, names):
    return line_scores(names, lambda name: read_table(made / layout.scores(name) / "test.arrow"))


def test_two_models_are_asked_about_alone(made):
    """Nothing is added to p for pairs that nobody asked about."""
    (one,) = compare(["lstm", "kn3"], made)
    assert (one.better, one.worse) == ("kn3", "lstm")
    assert one.difference == pytest.approx(one.worse_bits_per_byte - one.better_bits_per_byte)
    assert one.low <= one.difference <= one.high
    assert one.p == one.p_adjusted
    doc, _, nats = scores_of(made, ["kn3", "lstm"])
    assert one.p == every_pair(doc, nats).pairs[0].p
    assert one.told_apart == (one.p <= 0.05)


def test_of_more_models_every_pair_is_there_and_adjusted_for_these(made):
    found = compare(["unigram", "lstm", "kn3", "lstm"], made)
    assert [(one.better, one.worse) for one in found] == [
        ("kn3", "lstm"),
        ("kn3", "unigram"),
        ("lstm", "unigram"),
    ]
    assert all(one.p <= one.p_adjusted <= 3 * one.p for one in found)
    total = sum(one.difference for one in found if "unigram" not in (one.better, one.worse))
    assert found[1].difference == pytest.approx(total + found[2].difference)


def test_models_that_give_the_same_are_not_told_apart(made):
    scored = read_table(made / layout.scores("kn3") / "test.arrow")
    write_table(made / layout.scores("lstm") / "test.arrow", scored)
    summary = read_json(made / layout.summary("kn3"))
    write_json(made / layout.summary("lstm"), {**summary, "name": "lstm"})
    (one,) = compare(["lstm", "kn3"], made)
    assert (one.difference, one.low, one.high, one.p) == (0, 0, 0, 1)
    assert not one.told_apart


def change(made, name, **values):
    path = made / layout.summary(name)
    write_json(path, {**read_json(path), **values})


def test_what_cannot_be_compared_is_named(made):
    with pytest.raises(UserError, match="it takes two models"):
        compare(["kn3", "kn3"], made)
    with pytest.raises(UserError, match='no model "kn4"; did you mean "kn3"'):
        compare(["kn3", "kn4"], made)
    change(made, "lstm", comparison_key="of another text")
    with pytest.raises(UserError, match="not of one test text"):
        compare(["kn3", "lstm"], made)
    change(made, "lstm", why_not="it gives scores, not probabilities")
    with pytest.raises(UserError, match="lstm has no bits per byte to compare: it gives scores"):
        compare(["kn3", "lstm"], made)
    (made / layout.summary("lstm")).unlink()
    with pytest.raises(UserError, match="lstm has not been scored yet"):
        compare(["kn3", "lstm"], made)


def test_a_certain_difference_that_does_not_show_tells_no_models_apart(made):
    """As on the leaderboard: p is small, and three digits of bits per byte are the same."""
    scored = read_table(made / layout.scores("kn3") / "test.arrow")
    place = scored.column_names.index("nats_tokens")
    more = scored["nats_tokens"].to_numpy() + 1e-5 * scored["bytes"].to_numpy()
    write_table(
        made / layout.scores("lstm") / "test.arrow",
        scored.set_column(place, "nats_tokens", pa.array(more)),
    )
    test = read_json(made / layout.summary("kn3"))["test"]
    change(made, "lstm", test={**test, "bits_per_byte": test["bits_per_byte"] + 1e-5 / np.log(2)})
    (one,) = compare(["lstm", "kn3"], made)
    assert one.p <= 0.001
    assert 0 < one.difference < 0.0005
    assert not one.told_apart


def test_scores_that_are_not_those_of_the_summary_are_refused(made):
    scored = read_table(made / layout.scores("unigram") / "test.arrow")
    write_table(made / layout.scores("lstm") / "test.arrow", scored)
    with pytest.raises(UserError, match=r"scores/lstm: they give .* bits per byte, and their summ"):
        compare(["kn3", "lstm"], made)
    write_table(made / layout.scores("lstm") / "test.arrow", scored.drop_columns(["doc", "bytes"]))
    with pytest.raises(UserError, match="the scores of lstm lack bytes, doc"):
        compare(["kn3", "lstm"], made)
    change(made, "lstm", test={})
    with pytest.raises(UserError, match="lstm has no bits per byte to compare"):
        compare(["kn3", "lstm"], made)


def test_more_models_than_are_tested_are_refused(made, monkeypatch):
    monkeypatch.setattr(comparing, "MOST_MODELS", 2)
    with pytest.raises(UserError, match="3 models are too many"):
        compare(["unigram", "lstm", "kn3"], made)


def test_a_narrow_terminal_folds_names_and_cuts_no_number(made):
    found = compare(["unigram", "lstm", "kn3"], made)
    console = Console(width=72, record=True, file=io.StringIO())
    console.print(table(found))
    text = console.export_text()
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    for one in found:
        assert f"[{one.low:.3f}, {one.high:.3f}]" in text


def test_a_short_text_says_how_many_lines_it_has(made):
    for name in ("kn3", "lstm"):
        path = made / layout.scores(name) / "test.arrow"
        write_table(path, pa.Table.from_batches(read_table(path).slice(0, 40).to_batches()))
    for name in ("kn3", "lstm"):
        scored = read_table(made / layout.scores(name) / "test.arrow")
        nats = sum(scored[part].to_numpy().sum() for part in ("nats_tokens", "nats_spelling"))
        summary = read_json(made / layout.summary(name))
        bits = nats / (scored["bytes"].to_numpy().sum() * np.log(2))
        change(made, name, test={**summary["test"], "bits_per_byte": bits})
    with pytest.raises(UserError, match="lines of the test text: 40, too few"):
        compare(["kn3", "lstm"], made)


def test_the_command_prints_a_line_for_every_pair_and_json(made, monkeypatch):
    monkeypatch.chdir(made)
    done = CliRunner().invoke(app, ["compare", "lstm", "kn3", "unigram"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].split() == [
        "better", "worse", "bits/byte", "difference", "p", "(Holm)", "apart",
    ]  # fmt: skip
    assert len(lines) == 6
    assert lines[-2].startswith("Apart: p of at most 0.05, adjusted for these 3 pairs, and")
    told = json.loads(CliRunner().invoke(app, ["compare", "lstm", "kn3", "--json"]).stdout)
    assert np.isclose(told[0]["difference"], compare(["lstm", "kn3"], made)[0].difference)
