import pytest

from textmill.base.errors import UserError
from textmill.text.documents import cut_articles, decode, read_documents


def test_a_wrong_byte_is_named_with_its_place_its_neighbours_and_the_way_out() -> None:
    data = "Größe\nzweite Zeile caf".encode() + b"\xe9 noir\n"
    with pytest.raises(UserError) as caught:
        decode("menu.txt", data)
    message = str(caught.value)
    assert message.startswith("menu.txt: not UTF-8 at byte 24, line 2 (")
    assert "65 20 5a 65 69 6c 65 20 63 61 66 e9 20 6e 6f 69 72 0a" in message
    assert r"b'te Zeile caf\xe9 noir\n'" in message
    assert "iconv -f WINDOWS-1252 -t UTF-8 menu.txt > new.txt" in message


def test_utf_16_is_recognised_by_its_mark() -> None:
    with pytest.raises(UserError, match=r"at byte 0, line 1 .*\n.*iconv -f UTF-16 "):
        decode("wide.txt", "wide".encode("utf-16"))


def test_overlong_and_surrogate_bytes_are_not_utf_8() -> None:
    for data in (b"ok \xc0\xaf", b"ok \xed\xa0\x80"):
        with pytest.raises(UserError, match="byte 3"):
            decode("x", data)


def test_files_become_documents_in_order_of_their_names() -> None:
    files = {"b.txt": b"two", "a.txt": b"one", "a/c.txt": b"three"}
    found = [(d.id, d.file, d.text) for d in read_documents(files, "file")]
    assert found == [
        ("a.txt", "a.txt", "one"),
        ("a/c.txt", "a/c.txt", "three"),
        ("b.txt", "b.txt", "two"),
    ]


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


def test_articles_are_numbered_within_their_file() -> None:
    files = {"w": "".join(ARTICLES).encode()}
    ids = [d.id for d in read_documents(files, "article")]
    assert ids == ["w:00001", "w:00002"]
