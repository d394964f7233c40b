from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.cleaning import LISTS, clean
from textmill.text import batch
from textmill.text.books import Books, Size, count_lines, size_of, size_of_all
from textmill.text.documents import Document
from textmill.text.rules import Loss

# A loaded machine is slow, not wrong.
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TEXTS = st.text(st.sampled_from("ab1. \t\n\r\x00\ufeffé\u0301\u2028"), max_size=30)


def documents(*texts: str) -> list[Document]:
    return [Document(f"{i}.txt", f"{i}.txt", text) for i, text in enumerate(texts)]


@pytest.mark.parametrize("profile", LISTS)
@STEADY
@given(texts=st.lists(TEXTS, max_size=5), unwanted=st.integers(0, 5))
def test_what_came_in_is_what_went_out_and_what_was_dropped(
    profile: str, texts: list[str], unwanted: int
) -> None:
    came = documents(*texts)
    kept, books = clean(came, profile, lambda f: "unwanted" if f == f"{unwanted}.txt" else None)
    for unit in ("documents", "lines", "bytes"):
        for before, after in pairwise(books):
            assert before[unit]["out"] == after[unit]["in"]
        dropped = sum(record[unit]["dropped"] for record in books)
        assert books[0][unit]["in"] - dropped == books[-1][unit]["out"]
    assert books[0]["documents"]["in"] == len(texts)
    assert books[0]["bytes"]["in"] == sum(len(text.encode()) for text in texts)
    assert books[-1]["documents"]["out"] == len(kept)
    assert books[-1]["lines"]["out"] == sum(d.text.count("\n") for d in kept)
    assert books[-1]["bytes"]["out"] == sum(len(d.text.encode()) for d in kept)
    gone = {d.id: d.text for d in came if d.id not in {k.id for k in kept}}
    fell = {reason for record in books for reason in record["reasons"]}
    assert ("unwanted" in fell) == (f"{unwanted}.txt" in {d.id for d in came})
    assert ("no word left" in fell) == bool(gone.keys() - {f"{unwanted}.txt"})


def reasons(books: list[dict[str, Any]], rule: str) -> dict[str, Any]:
    found = next(record for record in books if record["rule"] == rule)["reasons"]
    assert isinstance(found, dict)
    return found


def test_the_books_of_a_small_text_to_the_byte() -> None:
    texts = ["\ufeffone  two\r\n\r\n", "\x00\n \n", "old\n", "e\u0301\n"]
    kept, books = clean(
        documents(*texts), "plain", lambda file: "before 1961" if file == "2.txt" else None
    )
    assert [(d.id, d.text) for d in kept] == [("0.txt", "one two\n"), ("3.txt", "é\n")]
    account = {r["rule"]: (r["documents"], r["lines"], r["bytes"]) for r in books}
    numbers = {
        rule: tuple((x["in"], x["out"], x["dropped"]) for x in units)
        for rule, units in account.items()
    }
    assert numbers == {
        "selection": ((4, 3, 1), (6, 5, 1), (27, 23, 4)),
        "line ends": ((3, 3, 0), (5, 5, 0), (23, 21, 2)),
        "byte order marks": ((3, 3, 0), (5, 5, 0), (21, 18, 3)),
        "control characters": ((3, 3, 0), (5, 5, 0), (18, 17, 1)),
        "normal form": ((3, 3, 0), (5, 5, 0), (17, 16, 1)),
        "white space": ((3, 3, 0), (5, 5, 0), (16, 14, 2)),
        "blank lines": ((3, 3, 0), (5, 2, 3), (14, 11, 3)),
        "empty documents": ((3, 2, 1), (2, 2, 0), (11, 11, 0)),
    }
    assert reasons(books, "selection") == {"before 1961": {"documents": 1, "examples": ["2.txt"]}}
    assert reasons(books, "blank lines") == {
        "blank line": {
            "lines": 3,
            "examples": ["0.txt: line 2", "1.txt: line 1", "1.txt: line 2"],
        }
    }
    assert reasons(books, "empty documents") == {
        "no word left": {"documents": 1, "examples": ["1.txt"]}
    }


def test_examples_stop_at_three_and_counts_do_not() -> None:
    books = clean(documents(*["a\x00\n"] * 5), "plain")[1]
    assert reasons(books, "control characters") == {
        "control character": {
            "characters": 5,
            "examples": [f"{i}.txt: U+0000 in line 1" for i in range(3)],
        }
    }


def test_a_rule_that_drops_more_than_it_says_stops_the_stage() -> None:
    books = Books("greedy")
    books.passed(size_of("a\nb\nc\n"), size_of("a\n"), [Loss("b", "lines", 1)], "x")
    with pytest.raises(AssertionError, match="greedy: lines do not balance"):
        books.record()


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", 0), ("a", 1), ("a\n", 1), ("a\r\nb", 2), ("\r\r\n\n", 3), ("a\u2028b\x0bc", 1)],
)
def test_lines_are_counted_by_lf_cr_lf_and_cr(text: str, lines: int) -> None:
    assert count_lines(text) == lines


@pytest.mark.parametrize("profile", LISTS)
@STEADY
@given(
    texts=st.lists(
        st.one_of(TEXTS, st.sampled_from(["zqzq\n", "ZQ\x00ZQ\n", "a  b\n"])), max_size=9
    )
)
def test_documents_together_become_what_each_becomes_alone(profile: str, texts: list[str]) -> None:
    together = clean(documents(*texts), profile)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "_DOCUMENTS", 1)
        assert clean(documents(*texts), profile) == together


@STEADY
@given(st.lists(TEXTS, max_size=6))
def test_sizes_of_several_texts_add_up(texts: list[str]) -> None:
    assert size_of_all(texts) == sum(map(size_of, texts), Size(0, 0))
