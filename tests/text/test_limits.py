import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.text.limits import CharacterShare, DocumentLength, LineLength, RepeatedLines
from textmill.text.rules import Loss

LINES = st.lists(st.text(st.sampled_from("aé 1.中"), max_size=8), max_size=6)


def canonical(lines: list[str]) -> str:
    return "".join(" ".join(line.split()) + "\n" for line in lines)


@given(LINES, st.integers(0, 4), st.integers(0, 3))
def test_lines_by_length_are_those_that_plain_python_keeps(
    lines: list[str], low: int, more: int
) -> None:
    rule = LineLength(min_characters=low, max_words=more + 1)
    text = canonical(lines)
    kept = [
        line
        for line in text.split("\n")[:-1]
        if not line or (len(line) >= low and len(line.split()) <= more + 1)
    ]
    cleaned = rule(text)
    assert cleaned.text == "".join(line + "\n" for line in kept)
    assert sum(loss.count for loss in cleaned.losses) == text.count("\n") - len(kept)


def test_each_limit_is_a_reason_with_examples_and_blank_lines_are_not_judged() -> None:
    cleaned = LineLength(min_words=2, max_characters=9)("a b\n\nc\nd e f g h i\nj\n")
    assert cleaned.text == "a b\n\n"
    assert cleaned.losses == (
        Loss("more than 9 characters", "lines", 1, ("line 4: d e f g h i",)),
        Loss("fewer than 2 words", "lines", 2, ("line 3: c", "line 5: j")),
    )


def test_documents_by_length_count_words_over_lines() -> None:
    rule = DocumentLength(min_words=3, max_words=4)
    assert rule("a b\nc\n").drop == ""
    assert rule("a b\n").drop == "fewer than 3 words"
    assert rule("a b\nc d\ne\n").drop == "more than 4 words"
    assert DocumentLength(max_characters=4)("中文中\n").drop == ""
    assert DocumentLength(max_characters=3)("中文中\n").drop == "more than 3 characters"


@pytest.mark.parametrize(
    ("of", "share"),
    # A, b, e, the accent after it, 中: letters; A: capital; 1, Ⅳ: digits; . and —: punctuation; +
    [
        ("letters", 5 / 10),
        ("capitals", 1 / 10),
        ("digits", 0.2),
        ("punctuation", 0.2),
        ("symbols", 0.1),
    ],
)
def test_shares_are_of_the_characters_other_than_white_space(of, share: float) -> None:
    text = "Ab e\u0301 中\n1Ⅳ .— +\n"
    assert CharacterShare(of=of, min=share - 0.01).__call__(text).drop == ""
    assert CharacterShare(of=of, max=share + 0.01).__call__(text).drop == ""
    assert CharacterShare(of=of, min=share + 0.01)(text).drop.startswith("less than 0.")
    assert CharacterShare(of=of, max=share - 0.01)(text).drop.startswith("more than 0")


def test_a_share_of_lines_drops_tables_of_numbers() -> None:
    rule = CharacterShare(of="digits", unit="line", max=0.5)
    cleaned = rule("page 12\n1 2 3 4\nin 1984 he\n")
    assert cleaned.text == "page 12\nin 1984 he\n"
    assert cleaned.losses == (Loss("more than 0.5 digits", "lines", 1, ("line 2: 1 2 3 4",)),)


def test_documents_that_repeat_their_lines_are_dropped_with_the_line() -> None:
    text = "a\n\nb\n\na\na\n"  # of four lines that are not blank two repeat
    assert RepeatedLines(max_share=0.5)(text).drop == ""
    dropped = RepeatedLines(max_share=0.49)(text)
    assert (dropped.drop, dropped.example) == ("more than 0.49 repeated lines", '"a" 3 times')
    assert RepeatedLines(max_share=0.0)("a\nb\n\n\n").drop == ""


def test_an_empty_text_passes_line_rules() -> None:
    assert LineLength(min_words=2)("").text == ""
    assert LineLength(min_words=2)("a\n").text == ""
