"""What a reader is told to notice: the right sentence for each case, and none where all is well."""

import csv
import dataclasses
import io
import json

import pytest
from rich.console import Console

from textmill.reports.curves import Curve
from textmill.reports.html import render_html
from textmill.reports.leaderboard import build, text_facts
from textmill.reports.plain import render_csv, render_markdown
from textmill.reports.records import Overlap, from_json, to_json
from textmill.reports.remarks import is_overfitting, is_still_learning, remarks
from textmill.reports.terminal import render_terminal
from textmill.reports.view import View

KEY = "a" * 64
LEARNT = (3.0, 2.0, 1.6, 1.5, 1.499, 1.498)
LEARNING = (3.0, 2.5, 2.2, 2.0)
OVERFITTED = (2.0, 1.7, 1.6, 1.65, 1.7)


def curve(scores: tuple[float, ...], name: str = "lstm") -> Curve:
    return Curve(name, "char", tuple(float(look) for look in range(len(scores))), scores)


def view(full_board, *curves: Curve) -> View:
    return View(full_board, curves)


@pytest.mark.parametrize(
    ("scores", "still", "over"),
    [
        (LEARNT, False, False),
        (LEARNING, True, False),
        (OVERFITTED, False, True),
        ((2.0,), False, False),
        ((2.0, 1.5), True, False),
        ((1.5, 2.0), False, False),
        ((1.5, 1.6, 1.7), False, True),
        ((1.5, 1.501, 1.502), False, False),
        ((1.6, 1.5, 1.5, 1.5), False, False),
        # twelve small looks at a steady pace are still learning
        (tuple(2.0 - 0.005 * look for look in range(12)), True, False),
        # stopped by patience after two looks, long after most of the learning
        ((*(2.0 - 0.05 * look for look in range(10)), 1.6, 1.7), False, False),
    ],
)
def test_where_a_network_stopped(scores, still, over):
    assert is_still_learning(curve(scores)) is still
    assert is_overfitting(curve(scores)) is over


def test_a_leaderboard_where_all_is_well_has_no_remark(full_board):
    assert remarks(view(full_board, curve(LEARNT))) == ()
    assert remarks(View(full_board)) == ()


OVERLAP = {"unit": "words", "n": 13, "max": 0.01, "is_contaminated": True}


@pytest.fixture
def contaminated(full_board):
    text = dataclasses.replace(
        full_board.text, overlap=Overlap(**OVERLAP, ngrams=0.123, lines=0.034)
    )
    return View(dataclasses.replace(full_board, text=text))


def test_a_test_text_that_stands_in_train_is_the_first_remark(contaminated):
    assert remarks(contaminated)[0] == (
        "Contaminated: the test text stands in the training text, 12 % of its 13-grams of words "
        "and 3.4 % of its long lines (at most 1.0 % may). All models score better here than on a "
        "new text: drop duplicates in the corpus's cleaning, or split it another way."
    )


def test_every_model_of_a_contaminated_corpus_is_marked_in_every_form(contaminated, full_board):
    markdown, page = render_markdown(contaminated), render_html(contaminated)
    shown = Console(width=200, record=True, file=io.StringIO())
    shown.print(render_terminal(contaminated))
    terminal = shown.export_text()
    models = len(full_board.models)
    assert page.count('<strong class="contaminated">contaminated</strong>') == models
    for entry in full_board.models:
        assert f"{entry.name} (contaminated)" in markdown
        assert f"{entry.name} (contaminated)" in terminal
    for form in (markdown, page, terminal):
        assert "Contaminated: the test text stands in the training text" in " ".join(form.split())
    for view, said in ((contaminated, "true"), (View(full_board), "")):
        rows = list(csv.DictReader(io.StringIO(render_csv(view))))
        assert [row["contaminated"] for row in rows] == [said] * models
    assert from_json(to_json(contaminated.board)) == contaminated.board
    assert json.loads(to_json(contaminated.board))["text"]["overlap"]["ngrams"] == 0.123


@pytest.mark.parametrize("is_contaminated", [False, None])
def test_nothing_is_marked_below_the_threshold_or_without_a_measurement(
    full_board, is_contaminated
):
    found = OVERLAP | {"is_contaminated": False, "ngrams": 0.001, "lines": None}
    overlap = None if is_contaminated is None else Overlap(**found)
    text = dataclasses.replace(full_board.text, overlap=overlap)
    clean = View(dataclasses.replace(full_board, text=text))
    assert remarks(clean) == ()
    for form in (render_markdown(clean), render_html(clean).partition("</style>")[2]):
        assert "ontaminated" not in form


def test_the_overlap_of_test_comes_from_the_record_of_the_cleaning(plays):
    assert plays.overlap is None
    splits = {"train": 1, "valid": 2, "test": 3}
    cleaned = dict.fromkeys(("documents", "lines", "words", "characters", "bytes"), splits)
    measured = {"ngrams": {"valid": 0.5, "test": 0.25}, "lines": {"valid": 0.5, "test": None}}
    source = {"corpus": "c", "title": "t", "licence": "l", "files": [], "asked": {}}
    text = text_facts(source, cleaned | {"overlap": OVERLAP | measured})
    assert text.overlap == Overlap(**OVERLAP, ngrams=0.25, lines=None)
    assert text.is_contaminated


def test_networks_that_were_still_learning_are_one_sentence(full_board):
    learnt, learning = curve(LEARNT, "c"), [curve(LEARNING, name) for name in "ab"]
    assert remarks(view(full_board, learnt, learning[0])) == (
        "a was still learning when its steps ran out: more steps would help.",
    )
    assert remarks(view(full_board, learnt, *learning)) == (
        "a and b were still learning when their steps ran out: more steps would help.",
    )
    assert remarks(view(full_board, *learning)) == (
        "Every network was still learning when its steps ran out: more steps would help.",
    )
    assert remarks(view(full_board, learning[0]))[0].startswith("a was still learning")


def test_an_overfitted_network_is_told_with_its_best_look(full_board):
    (remark,) = remarks(view(full_board, curve(OVERFITTED, "lstm_word")))
    assert remark == (
        "lstm_word seems to overfit: best on validation at look 3 of 5, worse from there. "
        "More text, dropout or a smaller network would help."
    )


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (0.003, "mix_subword is all but lstm_subword alone: kn_subword adds nothing to it."),
        (0.998, "mix_subword is all but kn_subword alone: lstm_subword adds nothing to it."),
        (0.02, None),
    ],
)
def test_a_mixture_of_one_is_told(full_board, weight, said):
    models = tuple(
        dataclasses.replace(entry, weight=weight) if entry.weight is not None else entry
        for entry in full_board.models
    )
    found = remarks(View(dataclasses.replace(full_board, models=models)))
    assert found == ((said,) if said else ())


@pytest.mark.parametrize(("share", "said"), [(0.51, True), (0.49, False)])
def test_words_that_are_mostly_spelt_are_told(full_board, share, said):
    first, *rest = full_board.models
    models = (dataclasses.replace(first, spelling_share=share), *rest)
    found = remarks(View(dataclasses.replace(full_board, models=models)))
    wanted = f"{first.name} spends more than half of its bits on spelling unknown words"
    assert any(remark.startswith(wanted) for remark in found) is said


def test_networks_are_named_in_the_order_of_their_ranks(full_board):
    curves = [curve(LEARNING, name) for name in ("lstm_char", "lstm_subword")]
    said = remarks(view(full_board, *curves, curve(LEARNT, "x")))
    assert said[0].startswith("lstm_subword and lstm_char were")


def board_of(full_board, one_metrics, scores: dict[str, float], **kinds: str):
    metrics = {
        name: one_metrics(name, test, kind=kinds.get(name, "made up"))
        for name, test in scores.items()
    }
    board = build([(name, "ngrams") for name in scores], metrics, KEY, full_board.text)
    return dataclasses.replace(board, certainty=full_board.certainty)


def test_eight_bits_and_more_are_worse_than_the_text_as_it_is(full_board, one_metrics):
    board = board_of(full_board, one_metrics, {"a": 7.99, "b": 8.0, "c": 9.5})
    assert remarks(View(board)) == (
        "b and c need 8 bits per byte or more: worse than storing the text as it is.",
    )


def test_worse_than_the_uniform_model_of_the_same_tokens(full_board, one_metrics):
    scores = {"good": 1.5, "even": 3.0, "bad": 3.5}
    board = board_of(full_board, one_metrics, scores, even="uniform")
    assert remarks(View(board)) == (
        "bad is worse than even, which has learnt nothing: look for what went wrong.",
    )
    other = [dataclasses.replace(entry, tokenizer_fingerprint=entry.name) for entry in board.models]
    assert remarks(View(dataclasses.replace(board, models=tuple(other)))) == ()


def test_a_text_too_short_for_intervals_is_told_with_its_lines(full_board):
    test = dataclasses.replace(full_board.text.splits["test"], lines=34)
    text = dataclasses.replace(full_board.text, splits={**full_board.text.splits, "test": test})
    short = dataclasses.replace(full_board, text=text, certainty=None, pairs=())
    assert remarks(View(short)) == (
        "The test text is too short for intervals (34 lines): small differences mean nothing.",
    )


def test_where_nothing_is_ranked_nothing_is_remarked(full_board):
    nothing = dataclasses.replace(full_board, models=(), certainty=None)
    assert remarks(View(nothing, (curve(LEARNING),))) == ()


@pytest.fixture
def adapting(one_metrics, plays):
    found = {
        "cache_word": one_metrics(
            "cache_word", 1.2, group="adapted", adapts=True,
            kind="lstm_word + neural cache (window 500, theta 0.3, weight 0.10)",
        ),
        "mix_word": one_metrics(
            "mix_word", 1.1, group="mixtures", adapts=True, kind="0.50 cache_word + 0.50 kn_word",
            parts=["cache_word", "kn_word"], weight=0.5,
        ),
        "kn_word": one_metrics("kn_word", 1.3),
    }  # fmt: skip
    return View(build([(name, one["group"]) for name, one in found.items()], found, KEY, plays))


def test_what_adapts_is_marked_in_every_form_and_explained(adapting):
    markdown, page = render_markdown(adapting), render_html(adapting)
    shown = Console(width=200, record=True, file=io.StringIO())
    shown.print(render_terminal(adapting))
    terminal = shown.export_text()
    assert page.count('<strong class="adapts">adapts</strong>') == 2
    assert "<h3>Neural cache</h3>" in page
    assert "<h3>Dynamic evaluation</h3>" not in page
    for form in (markdown, terminal, page):
        # Once among the ranked and once among the perplexities; the page marks the rank otherwise.
        for name in ("cache_word", "mix_word"):
            assert form.count(f"{name} (adapts)") == (1 if form is page else 2)
        assert "kn_word (adapts)" not in form
        said = "mix_word and cache_word adapt: they learn from the test text while reading it"
        assert said in " ".join(form.split())
    rows = list(csv.DictReader(io.StringIO(render_csv(adapting))))
    assert [row["adapts"] for row in rows] == ["true", "true", "false"]
    assert from_json(to_json(adapting.board)) == adapting.board


def test_dynamic_evaluation_is_explained_where_it_is_used(one_metrics, plays):
    kind = "lstm + dynamic evaluation (learning rate 0.001, decay 0.002)"
    found = {"one": one_metrics("one", 1.2, group="adapted", adapts=True, kind=kind)}
    view = View(build([("one", "adapted")], found, KEY, plays))
    assert "<h3>Dynamic evaluation</h3>" in render_html(view)
    assert remarks(view)[-1].startswith("one adapts: it learns from the test text")
