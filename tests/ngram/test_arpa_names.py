"""Names in ARPA and count files: words that look reserved or hold what parts fields come back."""

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.ngram.arpa_names import name_of
from textmill.ngram.arpa_read import read_arpa
from textmill.ngram.arpa_write import write_arpa
from textmill.ngram.config import NgramConfig
from textmill.ngram.count import count_ngrams, sentence_stream
from textmill.ngram.counts_text import read_counts, write_counts
from textmill.ngram.estimate import estimate
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN, from_tokens

ODD = ["\t", " a", "</s>", "<UNK>", "<s>", "<unk>", "\\", "\\x20", "a", "\u00a0", "é"]
CAPITALS = 6
TOKENS = np.array([*range(3, 14), END, 3, 3, 4, CAPITALS, CAPITALS, 3, END], np.uint16)
OFFSETS = np.array([0, 12, 19])


@pytest.fixture(scope="module")
def odd():
    vocabulary = from_tokens(ODD, scheme="test")[0]
    assert vocabulary[ODD] == list(range(3, 14))
    return estimate(TOKENS, OFFSETS, vocabulary, NgramConfig("test", "kneser_ney", 2))


def nats(model, ids):
    return model.score(np.array([ids]), model.start(1))[0][0]


@pytest.mark.parametrize("is_given", [True, False])
def test_tokens_that_hold_spaces_or_look_reserved(odd, tmp_path, is_given):
    write_arpa(odd, tmp_path / "odd.arpa")
    again = read_arpa(tmp_path / "odd.arpa", odd.vocabulary if is_given else None)
    assert again.vocabulary.tokens.equals(odd.vocabulary.tokens)
    np.testing.assert_allclose(nats(again, TOKENS), nats(odd, TOKENS), 1e-6)
    # The word and the reserved id are apart in the model that came back, too.
    p = np.exp(-nats(again, [CAPITALS, CAPITALS]))[1], np.exp(-nats(again, [CAPITALS, UNKNOWN]))[1]
    assert p[0] > 2 * p[1] > 0


def test_names_are_escaped_as_they_are_documented(odd):
    assert [name_of(row, odd.vocabulary) for row in range(14)] == [
        "<unk>", "<s>", "</s>", r"\x09", r"\x20a", r"\x3c/s>", r"\x3cUNK>", r"\x3cs>",
        r"\x3cunk>", r"\x5c", r"\x5cx20", "a", "\u00a0", "é",
    ]  # fmt: skip


@pytest.mark.parametrize("is_given", [True, False])
def test_counts_of_such_tokens(odd, tmp_path, is_given):
    size = len(odd.vocabulary)
    counts = count_ngrams(sentence_stream(TOKENS, OFFSETS, size), size, 2)
    write_counts(counts, odd.vocabulary, tmp_path / "counts.txt")
    again, vocabulary = read_counts(tmp_path / "counts.txt", odd.vocabulary if is_given else None)
    assert sorted(vocabulary.tokens.to_pylist()) == sorted(ODD)
    by_word = {word: again[0].counts[vocabulary[word]] for word in ODD}
    assert by_word == {word: np.count_nonzero(row == TOKENS) for row, word in enumerate(ODD, 3)}
    assert again[0].counts[[UNKNOWN, BEGIN, END]].tolist() == [0, 2, 2]
    assert [table.seen() for table in again] == [table.seen() for table in counts]


def test_a_file_of_lmplz_whose_text_has_the_word_in_capitals(tmp_path):
    """There `<unk>` is always listed, and `<UNK>` of the text is a word like any other."""
    path = tmp_path / "lmplz.arpa"
    path.write_text(
        "\\data\\\nngram 1=5\nngram 2=2\n\n\\1-grams:\n-1.5\t<unk>\t0\n0\t<s>\t-0.5\n"
        "-0.5\t</s>\t0\n-0.25\t<UNK>\t-0.125\n-0.75\tb\t0\n\n"
        "\\2-grams:\n-0.1\t<s> <UNK>\n-0.2\t<UNK> </s>\n\n\\end\\\n"
    )
    given = from_tokens(["b", "<UNK>"], scheme="test")[0]
    for model in (read_arpa(path), read_arpa(path, given)):
        word = model.vocabulary["<UNK>"]
        assert word != UNKNOWN
        scored = -nats(model, [word, UNKNOWN, word, END]) / np.log(10)
        np.testing.assert_allclose(scored, [-0.1, -0.125 - 1.5, -0.25, -0.2], rtol=1e-12)
    with pytest.raises(UserError, match="line 9: '<UNK>' is not in the vocabulary"):
        read_arpa(path, from_tokens(["b"], scheme="test")[0])


@pytest.mark.parametrize(
    ("names", "vocabulary", "unknown", "word"),
    [
        (["<UNK>"], None, 7, None),
        (["<UNK>", "<unk>"], None, 8, 7),
        (["<UNK>"], ["<UNK>", "b"], 0, 7),
        (["<UNK>"], ["b"], 7, None),
    ],
)
def test_capitals_in_counts_are_the_unknown_word_where_nothing_else_is(
    tmp_path, names, vocabulary, unknown, word
):
    rows = "".join(f"{name}\t{count}\n" for count, name in enumerate(names, 7))
    (tmp_path / "counts.txt").write_text(f"<s>\t1\n</s>\t1\nb\t1\n{rows}")
    given = from_tokens(vocabulary, scheme="test")[0] if vocabulary else None
    (unigrams,), found = read_counts(tmp_path / "counts.txt", given)
    assert unigrams.counts[UNKNOWN] == unknown
    if word:
        assert unigrams.counts[found["<UNK>"]] == word
    else:
        assert "<UNK>" not in found


ARPA = (
    "\\data\\\nngram 1=5\nngram 2=1\n\n\\1-grams:\n-1.5\t<unk>\t0\n0\t<s>\t-0.5\n"
    "-0.5\t</s>\t0\n-0.25\t{}\t-0.125\n-0.75\té\t0\n\n\\2-grams:\n-0.1\t{} é\n\n\\end\\\n"
)


@pytest.mark.parametrize("space", ["\v", "\f", "\x1c", "\x1f", "\x85", "\u00a0", "\u2028"])
@pytest.mark.parametrize("other", ["b", "è"])
def test_only_spaces_and_tabs_part_fields(tmp_path, space, other):
    """In lines of ASCII and in others; other toolkits keep such characters in their words."""
    word = f"a{space}{other}"
    (tmp_path / "a.arpa").write_text(ARPA.format(word, word), newline="")
    model = read_arpa(tmp_path / "a.arpa")
    assert model.vocabulary.tokens.to_pylist() == [word, "é"]
    scored = -nats(model, [3, 4]) / np.log(10)
    np.testing.assert_allclose(scored, [-0.5 - 0.25, -0.1], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "token"),
    [
        (r"\x41", r"\x41"),  # a letter that needs no escape
        (r"\x3cb>", r"\x3cb>"),  # no reserved name
        (r"a\x3cunk>", r"a\x3cunk>"),
        (r"\x5C", r"\x5C"),  # written with another spelling of the digits
        (r"\frac\x20", r"\frac\x20"),  # of whoever does not escape backslashes
        (r"\x", r"\x"),
        (r"\x5cx41", r"\x41"),
        (r"a\x20b\x09", "a b\t"),
        (r"\x3cunk>", "<unk>"),
        (r"\x3cUNK>", "<UNK>"),
    ],
)
def test_what_is_decoded_is_what_would_have_been_escaped(tmp_path, name, token):
    (tmp_path / "a.arpa").write_text(ARPA.format(name, name))
    model = read_arpa(tmp_path / "a.arpa")
    assert model.vocabulary.tokens.to_pylist()[0] == token
    given = from_tokens([token, "é"], scheme="test")[0]
    scored = nats(read_arpa(tmp_path / "a.arpa", given), given[[token, "é"]])
    np.testing.assert_allclose(-scored / np.log(10), [-0.5 - 0.25, -0.1], rtol=1e-12)
    (tmp_path / "a.counts").write_text(f"<s>\t1\n</s>\t1\n{name}\t7\n")
    (unigrams,), vocabulary = read_counts(tmp_path / "a.counts")
    assert vocabulary.tokens.to_pylist() == [token]
    assert unigrams.counts[vocabulary[token]] == 7
