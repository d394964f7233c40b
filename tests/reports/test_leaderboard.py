"""Ranks, reasons and groups of the leaderboard."""

import math

import pytest

from textmill.base.errors import UserError
from textmill.reports.leaderboard import build, declared_models, text_facts
from textmill.reports.records import from_json, to_json

KEY = "a" * 64


def ranked(declared, metrics, text) -> list[tuple[int, str]]:
    return [(entry.rank, entry.name) for entry in build(declared, metrics, KEY, text).models]


def reasons(declared, metrics, text) -> dict[str, str]:
    return {one.name: one.reason for one in build(declared, metrics, KEY, text).unranked}


def test_models_are_ranked_by_bits_per_byte_and_ties_by_name(one_metrics, plays):
    scores = {"zeta": 1.5, "beta": 1.7, "alpha": 1.5, "gamma": 1.2}
    metrics = {name: one_metrics(name, test) for name, test in scores.items()}
    declared = [(name, "ngrams") for name in scores]
    expected = [(1, "gamma"), (2, "alpha"), (3, "zeta"), (4, "beta")]
    assert ranked(declared, metrics, plays) == expected
    assert ranked(declared[::-1], metrics, plays) == expected


def test_exactly_the_declared_models_appear(one_metrics, plays):
    metrics = {name: one_metrics(name, 1.5) for name in ("kept", "leftover")}
    board = build([("kept", "ngrams"), ("missing", "networks")], metrics, KEY, plays)
    assert [entry.name for entry in board.models] == ["kept"]
    assert [(one.name, one.group) for one in board.unranked] == [("missing", "networks")]
    assert "dvc repro" in board.unranked[0].reason


def test_a_model_under_another_key_is_listed_with_both_keys(one_metrics, plays):
    metrics = {
        "here": one_metrics("here", 1.5),
        "elsewhere": one_metrics("elsewhere", 1.0, comparison_key="b" * 64),
    }
    declared = [("here", "ngrams"), ("elsewhere", "ngrams")]
    assert ranked(declared, metrics, plays) == [(1, "here")]
    reason = reasons(declared, metrics, plays)["elsewhere"]
    assert "bbbbbbbb" in reason
    assert "aaaaaaaa" in reason
    board = build(declared, metrics, KEY, plays)
    assert [m.name for one in board.tokenizations for m in one.models] == ["here"]


def test_what_is_not_byte_comparable_is_listed_with_its_own_reason(one_metrics, plays):
    found = one_metrics("lossy", None, byte_comparable=False, why_not="the tokenizer loses case")
    assert reasons([("lossy", "ngrams")], {"lossy": found}, plays) == {
        "lossy": "the tokenizer loses case"
    }


@pytest.mark.parametrize("value", [None, math.inf, math.nan])
def test_scores_that_are_not_finite_are_not_ranked_and_never_reach_the_json(
    one_metrics, plays, value
):
    metrics = {"good": one_metrics("good", 1.5), "endless": one_metrics("endless", 1.5)}
    for split in ("valid", "test"):
        metrics["endless"][split] |= {"bits_per_byte": value, "perplexity": value}
    metrics["good"]["valid"] |= {"bits_per_byte": value, "perplexity": value}
    declared = [("good", "ngrams"), ("endless", "ngrams")]
    board = build(declared, metrics, KEY, plays)
    assert [entry.name for entry in board.models] == ["good"]
    assert "not finite" in board.unranked[0].reason
    assert board.models[0].bits_per_byte_valid is None
    content = to_json(board)
    assert "NaN" not in content
    assert "Infinity" not in content


def test_perplexities_are_ranked_only_among_equal_fingerprints(full_board):
    groups = {one.tokenizer: [m.name for m in one.models] for one in full_board.tokenizations}
    assert groups == {
        "char": ["lstm_char", "uniform_char"],
        "subword": ["mix_subword", "kn_subword", "lstm_subword"],
        "word": ["kn_word"],
    }
    for one in full_board.tokenizations:
        assert [model.rank for model in one.models] == list(range(1, len(one.models) + 1))
        perplexities = [model.perplexity for model in one.models]
        assert perplexities == sorted(perplexities)


def test_one_tokenizer_name_with_two_fingerprints_is_two_groups(one_metrics, plays):
    metrics = {
        "old": one_metrics("old", 1.5, tokenizer_fingerprint="0"),
        "new": one_metrics("new", 1.4, tokenizer_fingerprint="1"),
    }
    board = build([("old", "ngrams"), ("new", "ngrams")], metrics, KEY, plays)
    assert [[m.name for m in one.models] for one in board.tokenizations] == [["old"], ["new"]]


def test_a_model_without_bits_per_byte_keeps_its_perplexity_among_its_tokens(one_metrics, plays):
    metrics = {"best": one_metrics("best", 1.5), "closed": one_metrics("closed", 1.2)}
    metrics["closed"] |= {"byte_comparable": False, "why_not": "training showed it no unknown"}
    metrics["closed"]["test"]["bits_per_byte"] = None
    board = build([("best", "ngrams"), ("closed", "ngrams")], metrics, KEY, plays)
    assert [entry.name for entry in board.models] == ["best"]
    assert [model.name for model in board.tokenizations[0].models] == ["closed", "best"]


def test_spelling_share_is_the_spelling_part_of_the_whole_bill(full_board):
    shares = {entry.name: entry.spelling_share for entry in full_board.models}
    assert shares["kn_word"] == pytest.approx(0.1)
    assert shares["kn_subword"] == 0.0


def test_a_name_in_two_groups_is_refused_with_both_groups():
    with pytest.raises(UserError, match="twice, in ngrams and in mixtures"):
        declared_models({"ngrams": ["a", "b"], "networks": None, "mixtures": ["b"]})


def test_declared_models_keep_their_order_and_groups():
    groups = {"ngrams": {"b": 1, "a": 2}, "networks": None, "mixtures": {"c": 3}}
    assert declared_models(groups) == [("b", "ngrams"), ("a", "ngrams"), ("c", "mixtures")]


def test_json_reads_back_as_the_same_leaderboard(full_board):
    assert from_json(to_json(full_board)) == full_board


def test_json_of_another_layout_is_refused_with_the_place(full_board):
    with pytest.raises(UserError, match=r"board\.json: not a leaderboard .*models\.0\.rank"):
        from_json(to_json(full_board).replace('"rank": 1,', '"rank": "first",', 1), "board.json")


def test_a_download_pinned_by_its_members_shows_the_members(plays):
    source = {
        "corpus": "w",
        "title": "W",
        "licence": "CC",
        "asked": {"path": "w.zip"},
        "download": {"name": "w.zip"},
        "files": [{"name": "test.txt", "bytes": 5, "sha256": "d" * 64}],
    }
    split_sizes = {"train": 1, "valid": 2, "test": 3}
    cleaned = dict.fromkeys(
        ("documents", "lines", "words", "characters", "bytes", "sha256"), split_sizes
    )
    text = text_facts(source, cleaned)
    assert [(file.name, file.sha256) for file in text.files] == [("test.txt", "d" * 64)]
    assert text.sources == ()
    assert text.splits["valid"].lines == 2
    assert [file.name for file in plays.files] == ["plays.txt"]
