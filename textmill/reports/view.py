"""One view of the leaderboard, from which all five forms are rendered.

What a column says is decided here once; the renderers only place it. Facts of this machine
(training time) are joined here, when the leaderboard is shown. They never enter a file that DVC
tracks: a time in it would change its hash with every run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from textmill.reports import ties, wording
from textmill.reports.curves import Curve
from textmill.reports.records import Entry, Leaderboard, Perplexity


@dataclass(frozen=True, slots=True)
class Facts:
    """What training a model took on this machine."""

    training_seconds: float | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A leaderboard as it is shown. Without `facts` no column of times is shown."""

    board: Leaderboard
    curves: tuple[Curve, ...] = ()
    facts: Mapping[str, Facts] = field(default_factory=dict)

    @property
    def best(self) -> Entry | None:
        """The first of the ranking."""
        return self.board.models[0] if self.board.models else None

    def facts_of(self, name: str) -> Facts:
        """The facts of a model; all unknown where there are none."""
        return self.facts.get(name, Facts())


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the main table. `weight`: the higher, the later it is left out for width."""

    key: str
    heading: str
    text: Callable[[Entry, View], str]
    weight: int
    is_number: bool = True


def marked_name(entry: Entry, view: View) -> str:
    """`kn5_word`, or `kn5_word (contaminated)` where the test text stands in train.

    `cache_word (adapts)` learns from the test text while it reads it.
    """
    marks = {"contaminated": view.board.text.is_contaminated, "adapts": entry.adapts}
    named = ", ".join(mark for mark, holds in marks.items() if holds)
    return f"{entry.name} ({named})" if named else entry.name


def perplexity_name(one: Perplexity) -> str:
    """The name in a list of perplexities, marked where the model adapts."""
    return f"{one.name} (adapts)" if one.adapts else one.name


def behind(entry: Entry, view: View) -> str:
    """`0.056 [0.041, 0.071]`, with `tie` behind it where it is one; nothing for the best itself."""
    if entry.rank == 1:
        return ""
    if entry.behind is None:
        return wording.ABSENT
    distance = wording.bits_more(entry.behind.difference)
    mark = " tie" if ties.is_tied(entry, view.board) else ""
    return f"{distance} {wording.bits_range(entry.behind.low, entry.behind.high)}{mark}"


COLUMNS = (
    Column("rank", "#", lambda entry, _: str(entry.rank), 9),
    Column("name", "model", marked_name, 9, is_number=False),
    Column("tokenizer", "tokens", lambda entry, _: entry.tokenizer, 6, is_number=False),
    Column("test", "bits/byte", lambda entry, _: wording.bits(entry.bits_per_byte), 9),
    Column("valid", "valid", lambda entry, _: wording.bits(entry.bits_per_byte_valid), 8),
    Column("behind", "behind the best", behind, 7),
    Column("unknown", "unknown", lambda entry, _: wording.percent(entry.unknown_rate), 3),
    Column("size", "size", lambda entry, _: model_size(entry), 4),
    Column("disk", "on disk", lambda entry, _: wording.size(entry.bytes_on_disk), 2),
)
TRAINING = Column(
    "training",
    "training",
    lambda entry, view: wording.duration(view.facts_of(entry.name).training_seconds),
    5,
)


def columns(view: View) -> tuple[Column, ...]:
    """The columns of the main table; training time only where facts are given."""
    return (*COLUMNS, TRAINING) if view.facts else COLUMNS


def model_size(entry: Entry) -> str:
    """`1.20 M params`, `345 k n-grams`, `2 models` of a mixture."""
    if entry.parameters is not None:
        return f"{wording.amount(entry.parameters)} params"
    if entry.ngrams is not None:
        return f"{wording.amount(entry.ngrams)} n-grams"
    return f"{len(entry.parts)} models" if entry.parts else wording.ABSENT


def confidence(view: View) -> str:
    """`95 %`."""
    certainty = view.board.certainty
    return f"{100 * certainty.confidence:g} %" if certainty else ""


def pieces(view: View) -> str:
    """`63 documents`, `51 blocks of 42 consecutive lines`: what the intervals are drawn over."""
    certainty = view.board.certainty
    if certainty is None:
        return ""
    if certainty.lines is None:
        return f"{certainty.drawn} documents"
    lines = "1 line" if certainty.lines == 1 else f"{certainty.lines} consecutive lines"
    return f"{certainty.drawn} blocks of {lines}"


def how_certain(view: View) -> str:
    """What the intervals were drawn over and what they speak of; empty where there are none."""
    certainty = view.board.certainty
    if certainty is None:
        return ""
    return (
        f"Brackets: {confidence(view)} intervals, paired, {wording.whole(certainty.replicates)} "
        f"draws of {pieces(view)}. They speak of the test text, not of the training seed."
    )


def test_facts(view: View) -> str:
    """`Test text: 31 documents, 2,040 lines, ...` in one line."""
    test = view.board.text.splits["test"]
    documents = (
        "1 document" if test.documents == 1 else f"{wording.whole(test.documents)} documents"
    )
    return (
        f"{documents}, {wording.whole(test.lines)} lines, "
        f"{wording.whole(test.words)} words, {wording.whole(test.bytes)} bytes"
    )
