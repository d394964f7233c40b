"""The one interface of every language model, n-gram or neural.

Evaluation, mixing and generation use nothing else. A stream is a document: its lines one after
the other, each ended by `</s>`; `<s>` stands before the document and is never predicted. State
is all the context there is: the last n-1 ids, or h and c. Scoring a stream in one piece or in
chunks gives the same numbers. The event space is every id but `<s>`. A model whose scores do not
sum to one says so by a property `gives_probabilities`, which is False.
"""

from typing import Any, Protocol

import numpy as np

from textmill.tokenizers.vocabulary import Vocabulary


class LanguageModel(Protocol):
    """B streams, T tokens, V ids of the vocabulary."""

    @property
    def vocabulary(self) -> Vocabulary:
        """What the ids stand for."""
        ...

    def start(self, n: int) -> Any:
        """State of n streams at the start of a document."""
        ...

    def score(self, ids_BT: np.ndarray, state: Any) -> tuple[np.ndarray, Any]:
        """(B, T) float64 nats, -ln p(id | all before it in its stream), and the state after.

        Of a state of more than B streams the first B go on, the others have ended.
        """
        ...

    def distribution(self, state: Any) -> np.ndarray:
        """(B, V) float64 ln p of the next id; -inf for `<s>`."""
        ...
