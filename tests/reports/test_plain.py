"""JSON, CSV, Markdown and the terminal: the same numbers in each, and the same bytes twice."""

import csv
import io
import json

import pytest
from rich.console import Console

from textmill.reports.certainty import with_certainty
from textmill.reports.leaderboard import build
from textmill.reports.plain import render_csv, render_json, render_markdown
from textmill.reports.records import from_json
from textmill.reports.terminal import render_terminal
from textmill.reports.view import View

KEY = "a" * 64
ORDER = ["mix_subword", "kn_subword", "kn_word", "lstm_subword", "lstm_char", "uniform_char"]


def in_terminal(view: View, width: int) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(render_terminal(view))
    return out.getvalue()


def test_json_holds_ranks_reasons_and_the_key(full_view):
    content = json.loads(render_json(full_view))
    assert content["comparison_key"] == KEY
    assert [(one["rank"], one["name"]) for one in content["models"]] == list(enumerate(ORDER, 1))
    assert content["models"][0]["parts"] == ["kn_subword", "lstm_subword"]
    assert {one["name"] for one in content["unranked"]} == {"flat_word", "gone_word", "old_word"}
    assert content["text"]["splits"]["test"]["bytes"] == 6_000
    assert "facts" not in content


def test_json_with_facts_still_reads_back_as_the_leaderboard(timed_view):
    rendered = render_json(timed_view)
    assert json.loads(rendered)["facts"]["kn_word"] == {"training_seconds": 1.5, "device": None}
    assert from_json(rendered) == timed_view.board


def test_csv_is_a_row_a_ranked_model_with_full_numbers(full_view):
    rows = list(csv.DictReader(io.StringIO(render_csv(full_view))))
    assert [row["name"] for row in rows] == ORDER
    for row, entry in zip(rows, full_view.board.models, strict=True):
        assert float(row["bits_per_byte"]) == entry.bits_per_byte
        assert float(row["behind_low"]) == entry.behind.low
    assert rows[0]["ngrams"] == ""
    assert rows[1]["ngrams"] == "1234"
    assert "training_seconds" not in rows[0]


def test_csv_shows_times_only_where_they_are_known(timed_view):
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(render_csv(timed_view)))}
    assert rows["lstm_subword"]["training_seconds"] == "200.0"
    assert rows["lstm_char"]["training_seconds"] == ""


def test_markdown_has_a_row_a_model_and_a_table_a_tokenization(full_view):
    page = render_markdown(full_view)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert [row.split("|")[2].strip() for row in rows[2:8]] == ORDER
    assert "1.400" in rows[2]
    assert [line for line in page.splitlines() if line.startswith("###")] == [
        "### char",
        "### subword",
        "### word",
    ]
    assert "- old_word: it was scored on another text" in page
    assert "not of the training seed" in page


def test_markdown_shows_hostile_text_as_it_is(one_metrics, plays):
    name = "a|b_*c*_<img src=x>[d](e)"
    board = build([(name, "ngrams")], {name: one_metrics(name, 1.5)}, KEY, plays)
    row = next(line for line in render_markdown(View(board)).splitlines() if "img" in line)
    assert r"a\|b\_\*c\*\_\<img src=x\>[d]\(e)" in row


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_a_terminal_of_any_width_shows_rank_name_and_score_on_one_line(timed_view, width):
    lines = in_terminal(timed_view, width).splitlines()
    assert max(map(len, lines)) <= width
    for rank, name in enumerate(ORDER, 1):
        line = next(line for line in lines if line.split()[:2] == [str(rank), name])
        assert f"{timed_view.board.models[rank - 1].bits_per_byte:.3f}" in line


def test_a_wide_terminal_shows_every_column_and_a_narrow_one_the_telling_ones(timed_view):
    wide, narrow = in_terminal(timed_view, 140), in_terminal(timed_view, 60)
    for heading in ("tokens", "unknown", "size", "on disk", "training", "behind the best"):
        assert heading in wide
    assert "3 min 20 s" in wide
    assert "valid" in narrow
    table = narrow.split("Too narrow")[0]
    assert "on disk" not in table
    assert "gone_word: it has not been scored yet: dvc repro" in narrow


def test_a_narrow_terminal_names_the_columns_that_it_leaves_out(timed_view):
    for width, left_out in ((60, 5), (80, 3), (140, 0)):
        shown = " ".join(in_terminal(timed_view, width).split())
        head, *note = shown.split("Too narrow to show: ")
        assert len(note) == bool(left_out), width
        if note:
            named = note[0].split(". A wider terminal, --json or the page has them.")[0].split(", ")
            assert len(named) == left_out
            assert set(named) < {
                "tokens",
                "behind the best",
                "unknown",
                "size",
                "on disk",
                "training",
            }
            assert not any(heading in head for heading in named)


def test_one_line_names_the_pairs_that_are_not_told_apart(full_view):
    line = "Not told apart on this text (permutation test, Holm, 5 %): kn_subword and kn_word."
    assert line in render_markdown(full_view)
    assert line in in_terminal(full_view, 120)


def test_a_tie_is_marked_beside_its_interval_and_the_two_are_reconciled(full_view, with_p):
    tied = with_p(full_view.board, [0.3])
    for form in (render_markdown(tied), in_terminal(tied, 160)):
        assert [
            line.split()[1] for line in form.replace("|", "").splitlines() if "] tie" in line
        ] == ["kn_subword"]
        assert "ties (not told apart) for all 15 pairs at once" in form.replace("\\", "")
        assert "] tie" not in render_markdown(full_view)


def test_remarks_are_yellow_in_the_terminal_and_a_list_in_markdown(full_view):
    remark = "Every network was still learning when its steps ran out: more steps would help."
    assert f"- {remark}" in render_markdown(full_view).splitlines()
    out = io.StringIO()
    Console(file=out, width=120, force_terminal=True, color_system="standard").print(
        render_terminal(full_view)
    )
    assert f"\x1b[33m{remark}\x1b[0m" in out.getvalue()


def test_without_facts_no_form_speaks_of_training_time(full_view):
    assert "training  " not in in_terminal(full_view, 140)
    assert "| training" not in render_markdown(full_view)


def test_names_in_the_terminal_are_not_markup(one_metrics, plays):
    name = "[bold]x[/bold]"
    board = build([(name, "ngrams")], {name: one_metrics(name, 1.5)}, KEY, plays)
    assert name in in_terminal(View(board), 100)


def test_equal_scores_give_equal_bytes(full_view, scored):
    scores = {name: scored(1.4 + rank / 10, rank) for rank, name in enumerate(ORDER)}
    again = [with_certainty(full_view.board, scores.__getitem__) for _ in range(2)]
    for render in (render_json, render_csv, render_markdown):
        first, second = (render(View(board)) for board in again)
        assert first == second


def test_an_empty_leaderboard_says_why_in_every_form(plays):
    view = View(build([("missing", "ngrams")], {}, KEY, plays))
    assert json.loads(render_json(view))["models"] == []
    assert render_csv(view).count("\n") == 1
    for shown in (render_markdown(view), in_terminal(view, 100)):
        assert "missing: it has not been scored yet" in shown
