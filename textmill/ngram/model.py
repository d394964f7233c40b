"""An n-gram model: a trie of orders, queried through the one interface of every model.

Scoring walks the orders upward, all tokens of all streams together (`query`); how fast it is
stands in docs/ngrams.md. Sums are float64, so in double precision distributions sum to one to
1e-12, and `score` and `distribution` agree to 1e-12: they multiply the same numbers in the same
order.

Shapes: B streams, T tokens, V ids, N order.
"""

from dataclasses import replace
from functools import cached_property

import numpy as np

from textmill.ngram import query
from textmill.ngram.config import NgramConfig
from textmill.ngram.query import NONE
from textmill.ngram.tables import PackedOrder
from textmill.ngram.threads import over_ranges
from textmill.tokenizers.vocabulary import BEGIN, END, Vocabulary

NEVER = -2
"""No word, and not NONE, which stands before a fragment."""


class NgramModel:
    """An n-gram model over one vocabulary.

    ngrams: how many n-grams of each order it holds, of order 1 those that training saw (`<s>` alone
    is none).
    discounts: the discounts of each order, of the methods that have such, else empty.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        config: NgramConfig,
        orders: list[PackedOrder],
        *,
        ngrams: tuple[int, ...],
        discounts: tuple[tuple[float, ...], ...] = (),
    ) -> None:
        self.vocabulary = vocabulary
        self.config = config
        self.orders = orders
        self.ngrams = ngrams
        self.discounts = discounts

    @property
    def order(self) -> int:
        """N."""
        return len(self.orders)

    def describe(self) -> str:
        """What the model is, in words; of the order that it has, which may be less than was asked.

        Lines may be shorter, counts may end before, and pruning may leave nothing of an order.
        """
        return replace(self.config, order=self.order).describe()

    @property
    def size(self) -> int:
        """V, `<s>` included."""
        return self.orders[0].words.rows

    @property
    def gives_probabilities(self) -> bool:
        """Whether the scores after a history sum to one."""
        return self.config.gives_probabilities

    def start(self, n: int) -> np.ndarray:
        """State (n, N-1) of streams before their first token: nothing but `<s>`."""
        return np.full((n, self.order - 1), BEGIN, dtype=np.int64)

    def null_context(self, n: int) -> np.ndarray:
        """State of n streams in the middle of a text of which nothing is known: no `<s>` before."""
        return np.full((n, self.order - 1), NONE, dtype=np.int64)

    def score(self, ids_BT: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """-ln p of each id after all before it in its stream, float64 (B, T), and the new state.

        Of a state of more than B streams the first B go on.
        After `</s>` the next line begins at `<s>`. An id that cannot be predicted costs infinity.
        Raises ValueError for an id outside the vocabulary.
        """
        if ids_BT.size and not 0 <= int(ids_BT.min()) <= int(ids_BT.max()) < self.size:
            raise ValueError(f"an id is outside the vocabulary of {self.size}")
        # One stream behind the other; no scored token looks further back than its own state.
        words_BT = np.concatenate([state[: len(ids_BT)], ids_BT.astype(np.int64)], axis=1)
        words = words_BT.ravel()
        p = self._unigrams[words]
        rows = words
        for n in range(2, self.order + 1):
            contexts, rows = rows, np.empty_like(words)
            self._extend(n, words, contexts, rows, p)
        with np.errstate(divide="ignore"):
            nats_BT = -np.log(p.reshape(words_BT.shape)[:, self.order - 1 :])
        return nats_BT, words_BT[:, ids_BT.shape[1] :]

    def distribution(self, state: np.ndarray) -> np.ndarray:
        """Natural log of p(next id | state), float64 (B, V); -inf for `<s>`."""
        p_BV = np.tile(self._unigrams, (len(state), 1))
        words = state.astype(np.int64).ravel()
        last = np.arange(1, len(state) + 1) * (self.order - 1) - 1
        rows = words
        for n in range(2, self.order + 1):
            contexts, rows = rows, np.empty_like(words)
            at_end = np.where(words[last] == self._reset, self._begin(n), contexts[last])
            query.overlay(at_end, *self._parts(n), p_BV)
            if n < self.order:
                self._extend(n, words, contexts, rows, np.ones(len(words)))
        with np.errstate(divide="ignore"):
            return np.log(p_BV)

    @cached_property
    def _unigrams(self) -> np.ndarray:
        return self.orders[0].probabilities.numbers()

    @property
    def _reset(self) -> int:
        """The word behind which nothing before it counts: a line's end, or none that there is."""
        return END if self.config.sentence_boundaries else NEVER

    def _begin(self, n: int) -> int:
        """The context row of order n - 1 after a line's end: `<s>`, before which is nothing."""
        return BEGIN if n == 2 else NONE

    def _extend(
        self, n: int, words: np.ndarray, contexts: np.ndarray, rows: np.ndarray, p: np.ndarray
    ) -> None:
        parts = self._parts(n)
        over_ranges(
            lambda first, end: query.extend(
                first, end, words, contexts, self._reset, self._begin(n), *parts, rows, p
            ),
            len(words),
        )

    def _parts(self, n: int) -> tuple[query.Parts, query.Parts, query.Parts, query.Parts]:
        """Of order n: ends and weights of the contexts, words and probabilities after them."""
        below, order = self.orders[n - 2], self.orders[n - 1]
        assert below.ends is not None
        assert below.backoffs is not None
        columns = below.ends, below.backoffs, order.words, order.probabilities
        return tuple(column.parts() for column in columns)  # type: ignore[return-value]
