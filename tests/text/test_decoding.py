import codecs
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.text import decoding
from textmill.text.decoding import canonical, decode, decode_blocks

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@given(text=TEXTS)
def test_a_byte_order_mark_says_the_encoding_whatever_was_declared(
    mark: bytes, encoding: str, text: str
) -> None:
    text = text.lstrip("\x00\ufeff")  # U+0000 after the mark of UTF-16 is the mark of UTF-32
    for declared in ("utf-8", "latin-1", "shift_jis"):
        assert decode("x", mark + text.encode(encoding), declared).text == text


@pytest.mark.parametrize(
    ("encoding", "data", "text"),
    [
        ("latin-1", b"caf\xe9\n", "café\n"),
        ("windows-1252", b"\x93so\x94\n", "\u201cso\u201d\n"),
        ("gb18030", b"\xc4\xe3\xba\xc3\x81\x30\x81\x30", "你好\x80"),
        ("shift_jis", b"\x93\xfa\x96\x7b", "日本"),
        ("koi8-r", b"\xed\xc9\xd2", "Мир"),
        ("utf-16-be", b"\x00a\x00\n", "a\n"),
        ("utf-8", "naïve 江雪\r\n\x00".encode(), "naïve 江雪\r\n\x00"),
    ],
)
def test_a_declared_encoding_is_honoured(encoding: str, data: bytes, text: str) -> None:
    assert decode("x", data, encoding).text == text
    assert decode("x", data, encoding).replaced == 0


def refusal(*args: object, **others: str) -> str:
    with pytest.raises(UserError) as caught:
        decode(*args, **others)  # type: ignore[arg-type]
    return str(caught.value)


def test_a_wrong_byte_is_named_with_its_place_its_neighbours_and_the_way_out() -> None:
    data = "Größe\nzweite Zeile caf".encode() + b"\xe9 noir\n"
    message = refusal("menu.txt", data, key="corpora.x")
    assert message.startswith("menu.txt: not UTF-8 at byte 24, line 2 (")
    assert "65 20 5a 65 69 6c 65 20 63 61 66 e9 20 6e 6f 69 72 0a" in message
    assert r"b'te Zeile caf\xe9 noir\n'" in message
    assert "set corpora.x.encoding to" in message
    assert "corpora.x.decoding_errors: replace" in message


def test_places_count_from_the_first_byte_of_the_file_mark_included() -> None:
    data = codecs.BOM_UTF16_LE + "a\nb".encode("utf-16-le") + b"\x00\xd8"
    assert "not UTF-16-LE at byte 8, line 2 (" in refusal("x", data)
    assert "not SHIFT_JIS at byte 2, line 1 (" in refusal("x", b"ok\x80", "shift-jis")


def test_overlong_and_surrogate_bytes_are_not_utf_8() -> None:
    for data in (b"ok \xc0\xaf", b"ok \xed\xa0\x80"):
        assert "at byte 3," in refusal("x", data)


def test_replaced_bytes_are_counted_and_the_first_three_shown_and_true_marks_are_not() -> None:
    data = "\ufffd ok ".encode() + b"\xe9 \xff\xfe x \xe2\x82"
    found = decode("x.txt", data, errors="replace")
    assert found.text == "\ufffd ok \ufffd \ufffd\ufffd x \ufffd"
    assert found.replaced == 4
    assert found.examples == ("x.txt: byte 7: e9", "x.txt: byte 9: ff", "x.txt: byte 10: fe")


def test_utf_16_without_a_mark_is_refused_since_its_order_is_unknown() -> None:
    message = refusal("x", "ab".encode("utf-16-le"), "utf-16", key="corpora.x")
    assert message.endswith("-> set corpora.x.encoding to utf-16-le or utf-16-be")
    assert decode("x", b"", "utf-16").text == ""


def test_names_of_encodings_are_pythons_and_an_unknown_one_gets_the_nearest() -> None:
    assert canonical("latin-1") == canonical("ISO-8859-1") == "iso8859-1"
    for wrong, near in (("latin-11", "latin"), ("gb18031", "gb18030"), ("shift_jus", "shift_jis")):
        with pytest.raises(ValueError, match=f'encoding: no encoding "{wrong}".*{near}'):
            canonical(wrong)
    for none in ("rot13", "base64", "idna", "unicode_escape", "undefined", ""):
        with pytest.raises(ValueError, match="encoding: no encoding"):
            canonical(none)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "gb18030", "utf-16-le"])
@given(
    text=TEXTS,
    noise=st.binary(max_size=6),
    size=st.integers(1, 9),
    mark=st.sampled_from([b"", codecs.BOM_UTF8]),
)
def test_a_file_in_blocks_is_decoded_as_the_whole_is(
    encoding: str, text: str, noise: bytes, size: int, mark: bytes
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoding, "_BLOCK", size)
        data = mark + text.encode(encoding, "ignore") + noise + text.encode(encoding, "ignore")
        for errors in ("strict", "replace"):
            try:
                whole = decode("x", data, encoding, errors)
            except UserError as error:
                said = re.escape(str(error))
                with pytest.raises(UserError, match=f"^{said}$"):
                    list(decode_blocks("x", data, encoding, errors))
                continue
            blocks = list(decode_blocks("x", data, encoding, errors))
            assert "".join(block.text for block in blocks) == whole.text
            assert sum(block.replaced for block in blocks) == whole.replaced
            assert sum(block.bytes for block in blocks) + 4 >= whole.bytes
            found = [example for block in blocks for example in block.examples]
            # How many bytes a wrong place takes is not always plain before what follows is here.
            places = [example.rpartition(": ")[0] for example in found[:3]]
            assert places == [example.rpartition(": ")[0] for example in whole.examples]
