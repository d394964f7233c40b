"""Parameters are parsed strictly and every cross-check names its field."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from textmill.neural.config import NetworkConfig

ENTRY = {"tokenizer": "subword", "embedding": 8, "hidden": 8, "steps": 200, "evaluate_every": 50}


def test_an_entry_of_parameters_is_parsed_with_its_defaults() -> None:
    config = TypeAdapter(NetworkConfig).validate_python({**ENTRY, "learning_rate": 1e-3})
    assert (config.learning_rate, config.layers, config.precision) == (1e-3, 1, "float32")
    assert NetworkConfig(**config.as_json()) == config


def test_the_warm_up_is_a_hundred_steps_whatever_is_counted() -> None:
    assert NetworkConfig(**ENTRY).warmup == 100
    counted = {**ENTRY, "steps": None, "batch": 4, "bptt": 8}
    assert NetworkConfig(**counted, tokens=100_000).warmup == 3_200
    assert NetworkConfig(**counted, tokens=2_000).warmup == 200


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden": 0}, "hidden must be greater than 0, not 0"),
        ({"learning_rate": -1.0}, "learning_rate must be greater than 0"),
        ({"weight_decay": -0.1}, "weight_decay must not be negative"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), not 1.0"),
        ({"embedding_dropout": -0.1}, "embedding_dropout must lie in"),
        ({"warmup": 12}, "warmup must be less than steps"),
        ({"evaluate_every": 13}, "evaluate_every must not exceed steps"),
        ({"tokens": 100}, "steps or tokens must be given, one of them"),
        ({"steps": None}, "steps or tokens must be given, one of them"),
        ({"steps": None, "tokens": 3}, "evaluate_every must not exceed tokens"),
        ({"window": 3}, r"window does not belong to architecture: lstm \(it is an option of feed"),
        ({"architecture": "gru", "nonlinearity": "relu"}, "does not belong to architecture: gru"),
        ({"architecture": "feed_forward", "weight_drop": 0.1}, "weight_drop does not belong"),
        (
            {"head": "adaptive", "cutoffs": (4, 5, 6, 7), "tied": True},
            "embedding must be at least 16 with 4 cutoffs, not 8",
        ),
        (
            {"head": "adaptive", "cutoffs": (4, 5, 6, 7)},
            "hidden must be at least 16 with 4 cutoffs, not 12",
        ),
        ({"head": "adaptive", "cutoffs": (4, 4)}, r"cutoffs must be rising .*\[4, 4\]"),
        ({"momentum": 0.9}, "momentum does not belong to optimiser: adamw"),
        ({"schedule": "step"}, "decay_every must be given for schedule: step"),
        ({"schedule": "plateau", "decay": 1.0}, "decay must lie between 0 and 1, not 1.0"),
        ({"batches": "random", "truncation": "fixed"}, "truncation does not belong to batches"),
        ({"continuation": 0.5}, "continuation does not belong to truncation: fixed"),
        ({"processes": 2}, r"batch must be a multiple of processes \(2\)"),
        ({"init_from": "models/a"}, "init_from and init_from_sha256 belong together"),
    ],
)
def test_a_wrong_value_is_refused_by_name(
    make_config: Callable[..., NetworkConfig], change: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make_config(**change)


def test_options_have_their_choices_defaults_and_no_others(
    make_config: Callable[..., NetworkConfig],
) -> None:
    plain = make_config()
    assert (plain.implementation, plain.tied, plain.truncation) == ("library", True, "fixed")
    assert (plain.window, plain.cutoffs, plain.momentum, plain.decay) == (None, None, None, None)
    assert make_config(architecture="feed_forward").window == 5
    assert make_config(batches="random").truncation is None
    assert make_config(schedule="plateau").decay == 0.25
    adaptive = make_config(head="adaptive", cutoffs=(4, 8))
    assert adaptive.tied is False
    assert make_config(head="adaptive", cutoffs=(4, 5, 6), tied=True).tied is True
    assert adaptive.cutoffs_of(14_500) == (4, 8)
    assert make_config(head="adaptive").cutoffs_of(14_500) == (906, 3_625)
    assert NetworkConfig.from_json(json.loads(json.dumps(adaptive.as_json()))) == adaptive


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "LSTM, 2 x 12"),
        ({"architecture": "rnn", "nonlinearity": "relu"}, "RNN (relu), 2 x 12"),
        ({"architecture": "feed_forward", "window": 4}, "feed-forward over 4 tokens, 2 x 12"),
        ({"architecture": "attention_lstm"}, "LSTM with attention over 10 states, 2 x 12"),
    ],
)
def test_a_network_is_named_by_its_architecture(
    make_config: Callable[..., NetworkConfig], changes: dict[str, Any], words: str
) -> None:
    assert make_config(**changes).describe() == words


@pytest.mark.parametrize(
    "change", [{"device": "tpu"}, {"precision": "float16"}, {"architecture": "lstn"}]
)
def test_a_word_that_is_no_choice_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        TypeAdapter(NetworkConfig).validate_python({**ENTRY, **change})


@pytest.mark.parametrize("name", ["hidden", "embedding", "bptt", "batch", "layers", "processes"])
def test_absurd_sizes_are_refused_before_torch_sees_them(name):
    given = {"tokenizer": "word", "embedding": 8, "hidden": 8, "steps": 200, "evaluate_every": 10}
    with pytest.raises(ValueError, match=name):
        NetworkConfig(**given | {name: (1 << 63) - 1})
