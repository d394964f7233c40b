"""Counts out as text and in again: the same counts, the same model; what is not whole is refused."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.ngram.config import NgramConfig
from textmill.ngram.count import count_ngrams, sentence_stream
from textmill.ngram.counts_text import crosses_lines, read_counts, write_counts
from textmill.ngram.estimate import estimate, estimate_from_counts
from textmill.ngram.tables import unpack

LINES = (Path(__file__).parent / "golden/eight_sentences.txt").read_text().splitlines()


@pytest.fixture(scope="module")
def text(encode):
    return encode(LINES)


@pytest.fixture
def written(text, tmp_path):
    tokens, offsets, vocabulary = text
    size = len(vocabulary)
    counts = count_ngrams(sentence_stream(tokens, offsets, size), size, 3)
    write_counts(counts, vocabulary, tmp_path / "counts.txt")
    return counts, tmp_path / "counts.txt"


def test_read_back_the_counts_are_the_same(text, written):
    counts, path = written
    again, _ = read_counts(path, text[2])
    for ours, theirs in zip(counts, again, strict=True):
        for name in ("starts", "words", "counts", "after_begin"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    lines = path.read_text().splitlines()
    assert len(lines) == sum(table.seen() for table in counts) + 1  # <s> itself
    assert f"<s>\t{len(LINES)}" in lines


@pytest.mark.parametrize("method", ["kneser_ney", "good_turing", "stupid_backoff"])
def test_from_counts_in_any_order_the_model_is_the_same(text, written, method):
    tokens, offsets, vocabulary = text
    _, path = written
    lines = path.read_text().splitlines()
    path.write_text("\r\n".join(sorted(lines, reverse=True)) + "\r\n")
    config = NgramConfig("word", method, 3)
    ours = estimate(tokens, offsets, vocabulary, config)
    theirs = estimate_from_counts(read_counts(path, vocabulary)[0], vocabulary, config)
    assert ours.ngrams == theirs.ngrams
    for one, other in zip(unpack(ours.orders), unpack(theirs.orders), strict=True):
        np.testing.assert_array_equal(one.words, other.words)
        np.testing.assert_array_equal(one.probabilities, other.probabilities)
        np.testing.assert_array_equal(one.backoffs, other.backoffs)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda lines: [*lines, "the fox"], '"the fox" is no n-gram, a tab and a whole number'),
        (lambda lines: [*lines, "the\t-1"], "is no n-gram, a tab and a whole number"),
        (
            lambda lines: ["", "the zebra\t1", *lines],
            'line 2: "the zebra" holds a word that is no unigram: zebra',
        ),
        (lambda _: [], "it holds no n-gram"),
        (lambda _: ["\\data\\"], "a language model in ARPA's format, not counts"),
        (lambda lines: [*lines, "the <s>\t1"], "<s> is not in first place"),
        (lambda lines: [line for line in lines if line.count(" ") != 1], "its beginning is not"),
    ],
)
def test_what_is_not_whole_is_refused(text, written, change, named):
    _, path = written
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    with pytest.raises(UserError) as error:
        read_counts(path, text[2])
    assert named in str(error.value)


def test_an_order_beyond_the_counts_is_not_claimed(text, written):
    counts, _ = written
    model = estimate_from_counts(counts, text[2], NgramConfig("word", "witten_bell", 9))
    assert (model.order, model.config.order) == (3, 3)
    assert model.describe() == "Witten-Bell, order 3"


def test_methods_that_want_the_text_say_so(text, written):
    counts, _ = written
    with pytest.raises(UserError, match="Jelinek-Mercer, order 2 is not estimated from counts"):
        estimate_from_counts(counts, text[2], NgramConfig("word", "jelinek_mercer", 2))


def test_compressed_and_with_a_vocabulary_of_their_own(text, written, tmp_path):
    counts, plain = written
    packed = tmp_path / "counts.gz"
    write_counts(counts, text[2], packed)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    again, vocabulary = read_counts(packed)
    assert sorted(vocabulary.tokens.to_pylist()) == sorted(text[2].tokens.to_pylist())
    config = NgramConfig("word", "witten_bell", 3)
    ours = estimate_from_counts(counts, text[2], config)
    theirs = estimate_from_counts(again, vocabulary, config)
    for word in (*text[2].tokens.to_pylist(), "never"):
        p = [one.distribution(one.start(1))[0, one.vocabulary[word]] for one in (ours, theirs)]
        assert p[0] == pytest.approx(p[1], rel=1e-12)


def test_a_cut_file_is_refused(text, written, tmp_path):
    packed = tmp_path / "counts.gz"
    write_counts(written[0], text[2], packed)
    packed.write_bytes(packed.read_bytes()[:-30])
    with pytest.raises(UserError, match="cut off or damaged"):
        read_counts(packed)


@pytest.mark.parametrize("count", ["9" * 5000, str(1 << 63), f"{1 << 53}\nb\t1"])
def test_counts_beyond_what_can_be_added_are_named(tmp_path, count):
    path = tmp_path / "counts.txt"
    path.write_text(f"<s>\t1\n</s>\t1\na\t{count}\n")
    with pytest.raises(UserError, match=r"counts.txt, line [34]: the counts up to '.*' add up"):
        read_counts(path)


@pytest.mark.parametrize("running", [True, False])
def test_counts_tell_whether_they_cross_lines(text, running):
    tokens, offsets, vocabulary = text
    bounds = offsets[[0, -1]] if running else offsets
    size = len(vocabulary)
    stream = sentence_stream(tokens, bounds, size, crosses_lines=running)
    assert crosses_lines(count_ngrams(stream, size, 3)) == running
    assert not crosses_lines(count_ngrams(stream, size, 1))
