"""Parameters are parsed strictly and every cross-check names its field."""

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
    ],
)
def test_a_wrong_value_is_refused_by_name(
    make_config: Callable[..., NetworkConfig], change: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make_config(**change)


@pytest.mark.parametrize("change", [{"device": "tpu"}, {"precision": "float16"}])
def test_a_word_that_is_no_choice_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(change))):
        TypeAdapter(NetworkConfig).validate_python({**ENTRY, **change})
