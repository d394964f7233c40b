"""Which option belongs to which choice, and what it is where it is not given.

A `window` beside `architecture: gru` is a misunderstanding, and a model trained in spite of it
would be reported as something that it is not: an option that its choice does not know is refused.
"""

from collections.abc import Mapping
from typing import Any

REQUIRED = object()
"""No default: the option has to be given."""

_RECURRENT = ("lstm", "gru", "rnn", "attention_lstm")

OPTIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "implementation": ("architecture", dict.fromkeys(_RECURRENT, "library")),
    "nonlinearity": ("architecture", {"rnn": "tanh"}),
    "window": ("architecture", {"feed_forward": 5, "attention_lstm": 10}),
    "weight_drop": ("architecture", dict.fromkeys(_RECURRENT, 0.0)),
    "activation_penalty": ("architecture", dict.fromkeys(_RECURRENT, 0.0)),
    "temporal_activation_penalty": ("architecture", dict.fromkeys(_RECURRENT, 0.0)),
    "tied": ("head", {"full": True, "chunked": True, "compiled": True, "adaptive": False}),
    "cutoffs": ("head", {"adaptive": None}),
    "momentum": ("optimiser", {"sgd": 0.0}),
    "beta2": ("optimiser", {"adamw": 0.99}),
    "decay": ("schedule", {"step": 0.5, "plateau": 0.25}),
    "decay_every": ("schedule", {"step": REQUIRED}),
    "truncation": ("batches", {"sequential": "fixed"}),
    "continuation": ("truncation", {"random": 0.5}),
}
"""Option: the field that decides, and its values that take the option, each with the default.

In the order in which they are settled: `truncation` before what depends on it.
"""


def settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """Every option of `OPTIONS` with its value; None where it does not belong to what was chosen.

    given: all fields of a configuration, None where an option was left out. ValueError for an
    option beside a choice that does not take it, or one that is missing.
    """
    values = dict(given)
    for name, (field, defaults) in OPTIONS.items():
        choice = values[field]
        if values[name] is None:
            values[name] = defaults.get(choice)
            if values[name] is REQUIRED:
                raise ValueError(f"{name} must be given for {field}: {choice}")
        elif choice not in defaults:
            raise ValueError(
                f"{name} does not belong to {field}: {choice} "
                f"(it is an option of {', '.join(defaults)})"
            )
    return {name: values[name] for name in OPTIONS}
