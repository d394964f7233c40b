import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.text.catalogue import FileSplits, ShareSplits, YearSplits
from textmill.text.documents import Document
from textmill.text.splits import assign, reasons_to_drop, year_of

# A loaded machine is slow, not wrong.
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

YEARS = YearSplits(by="year", first=1961, valid=(1966,), test=(1963,))
SHARES = ShareSplits(by="share", valid=0.2, test=0.2)


def documents(*names: str, text: str = "a\n") -> list[Document]:
    return [Document(name, name, text) for name in names]


def names_by_split(*args: object) -> dict[str, list[str]]:
    assigned = assign(*args)  # type: ignore[arg-type]
    return {split: [d.id for d in found] for split, found in assigned.items()}


def test_whole_years_go_together_and_earlier_ones_are_dropped() -> None:
    files = ["1960-A-1.txt", "1961-B-1.txt", "1963-C-1.txt", "1966-D-1.txt", "1966-D-2.txt"]
    assert reasons_to_drop(files, YEARS) == {"1960-A-1.txt": "before 1961"}
    assert names_by_split(documents(*files[1:]), YEARS) == {
        "train": ["1961-B-1.txt"],
        "valid": ["1966-D-1.txt", "1966-D-2.txt"],
        "test": ["1963-C-1.txt"],
    }


def test_a_year_or_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="no file is of the year 1966"):
        reasons_to_drop(["1961.txt", "1963.txt"], YEARS)
    with pytest.raises(UserError, match=r"no year in the file name notes\.txt"):
        reasons_to_drop(["1961.txt", "notes.txt"], YEARS)
    splits = FileSplits(by="files", train=("a",), valid=("b",), test=("c",))
    with pytest.raises(UserError, match="there is no file c; there are: a, b, d"):
        reasons_to_drop(["a", "b", "d"], splits)


def test_the_year_is_four_digits_of_the_name_alone() -> None:
    assert year_of("2020/1961-x-12345.txt") == 1961
    assert year_of("speech 20201 of 1977.txt") == 1977


def test_given_files_keep_their_split_and_others_are_dropped() -> None:
    splits = FileSplits(by="files", train=("a", "d"), valid=("b",), test=("c",))
    assert reasons_to_drop(["a", "b", "c", "d", "e"], splits) == {"e": "in no split"}
    assert names_by_split(documents("a", "b", "c", "d"), splits) == {
        "train": ["a", "d"],
        "valid": ["b"],
        "test": ["c"],
    }


@STEADY
@given(n=st.integers(5, 200))
def test_one_document_is_cut_into_contiguous_lines(n: int) -> None:
    text = "".join(f"line {i}\n" for i in range(n))
    found = assign(documents("x", text=text), SHARES)
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
    found = assign(documents("x", "y", text="1\n2\n3\n4\n"), by_lines)
    texts = {split: [d.text for d in documents] for split, documents in found.items()}
    assert texts == {"train": ["1\n2\n"] * 2, "valid": ["3\n"] * 2, "test": ["4\n"] * 2}


def test_an_empty_split_is_refused_with_a_way_out() -> None:
    with pytest.raises(UserError, match=r"the split \w+ is empty: 2 document\(s\)") as caught:
        assign(documents("a", "b"), SHARES)
    assert "set splits.unit: lines" in str(caught.value)
    with pytest.raises(UserError, match="the split valid is empty: 1 document"):
        assign(documents("x", text="1\n2\n"), SHARES)
    with pytest.raises(UserError, match="the split train is empty: 0 document"):
        assign([], YEARS)
