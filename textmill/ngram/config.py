"""What an n-gram model is asked to be: the method, its order and the method's own options.

An option that a method does not know is refused instead of ignored: `k` beside `kneser_ney` in
a parameter file is a misunderstanding, and a model trained in spite of it would be reported as
something that it is not. So every optional field is None (or 0) until it is set or filled here.
"""

from dataclasses import dataclass
from typing import Any, Literal

Method = Literal["uniform", "additive", "kneser_ney"]
EventSpace = Literal["all", "observed"]

_OPTIONS: dict[str, dict[str, Any]] = {
    "uniform": {},
    "additive": {"k": 1.0},
    "kneser_ney": {"interpolate_unigrams": True, "event_space": "all", "kenlm_compat": False},
}


@dataclass(frozen=True, slots=True)
class NgramConfig:
    """One n-gram model.

    tokenizer: the name of the tokenization it is trained on.
    method: `uniform`; `additive`, maximum likelihood with `k` added to every event;
        `kneser_ney`, interpolated modified Kneser-Ney (Chen and Goodman 1998).
    order: N, at least 1; `uniform` has none.
    k: additive only, above 0 (default 1).
    interpolate_unigrams: kneser_ney only. True (default): what discounting takes from the
        unigrams is spread over all events, as KenLM does. False: it goes to the events without
        a count alone (to all, if each has one), as SRILM does.
    event_space: kneser_ney only. "all" (default): every id but `<s>`. "observed": the types seen
        in training, `</s>` and `<unk>`, as KenLM does; any other id has probability 0.
    kenlm_compat: kneser_ney only. True repeats a slip of lmplz in the count-of-counts, for
        comparison with its files; it moves log10 probabilities by some 1e-4 on small corpora.
    Every line is a sentence: its first token has `<s>` before it.
    """

    tokenizer: str
    method: Method
    order: int = 0
    k: float | None = None
    interpolate_unigrams: bool | None = None
    event_space: EventSpace | None = None
    kenlm_compat: bool | None = None

    def __post_init__(self) -> None:
        if self.method not in _OPTIONS:
            raise ValueError(f"method must be one of {', '.join(_OPTIONS)}, not {self.method!r}")
        self._settle_order()
        known = _OPTIONS[self.method]
        for name in ("k", "interpolate_unigrams", "event_space", "kenlm_compat"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, known.get(name))
            elif name not in known:
                takes = ", ".join(known) or "none"
                raise ValueError(f"{name} does not belong to {self.method} (its options: {takes})")
        if self.k is not None and not 0 < self.k < float("inf"):
            raise ValueError(f"k must be above 0, not {self.k}")

    def describe(self) -> str:
        """What the model is, in words."""
        if self.method == "uniform":
            return "uniform"
        method = f"add-{self.k:g}" if self.method == "additive" else "modified Kneser-Ney"
        return f"{method}, order {self.order}"

    def _settle_order(self) -> None:
        if self.method == "uniform":
            if self.order not in (0, 1):
                raise ValueError("order does not belong to uniform: it looks at no history")
            object.__setattr__(self, "order", 1)
        elif self.order < 1:
            raise ValueError(f"order must be given and at least 1 for {self.method}")
