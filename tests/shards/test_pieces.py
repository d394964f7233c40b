"""Where the text is cut: never inside a line, never far over the limit, whole documents if small."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.faults import documents_table
from textmill.shards.pieces import Piece, cut, plan_pieces

lines = st.lists(st.sampled_from(["", "a", "\u00e9\u00e9 b", "c" * 30]), min_size=1, max_size=12)


@settings(deadline=None)
@given(st.lists(lines, max_size=8), st.integers(1, 60))
def test_pieces_are_small_ordered_and_cut_between_lines(documents, limit):
    texts = ["".join(line + "\n" for line in document) for document in documents]
    table = documents_table(texts)
    pieces = plan_pieces(table, limit)
    found = [cut(table, piece)["text"].to_pylist() for piece in pieces]
    assert "".join(text for texts in found for text in texts) == "".join(texts)
    longest = max(
        (len(line.encode()) + 1 for document in documents for line in document), default=0
    )
    for piece, some in zip(pieces, found, strict=True):
        assert sum(len(text.encode()) for text in some) < 2 * limit + longest
        assert all(text.endswith("\n") for text in some)
        if piece.stop is None:
            assert some == texts[piece.first : piece.last]
        else:
            assert len(texts[piece.first].encode()) > limit
            assert piece.last == piece.first + 1


def test_small_documents_stay_together_and_large_ones_stand_alone():
    table = documents_table(["a\n", "b\n", "c\n" * 10, "d\n", "e\n"])
    assert plan_pieces(table, 8) == [
        Piece(0, 2), Piece(2, 3, 0, 8), Piece(2, 3, 8, 16), Piece(2, 3, 16, 20), Piece(3, 5),
    ]  # fmt: skip
    assert plan_pieces(table, 1000) == [Piece(0, 5)]


def test_a_line_longer_than_a_piece_is_not_cut():
    table = documents_table(["a\n" + "b" * 200_000 + "\nc\n"])
    pieces = plan_pieces(table, 10)
    assert [cut(table, piece)["text"][0].as_py()[0] for piece in pieces] == ["a", "c"]
    assert pieces == [Piece(0, 1, 0, 200_003), Piece(0, 1, 200_003, 200_005)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_text_column_may_be_of_either_width_and_in_chunks(kind):
    whole = documents_table(["a\n", "b\n" * 4, "\u00e9\n" * 9, "d\n"])
    whole = whole.set_column(1, "text", whole["text"].cast(kind))
    chunked = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 2), whole.slice(3)])
    pieces = plan_pieces(chunked, 6)
    assert pieces == plan_pieces(whole, 6)
    assert [cut(chunked, p)["text"].to_pylist() for p in pieces] == [
        cut(whole, p)["text"].to_pylist() for p in pieces
    ]
    assert [cut(chunked, p)["text"][0].as_py() for p in pieces][1:3] == ["b\n" * 2] * 2


def test_a_part_of_a_document_is_not_copied():
    table = documents_table(["abc\n" * 1000])
    part = cut(table, plan_pieces(table, 1000)[2])["text"].chunk(0)
    text = table["text"].chunk(0).buffers()[2]
    assert part.buffers()[2].address == text.address
    assert part.to_pylist() == ["abc\n" * 250]


def test_a_text_a_little_larger_than_a_piece_is_halved():
    """WikiText-2's training text has 10.8 million bytes: no worker waits for the other."""
    line = "x" * 49 + "\n"
    lines = documents_table([line] * 216_000)
    assert plan_pieces(lines) == [Piece(0, 108_000), Piece(108_000, 216_000)]
    first, second = plan_pieces(documents_table([line * 216_000]))
    assert first.stop == second.start == 5_400_000
    assert len(plan_pieces(documents_table([line * 160_000]))) == 1, "what fits is one shard"
