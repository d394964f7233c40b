"""The registry: which layers make each `architecture`.

Adding an architecture is adding a name to
`config.Architecture`, its options to `options.OPTIONS` and a line here.
"""

from collections.abc import Callable, Mapping

from textmill.neural.attention import Attention
from textmill.neural.config import NetworkConfig
from textmill.neural.feed_forward import FeedForward
from textmill.neural.recurrent import Recurrent
from textmill.neural.state import StatefulLayer


def make_layers(config: NetworkConfig) -> list[StatefulLayer]:
    """The layers of a network, from the embeddings (E) to the last outputs (H)."""
    return ARCHITECTURES[config.architecture](config)


def _recurrent(config: NetworkConfig) -> list[StatefulLayer]:
    return [Recurrent(width, config) for width in _widths(config)]


def _feed_forward(config: NetworkConfig) -> list[StatefulLayer]:
    windows = [config.window or 1] + [1] * (config.layers - 1)
    return [
        FeedForward(width, config.hidden, window)
        for width, window in zip(_widths(config), windows, strict=True)
    ]


def _attention_lstm(config: NetworkConfig) -> list[StatefulLayer]:
    return [*_recurrent(config), Attention(config.hidden, config.window or 1)]


def _widths(config: NetworkConfig) -> list[int]:
    """Inputs of each layer."""
    return [config.embedding] + [config.hidden] * (config.layers - 1)


ARCHITECTURES: Mapping[str, Callable[[NetworkConfig], list[StatefulLayer]]] = {
    "lstm": _recurrent,
    "gru": _recurrent,
    "rnn": _recurrent,
    "feed_forward": _feed_forward,
    "attention_lstm": _attention_lstm,
}
