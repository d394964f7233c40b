"""The bill for unknown units: closed forms and sums over every string."""

import logging
import math

import numpy as np
import pyarrow as pa
import pytest

from textmill.base.errors import UserError
from textmill.ngram.smoothing.discounts import modified_discounts
from textmill.scoring.spelling import SCALAR_VALUES, load_spelling, train_spelling
from textmill.tokenizers.characters import CharConfig, train_characters
from textmill.tokenizers.words import WordConfig, train_words


def strings(values):
    return pa.array(values, pa.string())


@pytest.fixture(scope="module")
def word_vocabulary():
    lines = pa.array(["ab ab ba ba aa b", "ab abba bab"], pa.large_string())
    tokenizer, dropped = train_words(lines, WordConfig("word", minimum_frequency=2))
    return tokenizer.vocabulary, dropped.to_pylist()


@pytest.fixture(scope="module")
def spelling(word_vocabulary):
    vocabulary, dropped = word_vocabulary
    assert sorted(dropped) == ["aa", "abba", "b", "bab"]
    return train_spelling(dropped, vocabulary, "word")


def test_its_own_discounts_are_noticed_in_the_debug_log_alone(word_vocabulary, caplog):
    """A model that a person named speaks up (tests/ngram/test_discounts.py), before and after."""
    vocabulary, dropped = word_vocabulary
    with caplog.at_level(logging.DEBUG, logger="textmill.ngram"):
        train_spelling(dropped, vocabulary, "word")
    levels = {record.levelno for record in caplog.records if "discounts" in record.name}
    assert levels == {logging.DEBUG}
    caplog.clear()
    modified_discounts(2, np.array([0, 4, 3, 2]))
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def all_strings(alphabet, longest):
    level = [""]
    for _ in range(longest):
        level = [text + letter for text in level for letter in alphabet]
        yield from level


def test_q_sums_to_one_outside_the_vocabulary(spelling, word_vocabulary):
    """Every string of a and b up to length 16 outside V, plus what longer and unseen ones hold.

    The mass of strings with an unseen character and of longer ones is what q0 leaves, so the sum
    must come near 1 from below and grow with the length.
    """
    vocabulary, _ = word_vocabulary
    known = set(vocabulary.tokens.to_pylist())
    sums = []
    for longest in (4, 10, 16):
        texts = [text for text in all_strings("ab", longest) if text not in known]
        sums.append(float(np.exp(-spelling.nats(strings(texts))).sum()))
    assert sums[0] < sums[1] < sums[2] < 1
    unseen = unseen_mass(spelling, 10)
    assert sums[2] + unseen == pytest.approx(1, abs=2e-3)


def unseen_mass(spelling, longest):
    """Mass of strings with at least one character that training never saw, by one such character.

    All unseen characters share their mass evenly, so one stands for all: its share times how
    many there are, to the power of how often it occurs.
    """
    how_many = SCALAR_VALUES - 2 - 2
    texts = [text for text in all_strings("abz", longest) if "z" in text]
    nats = spelling.nats(strings(texts))
    times = np.array([text.count("z") for text in texts])
    return float(np.exp(times * math.log(how_many) - nats).sum())


def test_mass_of_the_vocabulary_is_taken_away(spelling, word_vocabulary):
    vocabulary, _ = word_vocabulary
    q0 = np.exp(-spelling.q0_nats(vocabulary.tokens))
    texts = strings(["aab", "zz", "abab"])
    ratio = np.exp(spelling.q0_nats(texts) - spelling.nats(texts))
    assert ratio == pytest.approx(1 / (1 - q0.sum()), rel=1e-12)


def test_each_unseen_character_costs_the_same_and_pays_to_be_named(spelling):
    nats = spelling.nats(strings(["\u6f22", "q", "\U0001f600", "qq"]))
    assert nats[0] == nats[1] == nats[2]
    assert nats[1] > math.log(SCALAR_VALUES - 4)
    assert nats[3] > nats[1] + math.log(SCALAR_VALUES - 4)


def test_trained_on_tokens_of_count_one_where_nothing_is_dropped():
    lines = pa.array(["common common rare1 rare2"], pa.large_string())
    tokenizer, dropped = train_words(lines, WordConfig("word"))
    assert tokenizer.vocabulary.unknown == "singletons"
    spelling = train_spelling(dropped.to_pylist(), tokenizer.vocabulary, "word")
    cheap, dear = spelling.nats(strings(["rare3", "xxxxx"]))
    assert cheap < dear / 3


def test_without_anything_to_learn_from_every_string_is_spelled_evenly():
    lines = pa.array(["a a a a"], pa.large_string())
    tokenizer, dropped = train_words(lines, WordConfig("word"))
    assert tokenizer.vocabulary.unknown == "unlearnt"
    spelling = train_spelling(dropped.to_pylist(), tokenizer.vocabulary, "word")
    # Only <unk> and the end are left: first an unseen character for certain, then an end or
    # another with one half each; "a" lies in V, so its share is taken away.
    share = 1 / (SCALAR_VALUES - 2)
    one, two = np.exp(-spelling.nats(strings(["x", "xy"])))
    assert one == pytest.approx(share / 2 / (1 - share / 2), rel=1e-9)
    assert two == pytest.approx(share**2 / 4 / (1 - share / 2), rel=1e-9)


def test_characters_are_strings_of_length_one():
    lines = pa.array(["aaabbbcd "], pa.large_string())
    tokenizer, dropped = train_characters(lines, CharConfig("char", minimum_frequency=2))
    assert sorted(dropped.to_pylist()) == [" ", "c", "d"]
    spelling = train_spelling(dropped.to_pylist(), tokenizer.vocabulary, "char")
    seen = np.exp(-spelling.nats(strings(["c", "d", " "])))
    unseen = math.exp(-float(spelling.nats(strings(["x"]))[0]))
    # V holds a and b, both unseen by q0; all other scalar values but LF, c, d and space remain.
    others = SCALAR_VALUES - 1 - 3 - 2
    assert seen.sum() + others * unseen == pytest.approx(1, rel=1e-9)


def test_saved_and_loaded_bills_the_same(spelling, tmp_path):
    texts = strings(["abab", "b", "zoo", "b"])
    spelling.save(tmp_path / "spelling")
    assert (
        load_spelling(tmp_path / "spelling").nats(texts).tolist() == spelling.nats(texts).tolist()
    )


def test_a_damaged_bill_is_refused(spelling, tmp_path):
    spelling.save(tmp_path / "spelling")
    path = tmp_path / "spelling" / "spelling.json"
    path.write_text(path.read_text().replace('"log_outside": -', '"log_outside": -1'))
    with pytest.raises(UserError, match=r"spelling\.json is not as it was written"):
        load_spelling(tmp_path / "spelling")
