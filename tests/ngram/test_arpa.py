"""ARPA files: written and read back, and what the dialects of other toolkits mean."""

import bz2
import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from textmill.base.errors import UserError
from textmill.ngram.arpa_read import read_arpa
from textmill.ngram.arpa_write import write_arpa
from textmill.ngram.tables import unpack
from textmill.tokenizers.vocabulary import BEGIN, END, from_tokens

GOLDEN = Path(__file__).parent / "golden"
LINES = (GOLDEN / "eight_sentences.txt").read_text().splitlines()
STREAM = np.array([[3, 4, 5, 3, 6, END, 0, 3, 7, 4, 0, END, END, 9, 3, 4, 8, END]])
OPTIONS = {
    "kn3": {"method": "kneser_ney", "order": 3},
    "kn1": {"method": "kneser_ney", "order": 1},
    "kn8": {"method": "kneser_ney", "order": 8},
    "katz": {"method": "good_turing", "order": 3},
    "cut": {"method": "witten_bell", "order": 3, "cutoffs": (0, 1)},
    "likelihood": {"method": "maximum_likelihood", "order": 2},
    "observed": {"method": "kneser_ney", "order": 2, "event_space": "observed"},
}


def zstd(path, mode):
    """Like `gzip.open`."""
    return pa.output_stream(str(path), compression="zstd")


def nats(model, stream=STREAM):
    return model.score(stream, model.start(len(stream)))[0]


@pytest.mark.parametrize("name", OPTIONS)
def test_read_back_it_is_the_same_model(train, tmp_path, name):
    vocabulary = train([*LINES, "never seen"], method="uniform").vocabulary
    model = train(LINES, vocabulary, **OPTIONS[name])
    path = tmp_path / "model.arpa"
    write_arpa(model, path)
    again = read_arpa(path, model.vocabulary)
    assert again.order == model.order
    for ours, theirs in zip(unpack(model.orders), unpack(again.orders), strict=True):
        np.testing.assert_array_equal(ours.starts, theirs.starts)
        np.testing.assert_array_equal(ours.words, theirs.words)
        np.testing.assert_allclose(ours.probabilities, theirs.probabilities, rtol=1.2e-7)
        np.testing.assert_allclose(ours.backoffs, theirs.backoffs, rtol=1.2e-7)
    write_arpa(again, tmp_path / "again.arpa")
    assert (tmp_path / "again.arpa").read_bytes() == path.read_bytes()


def test_the_strict_form(train, tmp_path):
    model = train(["a b c", "a b d"], method="kneser_ney", order=2, event_space="observed")
    write_arpa(model, tmp_path / "a.arpa")
    text = (tmp_path / "a.arpa").read_text()
    assert text.startswith("\\data\\\nngram 1=7\nngram 2=6\n\n\\1-grams:\n")
    assert "\n-99.0000000\t<s>\t" in text
    assert "\n\n\\2-grams:\n" in text
    assert text.endswith("\n\n\\end\\\n")


def test_every_number_of_an_lmplz_file(train):
    model = train(LINES, method="kneser_ney", order=3, event_space="observed", kenlm_compat=True)
    theirs = read_arpa(GOLDEN / "eight_sentences.arpa", model.vocabulary)
    assert theirs.ngrams == (44, 90, 105)
    for ours, table in zip(unpack(model.orders), unpack(theirs.orders), strict=True):
        np.testing.assert_array_equal(ours.words, table.words)
        np.testing.assert_allclose(
            np.log10(ours.backoffs), np.log10(table.backoffs), rtol=0, atol=1e-6
        )
        predicted = np.arange(len(ours.words)) != (BEGIN if len(ours.starts) == 2 else -1)
        np.testing.assert_allclose(
            np.log10(ours.probabilities[predicted]),
            np.log10(table.probabilities[predicted]),
            rtol=0,
            atol=1e-6,
        )


@pytest.mark.parametrize(
    ("suffix", "opener"), [(".gz", gzip.open), (".bz2", bz2.open), (".zst", zstd)]
)
def test_compressed(train, tmp_path, suffix, opener):
    model = train(LINES, method="kneser_ney", order=3)
    write_arpa(model, tmp_path / "plain.arpa")
    plain = (tmp_path / "plain.arpa").read_bytes()
    packed = tmp_path / f"model.arpa{suffix}"
    if suffix == ".gz":
        write_arpa(model, packed)
        assert gzip.decompress(packed.read_bytes()) == plain
    else:
        with opener(packed, "wb") as file:
            file.write(plain)
    np.testing.assert_array_equal(
        nats(read_arpa(packed, model.vocabulary)),
        nats(read_arpa(tmp_path / "plain.arpa", model.vocabulary)),
    )


PLAIN = """\
\\data\\
ngram 1=4
ngram 2=2

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.5
-0.5\t</s>
-0.25\ta\t-0.125

\\2-grams:
-0.1\t<s> a
-0.2\ta </s>

\\end\\
"""
DIALECTS = {
    "SRILM's leading blank line": "\n" + PLAIN,
    "kaldi: spaces in counts, no blank line": PLAIN.replace("1=4", " 1=        4").replace(
        "\n\n\\end", "\n\\end"
    ),
    "irstlm: tab after =, tab inside": PLAIN.replace("1=4", "1=\t4").replace(
        "\n\n\\2-grams", "\n\\2-grams"
    ),
    "spaces for tabs": PLAIN.replace("\t", "  "),
    "berkeleylm: several tabs, decimal comma": PLAIN.replace("\t", "\t\t").replace("0.", "0,"),
    "mitlm: n-ngrams": PLAIN.replace("\\2-grams", "\\2-ngrams"),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "empty highest order": PLAIN.replace("2=2\n", "2=2\nngram 3=0\n"),
    "empty highest order with its heading": PLAIN.replace("2=2\n", "2=2\nngram 3=0\n").replace(
        "\\end", "\\3-grams:\n\n\\end"
    ),
    "-inf for never": PLAIN.replace("-99", "-inf"),
    "text before": "made by hand\n" + PLAIN,
    "<UNK>": PLAIN.replace("<unk>", "<UNK>"),
    "backoff at the highest order": PLAIN.replace("a </s>", "a </s>\t0"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(tmp_path, dialect):
    path = tmp_path / "model.arpa"
    path.write_bytes(DIALECTS[dialect].encode())
    model = read_arpa(path)
    a = model.vocabulary["a"]
    scored = -nats(model, np.array([[a, a, 0, END]]))[0] / np.log(10)
    np.testing.assert_allclose(scored, [-0.1, -0.25 - 0.125, -1.0 - 0.125, -0.5], rtol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("1=4", "1=5", "line 6: the header counts 5 1-grams, and here are 4"),
        ("ngram 2=2", "ngram 3=2", "line 3: the count of order 2"),
        ("<s> a", "<s> b", "line 12: 'b' is none of the unigrams"),
        ("-0.25", "0.25", "line 9: 0.25 is no logarithm of a probability, beside 'a'"),
        ("-0.25", "x", "line 9: 'x' is no number, beside 'a'"),
        ("-0.25", "-0_25", "line 9: '-0_25' is no number, beside 'a'"),
        ("-0.25", "nan", "line 9: nan is no logarithm of a probability, beside 'a'"),
        ("\\2-grams", "\\3-grams", "line 11: there is '\\\\3-grams:' where \\2-grams: should be"),
        ("\n\\end\\\n", "", "line 13: the file ends before"),
        ("<s>\t", "<t>\t", "line 11: <s> is none of the unigrams"),
        ("\ta\t", "\t</s>\t", "line 9: '</s>' is there twice among the unigrams"),
        ("-0.125", "x", "line 9: 'x' is no number"),
        ("-0.125", "inf", "line 9: inf is no logarithm"),
        (
            "-0.2\ta </s>",
            "1e-9\ta </s>",
            "line 13: 1e-9 is no logarithm of a probability, beside 'a </s>'",
        ),
        ("-0.2\ta </s>", "-0,2x\ta </s>", "line 13: '-0,2x' is no number, beside 'a </s>'"),
        ("-0.2\ta </s>", "-0.2\ta", "is no 2-gram with its numbers"),
        ("ngram 1=4", "ngram 1=5", "line 6: the header counts 5"),
        ("ngram 2=2", "ngram 2=0\nngram 3=1", "line 13: the header counts 0 2-grams"),
        ("-0.2\ta </s>", "-0.2\t<s> a", "line 13: '<s> a' is there twice"),
    ],
)
def test_damage_is_named_with_its_line(tmp_path, old, new, named):
    path = tmp_path / "model.arpa"
    path.write_text(PLAIN.replace(old, new, 1))
    with pytest.raises(UserError) as error:
        read_arpa(path)
    assert named in str(error.value)


@pytest.mark.parametrize("is_given", [True, False])
def test_a_unigram_that_is_there_twice_is_named_however_it_is_written(tmp_path, is_given):
    path = tmp_path / "model.arpa"
    rows = "-1\t\\x61\n-1\t\\x5cx61\n-0.25\ta"
    path.write_text(PLAIN.replace("1=4", "1=6").replace("-0.25\ta", rows))
    vocabulary = from_tokens(["a", "\\x61"], scheme="test")[0] if is_given else None
    named = r"line 10: '\\\\x5cx61' is there twice among the unigrams"
    with pytest.raises(UserError, match=named):
        read_arpa(path, vocabulary)


def test_an_order_without_ngrams_below_one_with_some_is_named(tmp_path):
    path = tmp_path / "model.arpa"
    head, end = PLAIN.replace("2=2", "2=0\nngram 3=1").split("-0.1\t<s> a")
    path.write_text(f"{head}\n\\3-grams:\n-0.1\t<s> a a\n\n{end[end.index(chr(92)) :]}")
    with pytest.raises(UserError, match="order 3 has n-grams, and order 2 has none"):
        read_arpa(path)


def test_a_model_without_sentence_boundaries_comes_back_as_one(train, tmp_path):
    model = train(LINES, method="kneser_ney", order=3, sentence_boundaries=False)
    write_arpa(model, tmp_path / "running.arpa")
    again = read_arpa(tmp_path / "running.arpa", model.vocabulary)
    assert not again.config.sentence_boundaries
    np.testing.assert_allclose(nats(again), nats(model), rtol=1e-6)
    write_arpa(train(LINES, method="kneser_ney", order=3), tmp_path / "lines.arpa")
    assert read_arpa(tmp_path / "lines.arpa").config.sentence_boundaries


def test_a_word_outside_the_vocabulary_is_named(train, tmp_path):
    (tmp_path / "model.arpa").write_text(PLAIN)
    vocabulary = train(["b c"], method="uniform").vocabulary
    with pytest.raises(UserError, match="'a' is not in the vocabulary"):
        read_arpa(tmp_path / "model.arpa", vocabulary)


def test_a_context_that_is_not_listed_changes_nothing(tmp_path):
    path = tmp_path / "model.arpa"
    text = PLAIN.replace("ngram 2=2", "ngram 2=2\nngram 3=1")
    path.write_text(text.replace("\\end", "\\3-grams:\n-0.05\ta a a\n\n\\end"))
    model = read_arpa(path)
    a = model.vocabulary["a"]
    scored = -nats(model, np.array([[a, a, a, a, END]]))[0] / np.log(10)
    # "a a" is not listed: p(a|a) = 10^-0.125 p(a), and its own weight is 1.
    np.testing.assert_allclose(scored, [-0.1, -0.375, -0.05, -0.05, -0.2], rtol=1e-12)


def test_an_order_in_the_middle_may_lack_weights_or_have_some(tmp_path):
    """Where none is written it is 1; so it is in the rows without one beside others with one."""
    path = tmp_path / "model.arpa"
    text = PLAIN.replace("ngram 2=2", "ngram 2=2\nngram 3=1")
    text = text.replace("\\end", "\\3-grams:\n-0.05\t<s> a a\n\n\\end")
    stream = np.array([[3, 3, END, 3, 0]])
    for row, weight in (("-0.1\t<s> a", 0.0), ("-0.1\t<s> a\t-0.375", -0.375)):
        path.write_text(text.replace("-0.1\t<s> a", row))
        model = read_arpa(path)
        scored = -nats(model, stream)[0] / np.log(10)
        # After "<s> a a" its "a" is a history without bigrams but "a </s>".
        expected = [-0.1, -0.05, -0.2, -0.1, weight - 0.125 - 1.0]
        np.testing.assert_allclose(scored, expected, rtol=1e-12)


def test_scores_are_not_written_as_probabilities(train, tmp_path):
    with pytest.raises(UserError, match="stupid backoff, order 2 gives scores"):
        write_arpa(train(LINES, method="stupid_backoff", order=2), tmp_path / "x.arpa")
    assert list(tmp_path.iterdir()) == []


TRIGRAMS = PLAIN.replace("ngram 2=2", "ngram 2=2\nngram 3=1").replace("<s> a\n", "<s> a\t-0.1\n")
TRIGRAMS = TRIGRAMS.replace("\\end", "\\3-grams:\n-0.3\t<s> a </s>\n\n\\end")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("-0.125", "-0.55", None),
        ("-0.125", "-0.125", "the probabilities of the words after 'a' sum to 1.13"),
        ("-0.5\t</s>", "-0.01\t</s>", "the probabilities of the unigrams sum to 1.64"),
        ("-99\t<s>\t-0.5", "-99\t<s>\t1", "the probabilities of the words after '<s>' sum to 4.9"),
        ("<s> a\t-0.1", "<s> a\t0.9", "the probabilities of the words after '<s> a' sum to 1.9"),
    ],
)
def test_probabilities_that_sum_to_more_than_one_are_told(tmp_path, caplog, old, new, named):
    path = tmp_path / "model.arpa"
    text = TRIGRAMS.replace(old, new)
    assert old == new or text != TRIGRAMS
    path.write_text(text if old == "-0.125" else text.replace("-0.125", "-0.55"))
    model = read_arpa(path)
    assert model.order == 3
    if named is None:
        assert not caplog.messages
    else:
        (message,) = caplog.messages
        assert f"{path}: {named}" in message
        assert message.endswith("so its perplexities are too low")


def test_the_weight_of_a_context_without_words_is_its_sum(tmp_path, caplog):
    path = tmp_path / "model.arpa"
    path.write_text(PLAIN.replace("<s>\t-0.5", "<s>\t0").replace("-1.0\t<unk>", "-1.0\t<unk>\t0.5"))
    read_arpa(path)
    (message,) = caplog.messages
    assert "the words after '<unk>' sum to 3.09" in message


def test_a_byte_order_mark_is_no_text_before_it(tmp_path):
    path = tmp_path / "model.arpa"
    path.write_text(PLAIN, encoding="utf-8-sig")
    assert read_arpa(path).order == 2


@pytest.mark.parametrize("name", OPTIONS)
def test_a_model_of_ours_is_no_cause_for_a_warning(train, tmp_path, caplog, name):
    write_arpa(train(LINES, **OPTIONS[name]), tmp_path / "model.arpa")
    caplog.clear()
    read_arpa(tmp_path / "model.arpa")
    assert not caplog.messages
