"""A line's subwords are those of its chunks: against sentencepiece's own encoding of whole lines."""

import zipfile
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.tokenizers import chunks, store
from textmill.tokenizers.chunks import ChunkEncoder, escape, unescape
from textmill.tokenizers.strings import as_column
from textmill.tokenizers.subwords import SubwordConfig

any_line = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\n"))
# Spaces in rows, sentencepiece's own signs, and what the model below has never seen.
mixed = st.text(" the mil\u2581\u2585\ue00001\u00e9\u4e2d\U0001f600", max_size=40)
SAMPLE = [
    "the miller grinds the corn and the corn is ground", "a mill, a miller's mill \u2014 the mills",
    "  two  spaces ", "whoever mentions quicksilver remembers mountebanks",
    "mountains mention whomever flibbertigibbets forever prefer", "rivers differ whenever zebras do",
] * 20  # fmt: skip


def whole_lines(encoder, lines):
    """Ids of each line, and how many lines sentencepiece does not give back, line by line."""
    rows = encoder.processor.encode([escape(line) for line in lines], out_type=int)
    back = encoder.processor.decode(rows)
    return rows, sum(unescape(a) != b for a, b in zip(back, lines, strict=True))


def by_chunks(encoder, lines):
    ids, offsets, lossy = encoder.encode(as_column(lines))
    bounds = offsets.tolist()
    return [ids[a:b].tolist() for a, b in pairwise(bounds)], lossy


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def encoder(request):
    config = SubwordConfig("subword", 300, model=request.param)
    tokenizer, _ = store.train(as_column(SAMPLE), config)
    return ChunkEncoder(tokenizer.model, whole_lines=request.param != "bpe")


@settings(deadline=None, max_examples=200)
@given(lines=st.lists(any_line | mixed, max_size=6))
def test_any_lines_are_encoded_as_whole_lines_are(encoder, lines):
    assert by_chunks(encoder, lines) == whole_lines(encoder, lines)


@pytest.mark.parametrize("model", ["bpe", "unigram"])
@pytest.mark.parametrize("pieces", [500, 4000])
def test_real_lines_are_encoded_as_whole_lines_are(test_data, pieces, model):
    with zipfile.ZipFile(test_data / "wikitext-2-v1.zip") as archive:
        text = archive.read("wikitext-2/wiki.valid.tokens").decode()
    lines = text.split("\n")
    config = SubwordConfig("subword", pieces, model=model)
    tokenizer, _ = store.train(as_column(lines), config)
    encoder = ChunkEncoder(tokenizer.model, whole_lines=model != "bpe")
    expected, lossy = whole_lines(encoder, lines)
    assert by_chunks(encoder, lines) == (expected, lossy)
    assert (lossy, len(lines)) == (0, 3761)
    if model == "bpe":
        flat = [piece for row in expected for piece in row]
        names = encoder.processor.id_to_piece(flat)
        counts = dict.fromkeys(tokenizer.vocabulary.tokens.to_pylist(), 0)
        for name in names:
            counts[name] += 1
        assert list(counts.values()) == tokenizer.vocabulary.counts[3:].tolist()


def test_a_model_whose_pieces_hold_inner_spaces_gets_whole_lines(monkeypatch):
    """As if U+2581 were the letter l, which stands inside of pieces."""
    config = SubwordConfig("subword", 300)
    tokenizer, _ = store.train(as_column(SAMPLE), config)
    assert not ChunkEncoder(tokenizer.model, whole_lines=False)._whole_lines
    monkeypatch.setattr(chunks, "SPACE_MARK", "l")
    assert ChunkEncoder(tokenizer.model, whole_lines=False)._whole_lines


def test_few_chunks_are_kept_and_the_ids_stay(encoder, monkeypatch):
    lines = [f"{number}q mill {number % 7}" for number in range(3000)] * 20
    expected = by_chunks(encoder, lines)
    made = []
    known = chunks._Known
    monkeypatch.setattr(chunks, "_MOST_CHUNKS", 100)
    monkeypatch.setattr(chunks, "_Known", lambda *given: made.append(1) or known(*given))
    assert by_chunks(encoder, lines) == expected
    assert len(made) > 1


def test_a_lossy_chunk_makes_its_lines_lossy(encoder, monkeypatch):
    """As if sentencepiece gave the pieces of another word."""
    real = encoder.processor.encode

    class Wrong:
        @staticmethod
        def encode(texts, **options):
            return real([text.replace("corn", "c0rn") for text in texts], **options)

    monkeypatch.setattr(encoder, "processor", Wrong)
    assert by_chunks(encoder, ["a mill", "corn corn", "the corn", "", "mill"])[1] == 2
