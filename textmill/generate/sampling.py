"""Ancestral sampling: each next id is drawn from the model's own distribution after all before it.

The temperature t draws from p^(1/t), renormalised: 1 is the model, 0 always the likeliest id, above
1 flatter. One seed gives one text for one model. Through the one interface of every model,
so an n-gram and a network are sampled alike.
"""

import numpy as np

from textmill.scoring.protocol import LanguageModel
from textmill.tokenizers.vocabulary import END


def sample(
    model: LanguageModel,
    prompt: np.ndarray,
    length: int,
    *,
    seed: int,
    temperature: float = 1.0,
    lines: bool = False,
) -> np.ndarray:
    """Up to `length` ids that go on after the prompt.

    prompt: ids, may be empty: then a document begins. lines: False ends with the first `</s>`,
    True goes on to the next line. ValueError for a temperature below 0.
    """
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be 0 or more, not {temperature}")
    random = np.random.default_rng(seed)
    state = model.start(1)
    if len(prompt):
        _, state = model.score(prompt[None, :], state)
    drawn: list[int] = []
    while len(drawn) < length:
        chosen = draw(model.distribution(state)[0], temperature, random)
        drawn.append(chosen)
        if chosen == END and not lines:
            break
        _, state = model.score(np.array([[chosen]]), state)
    return np.array(drawn, np.int64)


def draw(log_p_V: np.ndarray, temperature: float, random: np.random.Generator) -> int:
    """An id by its probability, which is raised to 1 / temperature first; at 0 the likeliest."""
    if temperature == 0:
        return int(np.argmax(log_p_V))
    with np.errstate(over="ignore"):  # so far below the likeliest that it never comes
        p = np.exp((log_p_V - log_p_V.max()) / temperature)
    sums = np.cumsum(p)
    return int(np.searchsorted(sums, random.random() * sums[-1], side="right"))
