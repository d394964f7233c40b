import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.cleaning import read
from textmill.text.documents import (
    CUTS,
    cut_articles,
    cut_blocks,
    cut_lines,
    cut_paragraphs,
)
from textmill.text.reading import Reading


def test_files_become_documents_in_order_of_their_names() -> None:
    files = {"b.txt": b"two", "a.txt": b"one", "a/c.txt": b"three"}
    documents, books = read(files)
    assert [(d.id, d.file, d.text) for d in documents] == [
        ("a.txt", "a.txt", "one"),
        ("a/c.txt", "a/c.txt", "three"),
        ("b.txt", "b.txt", "two"),
    ]
    assert books is None, "decoding changed no byte"


TABLE = " Key : Pld \n = Played , W = \n Wins \n"
ARTICLES = [
    " \n = First <unk> = \n \n Text . \n \n = = Section = = \n \n" + TABLE,
    " \n = Second = \n \n More . \n",
]


def test_articles_begin_at_titles_between_blank_lines() -> None:
    assert cut_articles("".join(ARTICLES)) == ARTICLES
    assert cut_articles("preface\n" + "".join(ARTICLES)) == ["preface\n", *ARTICLES]
    assert cut_articles("no title\n") == ["no title\n"]
    assert cut_articles("") == []


ENDS = pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CR LF", "CR"])


@ENDS
def test_articles_begin_at_titles_whatever_ends_a_line(end: str) -> None:
    articles = [text.replace("\n", end) for text in ARTICLES]
    assert cut_articles("".join(articles)) == articles
    assert cut_articles(f"preface{end}" + "".join(articles)) == [f"preface{end}", *articles]
    # Without a blank line before it, or behind it, it is no title.
    for text in ("x\n = A = \n \n y\n", "x\n \n = A = \n y\n", " = A = \n \n y\n"):
        whole = text.replace("\n", end)
        assert cut_articles(whole) == [whole]


@ENDS
def test_paragraphs_end_at_blank_lines_whatever_ends_a_line(end: str) -> None:
    paragraphs = [text.replace("\n", end) for text in ("\n\n", "a\nb\n\n", "c\n \n\n", "d\ne\n")]
    assert cut_paragraphs("".join(paragraphs)) == paragraphs


def test_articles_are_numbered_within_their_file() -> None:
    files = {"w": "".join(ARTICLES).encode()}
    ids = [d.id for d in read(files, Reading(kind="article"))[0]]
    assert ids == ["w:00001", "w:00002"]


def test_paragraphs_end_at_blank_lines_of_any_kind_and_keep_their_lines() -> None:
    text = "\n \na\nb\n\nc\r\n \t\r\n\r\nd\r\re\x0b\u2028\n\n\n"
    assert cut_paragraphs(text) == [
        "\n \n",
        "a\nb\n\n",
        "c\r\n \t\r\n\r\n",
        "d\r\r",
        "e\x0b\u2028\n\n\n",
    ]
    assert cut_paragraphs("one\ntwo") == ["one\ntwo"]
    assert len(cut_paragraphs("a\n" + "\n" * 100_000 + "b\n")) == 2


def test_lines_end_with_lf_cr_lf_or_cr_and_with_no_other_sign_of_unicode() -> None:
    text = "a\nb\r\nc\rd\u2028e\u2029f\x85g\x0bh\x0ci\n\nj"
    assert cut_lines(text) == [
        *("a\n", "b\r\n", "c\r", "d\u2028e\u2029f\x85g\x0bh\x0ci\n", "\n", "j")
    ]


@pytest.mark.parametrize("cut", [cut_articles, cut_paragraphs, cut_lines])
@given(text=st.text(st.sampled_from("ab= \t\n\r\u2028"), max_size=30))
def test_cutting_loses_nothing(cut, text: str) -> None:
    pieces = cut(text)
    assert "".join(pieces) == text
    assert all(pieces)


@pytest.mark.parametrize("kind", CUTS)
@given(
    text=st.text(st.sampled_from("ab= \t\n\r\u2028"), max_size=60),
    sizes=st.lists(st.integers(1, 9), min_size=1),
)
def test_a_text_in_blocks_is_cut_as_the_whole_is(kind: str, text: str, sizes: list[int]) -> None:
    blocks, start = [], 0
    for size in itertools.cycle(sizes):
        if start >= len(text):
            break
        blocks.append(text[start : start + size])
        start += size
    assert list(cut_blocks(CUTS[kind], blocks)) == CUTS[kind](text)


def test_articles_in_blocks_are_those_of_the_whole() -> None:
    text = "preface\n" + "".join(ARTICLES * 3)
    for size in range(1, 40):
        blocks = [text[at : at + size] for at in range(0, len(text), size)]
        assert list(cut_blocks(cut_articles, blocks)) == ["preface\n", *ARTICLES * 3]


def test_the_account_of_the_decoding_balances_from_raw_bytes_to_documents() -> None:
    files = {"a.txt": b"caf\xe9\n", "b.txt": b"\xef\xbb\xbfna\xc3\xafve\n"}
    documents, books = read(files, Reading(encoding="latin-1"))
    assert [d.text for d in documents] == ["café\n", "naïve\n"]
    assert books is not None
    # 5 + 10 bytes came; é takes one more as UTF-8, and the mark of three is no text
    assert books["bytes"] == {"in": 15, "out": 13, "dropped": 2}
    assert books["documents"] == {"in": 2, "out": 2, "dropped": 0}
    assert books["reasons"] == {}


def test_replaced_bytes_stand_in_the_books() -> None:
    books = read({"a.txt": b"x \xff y\n"}, Reading(errors="replace"))[1]
    assert books is not None
    assert books["reasons"] == {
        "bytes of another encoding, now U+FFFD": {
            "changes": 1,
            "examples": ["a.txt: byte 2: ff"],
        }
    }
    assert books["bytes"] == {"in": 6, "out": 8, "dropped": -2}
