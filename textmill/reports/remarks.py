"""What a reader of the leaderboard should notice: a few plain sentences, or none.

A table of numbers looks the same whether all went well or a network fell apart. Each remark is
something that a colleague would point at, and names what to do. Where nothing stands out nothing
is said, because a list that is always there is not read.
"""

from textmill.reports import wording
from textmill.reports.curves import Curve
from textmill.reports.records import Entry
from textmill.reports.view import View

STORED = 8.0
"""Bits of a byte that is stored as it is."""
MOSTLY_SPELLING = 0.5
"""Of a model's bits, on spelling what its vocabulary lacks."""
SMALLEST_PART = 0.01
"""A mixture gives both of its parts as much weight, or it is none."""
WORTH_SAYING = 0.005
"""A change of validation by this share is one; less is a plateau."""


def remarks(view: View) -> tuple[str, ...]:
    """Sentences about the view, the gravest first."""
    if not view.board.models:
        return ()
    return (
        *_contaminated(view),
        *_short_text(view),
        *_adapting(view),
        *_spelling(view),
        *_no_better_than_nothing(view),
        *_learning(view),
        *_mixtures_of_one(view),
    )


def is_still_learning(curve: Curve) -> bool:
    """The best look was the last, and the last quarter of the looks brought something."""
    scores = curve.bits_per_byte
    earlier = scores[3 * (len(scores) - 1) // 4]
    return curve.best == len(scores) - 1 and scores[-1] < (1 - WORTH_SAYING) * earlier


def is_overfitting(curve: Curve) -> bool:
    """At least two looks and a third of all came after the best, and the last is worse."""
    scores, best = curve.bits_per_byte, curve.best
    after = len(scores) - 1 - best
    return after >= max(2, len(scores) / 3) and scores[-1] > (1 + WORTH_SAYING) * scores[best]


def _contaminated(view: View) -> list[str]:
    """Every model of the corpus has read the test text, more or less."""
    found = view.board.text.overlap
    if found is None or not found.is_contaminated:
        return []
    shares = [f"{wording.percent(found.ngrams or 0.0)} of its {found.n}-grams of {found.unit}"]
    if found.lines is not None:
        shares.append(f"{wording.percent(found.lines)} of its long lines")
    remark = (
        f"Contaminated: the test text stands in the training text, {' and '.join(shares)} (at most "
        f"{wording.percent(found.max)} may). All models score better here than on a new text: drop "
        "duplicates in the corpus's cleaning, or split it another way."
    )
    return [remark]


def _short_text(view: View) -> list[str]:
    if view.board.certainty is not None:
        return []
    lines = view.board.text.splits["test"].lines
    return [
        f"The test text is too short for intervals ({lines} lines): small differences mean nothing."
    ]


def _adapting(view: View) -> list[str]:
    """Models that have an advantage over the rest: they learn from the test text itself."""
    names = [entry.name for entry in view.board.models if entry.adapts]
    if not names:
        return []
    learns = "adapts: it learns" if len(names) == 1 else "adapt: they learn"
    remark = (
        f"{_listed(names)} {learns} from the test text while reading it, each token scored first. "
        "The others stay as they were trained."
    )
    return [remark]


def _spelling(view: View) -> list[str]:
    """Models whose tokens say little of the text, so that what is ranked is how words are spelt."""
    models = view.board.models
    names = [entry.name for entry in models if entry.spelling_share > MOSTLY_SPELLING]
    if not names:
        return []
    spend, their = ("spends", "its") if len(names) == 1 else ("spend", "their")
    remark = (
        f"{_listed(names)} {spend} more than half of {their} bits on spelling unknown words: "
        f"{their} words know little of this text. Characters or subwords suit it, or a lower "
        "minimum_frequency."
    )
    return [remark]


def _no_better_than_nothing(view: View) -> list[str]:
    """Models that need as much as the bare text, or more than a uniform one of the same tokens."""
    models = view.board.models
    stored = [entry.name for entry in models if entry.bits_per_byte >= STORED]
    found = []
    if stored:
        need = "needs" if len(stored) == 1 else "need"
        found.append(
            f"{_listed(stored)} {need} 8 bits per byte or more: worse than storing the text as it "
            "is."
        )
    for uniform in (entry for entry in models if entry.kind == "uniform"):
        worse = [entry.name for entry in models if _is_worse(entry, uniform)]
        if worse:
            is_worse = "is" if len(worse) == 1 else "are"
            found.append(
                f"{_listed(worse)} {is_worse} worse than {uniform.name}, which has learnt nothing: "
                "look for what went wrong."
            )
    return found


def _is_worse(entry: Entry, uniform: Entry) -> bool:
    same_tokens = entry.tokenizer_fingerprint == uniform.tokenizer_fingerprint
    return same_tokens and STORED > entry.bits_per_byte > uniform.bits_per_byte


def _learning(view: View) -> list[str]:
    ranks = {entry.name: entry.rank for entry in view.board.models}
    curves = sorted(view.curves, key=lambda curve: ranks.get(curve.name, len(ranks) + 1))
    found = []
    still = [curve.name for curve in curves if is_still_learning(curve)]
    if still:
        every = len(still) == len(curves) > 1
        was = "was" if every or len(still) == 1 else "were"
        whose = "its" if was == "was" else "their"
        found.append(
            f"{'Every network' if every else _listed(still)} {was} still learning when {whose} "
            "steps ran out: more steps would help."
        )
    found += [
        f"{curve.name} seems to overfit: best on validation at look {curve.best + 1} of "
        f"{len(curve.bits_per_byte)}, worse from there. More text, dropout or a smaller network "
        "would help."
        for curve in curves
        if is_overfitting(curve)
    ]
    return found


def _mixtures_of_one(view: View) -> list[str]:
    """Mixtures that are one of their parts, so that a difference from it means nothing."""
    found = []
    for entry in view.board.models:
        if entry.weight is None or SMALLEST_PART <= entry.weight <= 1 - SMALLEST_PART:
            continue
        alone, other = entry.parts if entry.weight > 0.5 else entry.parts[::-1]
        found.append(f"{entry.name} is all but {alone} alone: {other} adds nothing to it.")
    return found


def _listed(names: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
