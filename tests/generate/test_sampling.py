"""Sampling draws what the distribution says, the same for one seed, at every temperature."""

import numpy as np
import pyarrow as pa
import pytest

from textmill.generate.sampling import draw, sample
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.tokenizers.tokenizer import with_line_ends
from textmill.tokenizers.vocabulary import BEGIN, END
from textmill.tokenizers.words import WordConfig, train_words

LINES = ["the mill turns the wheel", "the wheel turns the old mill", "the old wheel"]


@pytest.fixture(scope="module")
def trigram():
    column = pa.array(LINES, pa.large_string())
    tokenizer, _ = train_words(column, WordConfig("word"))
    encoded = tokenizer.encode(column)
    text = with_line_ends(encoded.ids, encoded.offsets)
    return estimate(*text, tokenizer.vocabulary, NgramConfig("word", "maximum_likelihood", 3))


def test_frequencies_are_the_probabilities():
    log_p = np.log([0.5, 0.0, 0.2, 0.3], where=[True, False, True, True], out=np.full(4, -np.inf))
    random = np.random.default_rng(0)
    for temperature in (1.0, 0.5, 2.0):
        drawn = np.bincount([draw(log_p, temperature, random) for _ in range(20_000)], minlength=4)
        expected = np.exp(log_p) ** (1 / temperature)
        expected /= expected.sum()
        assert drawn[1] == 0
        # Five standard deviations of a binomial.
        spread = 5 * np.sqrt(expected * (1 - expected) / 20_000)
        assert np.all(np.abs(drawn / 20_000 - expected) <= spread)


def test_a_maximum_likelihood_trigram_says_only_trigrams_of_its_text(trigram):
    seen = set()
    for line in LINES:
        words = ["<s>", *line.split(), "</s>"]
        seen |= set(zip(words, words[1:], words[2:], strict=False))
    for seed in range(20):
        ids = sample(trigram, np.zeros(0, np.int64), 30, seed=seed)
        words = ["<s>", *(trigram.vocabulary.id_to_token(int(one)) for one in ids)]
        assert BEGIN not in ids
        assert words[-1] == "</s>"
        assert set(zip(words, words[1:], words[2:], strict=False)) <= seen


def test_one_seed_gives_one_text_and_a_prompt_is_gone_on_from(trigram):
    nothing = np.zeros(0, np.int64)
    texts = [sample(trigram, nothing, 12, seed=seed, lines=True).tolist() for seed in (1, 1, 2, 3)]
    assert texts[0] == texts[1]
    assert len({tuple(text) for text in texts}) > 1
    assert [len(text) for text in texts] == [12] * 4
    prompt = np.array(trigram.vocabulary.token_to_id(["the", "old", "mill"]), np.int64)
    assert sample(trigram, prompt, 5, seed=4).tolist() == [END]


@pytest.mark.parametrize("temperature", [0, 1e-3, 1e-320])
def test_at_zero_and_near_it_it_is_the_likeliest(trigram, temperature):
    state = trigram.start(1)
    ids = sample(trigram, np.zeros(0, np.int64), 3, seed=0, temperature=temperature)
    for one in ids.tolist():
        assert one == int(np.argmax(trigram.distribution(state)[0]))
        _, state = trigram.score(np.array([[one]]), state)


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
def test_other_temperatures_are_refused(trigram, temperature):
    with pytest.raises(ValueError, match="temperature must be 0 or more"):
        sample(trigram, np.zeros(0, np.int64), 3, seed=0, temperature=temperature)
