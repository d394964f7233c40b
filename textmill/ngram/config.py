"""What an n-gram model is asked to be: the method, its order and the method's own options.

An option that a method does not know is refused instead of ignored: `k` beside `kneser_ney` in
a parameter file is a misunderstanding, and a model trained in spite of it would be reported as
something that it is not. So every optional field is None (or 0) until it is set or filled here.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from textmill.base.errors import nearest
from textmill.ngram.columns import Precision

Method = Literal[
    "uniform",
    "maximum_likelihood",
    "additive",
    "good_turing",
    "absolute_discounting",
    "witten_bell",
    "kneser_ney",
    "jelinek_mercer",
    "stupid_backoff",
]
IMPORTED: Any = "imported"
"""Stands for a method in a model that was read from an ARPA file. Nothing can be trained by it."""

LEAST_MEMORY = 1e6
MOST = 1e15
"""Of counts, and of what is added to them or held against them."""
EventSpace = Literal["all", "observed"]

_UNIGRAMS: dict[str, Any] = {"interpolate_unigrams": True, "event_space": "all"}
_CUT: dict[str, Any] = {"cutoffs": (), "prune_threshold": 0.0, "prune_to": 0}
_OPTIONS: dict[str, dict[str, Any]] = {
    "uniform": {},
    "maximum_likelihood": {},
    "additive": {"k": 1.0},
    "good_turing": {
        "reliable_count": 5,
        "event_space": "all",
        "prune_threshold": 0.0,
        "prune_to": 0,
    },
    "absolute_discounting": {**_UNIGRAMS, **_CUT},
    "witten_bell": {**_UNIGRAMS, **_CUT},
    "kneser_ney": {"modified": True, "kenlm_compat": False, **_UNIGRAMS, **_CUT},
    "jelinek_mercer": {**_UNIGRAMS, **_CUT},
    "stupid_backoff": {"alpha": 0.4},
    IMPORTED: {},
}
_WORDS = {
    "uniform": "uniform",
    "maximum_likelihood": "maximum likelihood",
    "good_turing": "Good-Turing with Katz backoff",
    "absolute_discounting": "absolute discounting",
    "witten_bell": "Witten-Bell",
    "jelinek_mercer": "Jelinek-Mercer",
    "stupid_backoff": "stupid backoff",
    IMPORTED: "imported",
}


@dataclass(frozen=True, slots=True)
class NgramConfig:
    """One n-gram model.

    tokenizer: the name of the tokenization it is trained on.
    method: see docs/ngrams.md; `additive` is maximum likelihood with `k` added to every event,
        `kneser_ney` interpolated modified Kneser-Ney (Chen and Goodman 1998).
    order: N, at least 1; `uniform` has none.
    k: additive only, above 0 (default 1).
    reliable_count: good_turing only, at least 2. Counts above it are not discounted (default 5,
        Katz's). With 1, A = r* of count 1, so its d is 0.
    modified: kneser_ney only. False: one discount an order instead of three.
    alpha: stupid_backoff only, the weight of a shorter history (default 0.4).
    interpolate_unigrams: interpolated methods only. True (default): what discounting takes from
        the unigrams is spread over all events, as KenLM does. False: it goes to the events
        without a count alone (to all, if each has one), as SRILM does.
    event_space: methods that discount. "all" (default): every id but `<s>`. "observed": the types
        seen in training, `</s>` and `<unk>`, as KenLM does; any other id has probability 0.
    cutoffs: interpolated methods only; a count an order, the last for all above. N-grams with no
        more occurrences are left out, as by lmplz's `--prune`: never falling, 0 for order 1.
    prune_threshold, prune_to: the same and good_turing; leave out n-grams whose loss raises
        perplexity least (Stolcke 1998): by less than this share, or until so many are left.
    kenlm_compat: kneser_ney only. True repeats a slip of lmplz in the count-of-counts, for
        comparison with its files; it moves log10 probabilities by some 1e-4 on small corpora.
    sentence_boundaries: True (default): every line is a sentence, its first token has `<s>` before
        it. False: `</s>` is a token among others, and only a document restarts at `<s>`.
    precision: of the model file. "double" (default) is exact, "single" is half as large, "coded"
        has 8 bits a number.
    memory_limit: bytes that estimation may take (default 4e9); a longer text is worked on in
        pieces, in files.
    """

    tokenizer: str
    method: Method
    order: int = 0
    k: float | None = None
    reliable_count: int | None = None
    modified: bool | None = None
    alpha: float | None = None
    interpolate_unigrams: bool | None = None
    event_space: EventSpace | None = None
    cutoffs: tuple[int, ...] | None = None
    prune_threshold: float | None = None
    prune_to: int | None = None
    kenlm_compat: bool | None = None
    sentence_boundaries: bool = True
    precision: Precision = "double"
    memory_limit: float = 4e9

    def __post_init__(self) -> None:
        if self.method not in _OPTIONS:
            known = get_args(Method)
            hint = nearest(self.method, known)
            raise ValueError(f"method must be one of {', '.join(known)}, not {self.method!r}{hint}")
        self._settle_order()
        known_options = _OPTIONS[self.method]
        for name in _all_options():
            if getattr(self, name) is None:
                object.__setattr__(self, name, known_options.get(name))
            elif name not in known_options:
                takes = ", ".join(known_options) or "none"
                raise ValueError(f"{name} does not belong to {self.method} (its options: {takes})")
        self._check_numbers()

    @property
    def gives_probabilities(self) -> bool:
        """Whether the scores after a history sum to one."""
        return self.method != "stupid_backoff"

    @property
    def is_rounded(self) -> bool:
        """Whether probabilities and weights are kept so coarsely that sums miss one by percents."""
        return self.precision == "coded"

    def describe(self) -> str:
        """What the model is, in words."""
        if self.method == "uniform":
            return "uniform"
        if self.method == "additive":
            method = f"add-{self.k:g}"
        elif self.method == "kneser_ney":
            method = "modified Kneser-Ney" if self.modified else "Kneser-Ney"
        else:
            method = _WORDS[self.method]
        return f"{method}, order {self.order}"

    def _settle_order(self) -> None:
        if self.method == "uniform":
            if self.order not in (0, 1):
                raise ValueError("order does not belong to uniform: it looks at no history")
            object.__setattr__(self, "order", 1)
        elif self.order < 1:
            raise ValueError(f"order must be given and at least 1 for {self.method}")

    def _check_numbers(self) -> None:
        if self.k is not None and not 0 < self.k <= MOST:
            raise ValueError(f"k must be above 0 and at most {MOST:.0e}, not {self.k}")
        if self.alpha is not None and not 0 < self.alpha <= 1:
            raise ValueError(f"alpha must be above 0 and at most 1, not {self.alpha}")
        if self.reliable_count is not None and not 2 <= self.reliable_count <= 1000:
            raise ValueError(
                f"reliable_count must be 2 to 1,000, not {self.reliable_count}: with 1, "
                "Good-Turing leaves nothing to n-grams that occur once"
            )
        cutoffs = self.cutoffs or ()
        if cutoffs and (cutoffs[0] != 0 or list(cutoffs) != sorted(cutoffs)):
            raise ValueError(f"cutoffs must begin with 0 and never fall, not {list(cutoffs)}")
        if cutoffs and cutoffs[-1] > MOST:
            raise ValueError(f"cutoffs must be at most {MOST:.0e}, not {cutoffs[-1]}")
        if self.prune_threshold is not None and not 0 <= self.prune_threshold < float("inf"):
            raise ValueError(f"prune_threshold must be 0 or more, not {self.prune_threshold}")
        if self.prune_to is not None and self.prune_to < 0:
            raise ValueError(f"prune_to must be 0 or more, not {self.prune_to}")
        if not LEAST_MEMORY <= self.memory_limit < float("inf"):
            raise ValueError(f"memory_limit must be at least 1e6 bytes, not {self.memory_limit}")
        if self.prune_threshold and self.prune_to:
            raise ValueError("prune_threshold and prune_to are two ways to say one thing")


def _all_options() -> list[str]:
    return sorted({name for options in _OPTIONS.values() for name in options})
