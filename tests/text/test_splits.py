import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.cleaning import assign
from textmill.base.errors import UserError
from textmill.text.catalogue import FileSplits, ShareSplits, YearSplits
from textmill.text.documents import Document
from textmill.text.shares import fewest_lines, line_counts
from textmill.text.splits import reasons_to_drop, year_of

# A loaded machine is slow, not wrong.
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

YEARS = YearSplits(by="year", first=1961, valid=(1966,), test=(1963,))
SHARES = ShareSplits(by="share", valid=0.2, test=0.2)


def documents(*names: str, text: str = "a\n") -> list[Document]:
    return [Document(name, name, text) for name in names]


def names_by_split(*args: object) -> dict[str, list[str]]:
    assigned = assign(*args, "mine")  # type: ignore[arg-type]
    return {split: [d.id for d in found] for split, found in assigned.items()}


def test_whole_years_go_together_and_earlier_ones_are_dropped() -> None:
    files = ["1960-A-1.txt", "1961-B-1.txt", "1963-C-1.txt", "1966-D-1.txt", "1966-D-2.txt"]
    assert reasons_to_drop(files, YEARS, "mine") == {"1960-A-1.txt": "before 1961"}
    assert names_by_split(documents(*files[1:]), YEARS) == {
        "train": ["1961-B-1.txt"],
        "valid": ["1966-D-1.txt", "1966-D-2.txt"],
        "test": ["1963-C-1.txt"],
    }


def refusal(function, *args: object) -> str:
    with pytest.raises(UserError) as caught:
        function(*args, "mine")
    return str(caught.value)


def test_a_year_or_file_that_is_not_there_is_named_with_the_key_that_asks_for_it() -> None:
    assert refusal(reasons_to_drop, ["1961.txt", "1963.txt"], YEARS) == (
        "params.yaml: corpora.mine.splits.valid: no file is of the year 1966"
    )
    message = refusal(reasons_to_drop, ["1961.txt", "notes.txt"], YEARS)
    assert message.startswith(
        "params.yaml: corpora.mine.splits: no year in the file name notes.txt"
    )
    assert "or set corpora.mine.splits.by to files or share" in message
    splits = FileSplits(by="files", train=("a",), valid=("b",), test=("c",))
    assert refusal(reasons_to_drop, ["a", "b", "d"], splits) == (
        "params.yaml: corpora.mine.splits.test: there is no file c; there are: a, b, d"
    )


def test_the_year_is_four_digits_of_the_name_alone() -> None:
    assert year_of("2020/1961-x-12345.txt", "splits") == 1961
    assert year_of("speech 20201 of 1977.txt", "splits") == 1977


def test_given_files_keep_their_split_and_others_are_dropped() -> None:
    splits = FileSplits(by="files", train=("a", "d"), valid=("b",), test=("c",))
    assert reasons_to_drop(["a", "b", "c", "d", "e"], splits, "mine") == {"e": "in no split"}
    assert names_by_split(documents("a", "b", "c", "d"), splits) == {
        "train": ["a", "d"],
        "valid": ["b"],
        "test": ["c"],
    }


@STEADY
@given(n=st.integers(5, 200))
def test_one_document_is_cut_into_contiguous_lines(n: int) -> None:
    text = "".join(f"line {i}\n" for i in range(n))
    found = assign(documents("x", text=text), SHARES, "mine")
    pieces = [found[split][0].text for split in ("train", "valid", "test")]
    assert "".join(pieces) == text
    assert [piece.count("\n") for piece in pieces[1:]] == [round(n / 5)] * 2
    assert {d.id for split in found.values() for d in split} == {"x"}


@STEADY
@given(
    st.sets(st.text("abcdefgh/.", min_size=1, max_size=8), min_size=50, max_size=90),
    st.sets(st.text("ijkl", min_size=1, max_size=4), max_size=20),
)
def test_adding_files_moves_no_other(names: set[str], more: set[str]) -> None:
    before = names_by_split(documents(*sorted(names)), SHARES)
    after = names_by_split(documents(*sorted(names | more)), SHARES)
    for split in before:
        assert set(before[split]) == set(after[split]) - more


def test_the_hash_gives_each_split_its_share() -> None:
    found = names_by_split(documents(*(f"{i}.txt" for i in range(4000))), SHARES)
    # five standard deviations of a binomial of 4000 tries at 0.2
    assert all(abs(len(found[split]) - 800) < 127 for split in ("valid", "test"))


def test_a_few_files_are_each_cut_so_that_no_split_is_empty() -> None:
    text = "".join(f"line {i}\n" for i in range(10))
    few = names_by_split(documents(*(f"{i}.txt" for i in range(49)), text=text), SHARES)
    assert [len(few[split]) for split in ("train", "valid", "test")] == [49, 49, 49]
    many = names_by_split(documents(*(f"{i}.txt" for i in range(50)), text=text), SHARES)
    assert sum(len(names) for names in many.values()) == 50


def test_several_documents_can_be_cut_by_lines_as_well() -> None:
    by_lines = ShareSplits(by="share", valid=0.25, test=0.25, unit="lines")
    found = assign(documents("x", "y", text="1\n2\n3\n4\n"), by_lines, "mine")
    texts = {split: [d.text for d in documents] for split, documents in found.items()}
    assert texts == {"train": ["1\n2\n"] * 2, "valid": ["3\n"] * 2, "test": ["4\n"] * 2}


DEFAULT = ShareSplits(by="share")


def numbered(lines: int) -> str:
    return "".join(f"line {i}\n" for i in range(lines))


@pytest.mark.parametrize(
    ("valid", "test", "above", "fewest"),
    [
        # 5 lines at 0.1 round to none, 6 to one; half a line rounds to the even number.
        (0.1, 0.1, 0, 6),
        (0.1, 0.01, 0, 51),
        (0.2, 0.2, 0, 3),
        (0.45, 0.45, 0, 3),
        # At 6 lines these shares leave none for training again.
        (0.49, 0.5, 0, 5),
        (0.49, 0.5, 5, 9),
        (0.001, 0.1, 0, 501),
    ],
)
def test_the_fewest_lines_by_hand(valid: float, test: float, above: int, fewest: int) -> None:
    splits = ShareSplits(by="share", valid=valid, test=test)
    assert fewest_lines(splits, above) == fewest
    assert all(line_counts(fewest, splits))
    assert not any(all(line_counts(n, splits)) for n in range(above + 1, fewest))


def test_a_text_of_five_lines_says_six_are_needed_and_which_shares_would_do() -> None:
    message = refusal(assign, documents("x", text=numbered(5)), DEFAULT)
    assert message == (
        "params.yaml: corpora.mine.splits: the text has 5 lines after cleaning, and at least 6 are "
        "needed to give each split a line with the shares valid 0.1 and test 0.1\n"
        "  -> use 6 lines or more, or set corpora.mine.splits.valid and corpora.mine.splits.test "
        "to 0.15"
    )
    assert all(assign(documents("x", text=numbered(6)), DEFAULT, "mine").values())


@pytest.mark.parametrize("unit", ["auto", "lines"])
def test_a_text_of_one_line_is_told_nothing_that_cannot_help(unit: str) -> None:
    splits = ShareSplits(by="share", unit=unit)  # type: ignore[arg-type]
    message = refusal(assign, documents("x", text="alone\n"), splits)
    assert "the text has 1 line after cleaning, and at least 6 are needed" in message
    assert message.endswith("-> use 6 lines or more")


def test_the_longest_of_several_documents_counts() -> None:
    few = [*documents("a", text=numbered(2)), *documents("b", text=numbered(4))]
    message = refusal(assign, few, DEFAULT)
    assert "the longest of 2 documents has 4 lines after cleaning, and at least 6" in message
    assert "-> use a document of 6 lines or more, or set" in message


@STEADY
@given(
    lines=st.lists(st.integers(1, 9), min_size=1, max_size=60),
    valid=st.floats(0.01, 0.9),
    test=st.floats(0.01, 0.9),
    unit=st.sampled_from(["auto", "lines", "documents"]),
)
def test_every_setting_that_a_refusal_advises_helps(
    lines: list[int], valid: float, test: float, unit: str
) -> None:
    if valid + test >= 1:
        return
    splits = ShareSplits(by="share", valid=valid, test=test, unit=unit)  # type: ignore[arg-type]
    texts = [Document(f"{i}", f"{i}", numbered(n)) for i, n in enumerate(lines)]
    try:
        assign(texts, splits, "mine")
    except UserError as error:
        for advised in re.findall(r"unit: (\w+)", error.next_step):
            assert all(assign(texts, replace(splits, unit=advised), "mine").values())
        for share in re.findall(r"test to ([\d.]+)", error.next_step):
            changed = replace(splits, valid=float(share), test=float(share))
            assert all(assign(texts, changed, "mine").values())
        for needed in re.findall(r"use (?:a document of )?([\d,]+) lines", error.next_step):
            enough = Document("long", "long", numbered(int(needed.replace(",", ""))))
            if len(texts) + 1 < 50 or unit == "lines":
                assert all(assign([*texts, enough], splits, "mine").values())


def test_whole_documents_that_leave_a_split_empty_may_be_cut_instead() -> None:
    whole = ShareSplits(by="share", unit="documents")
    message = refusal(assign, documents("a", "b", text=numbered(6)), whole)
    assert "is empty: no hash sends one of 2 documents there" in message
    assert "-> use more documents, or set corpora.mine.splits.unit: lines" in message
    short = refusal(assign, documents("a", "b", text=numbered(1)), whole)
    assert short.endswith("-> use more documents")


def test_one_line_files_may_go_whole_instead() -> None:
    message = refusal(assign, documents(*(f"{i}.txt" for i in range(40))), DEFAULT)
    assert "or set corpora.mine.splits.unit: documents" in message


def test_a_split_of_blank_lines_alone_is_empty() -> None:
    blank_end = documents("x", text=numbered(16) + "\n" * 4)
    message = refusal(assign, blank_end, DEFAULT)
    assert "the split valid is empty: all its lines are blank" in message
    assert "or set corpora.mine.cleaning: plain (it drops blank lines)" in message


def test_years_and_files_without_a_word_left_name_the_key_to_change() -> None:
    message = refusal(assign, documents("1961.txt", "1966.txt"), YEARS)
    assert "corpora.mine.splits: the split test is empty: no file of it has a word left" in message
    assert message.endswith("-> name years with text under corpora.mine.splits.test")
    message = refusal(assign, documents("1963.txt", "1966.txt"), YEARS)
    assert "the split train is empty" in message
    assert "leave years from corpora.mine.splits.first on out of" in message
    splits = FileSplits(by="files", train=("a",), valid=("b",), test=("c",))
    blank = [*documents("a", "b"), *documents("c", text="\n")]
    message = refusal(assign, blank, splits)
    assert message.endswith("-> name files with text under corpora.mine.splits.test")


def test_documents_of_one_text_are_told_so() -> None:
    """More of them would not help: what has no name is drawn by its text."""
    alike = [Document(f"mine:{n}", "mine", "a\n", key="a") for n in range(400)]
    message = refusal(assign, alike, ShareSplits(by="share", unit="documents"))
    assert "no hash sends one of 400 documents there, since all have one text" in message
    assert "use other documents" in message
