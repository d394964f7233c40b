"""Which methods the page explains: what a configuration says of itself is recognised."""

import dataclasses

import pytest

from textmill.neural.config import NetworkConfig
from textmill.ngram.config import NgramConfig
from textmill.reports.methods import is_counting_and_learning, methods, order, tokens
from textmill.reports.view import View


def of_kind(full_board, kind: str) -> View:
    entry = dataclasses.replace(full_board.models[1], kind=kind)
    return View(dataclasses.replace(full_board, models=(entry,)))


@pytest.mark.parametrize(
    ("method", "config", "found_order"),
    [
        ("uniform", NgramConfig("char", "uniform"), None),
        ("additive", NgramConfig("char", "additive", order=2, k=0.003), 2),
        ("additive", NgramConfig("char", "additive", order=1, k=1e-6), 1),
        ("kneser_ney", NgramConfig("char", "kneser_ney", order=12), 12),
        (
            "lstm",
            NetworkConfig(tokenizer="char", embedding=8, hidden=16, steps=500, evaluate_every=100),
            None,
        ),
    ],
)
def test_every_configuration_is_recognised_by_its_own_words(
    full_board, method, config, found_order
):
    found = methods(of_kind(full_board, config.describe()))
    assert {name for name, entry in found.items() if entry} == {method}
    assert order(found[method]) == found_order


def test_what_is_not_known_is_not_explained(full_board):
    assert not any(methods(of_kind(full_board, "LSTM of another kind")).values())


def test_the_best_model_of_a_method_is_the_example(full_view):
    found = methods(full_view)
    assert found["kneser_ney"].name == "kn_subword"
    assert found["lstm"].name == "lstm_subword"
    assert found["mixture"].name == "mix_subword"
    assert found["additive"] is None


def test_only_tokenizers_named_by_what_they_do_are_explained(full_board, full_view):
    assert tokens(full_view) == {"char", "subword", "word"}
    models = [
        dataclasses.replace(entry, tokenizer="bytes" if entry.tokenizer == "char" else "word")
        for entry in full_board.models
    ]
    assert tokens(View(dataclasses.replace(full_board, models=tuple(models)))) == {"word"}


def test_a_mixture_of_two_ngrams_is_not_said_to_count_and_to_learn(full_board, full_view):
    mixture = full_board.models[0]
    assert is_counting_and_learning(mixture, full_view)
    of_ngrams = dataclasses.replace(mixture, parts=("kn_subword", "kn_word"))
    assert not is_counting_and_learning(of_ngrams, full_view)
    of_unranked = dataclasses.replace(mixture, parts=("kn_subword", "flat_word"))
    assert not is_counting_and_learning(of_unranked, full_view)
