"""Mixtures that are models: sums to one after any history, closed forms, weights that are the best."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.generate.sampling import sample
from textmill.ngram.arpa_read import read_arpa
from textmill.ngram.arpa_write import write_arpa
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.scoring.likelihood import token_nats
from textmill.scoring.log_linear import LEAST, fit_log_linear
from textmill.scoring.mixed_models import LinearMixture, LogLinearMixture
from textmill.scoring.mixture import fit_weight, mix
from textmill.shards.reader import Lines
from textmill.tokenizers.tokenizer import with_line_ends
from textmill.tokenizers.vocabulary import BEGIN, END
from textmill.tokenizers.words import WordConfig, WordTokenizer, train_words

LINES = ["the mill turns the wheel", "the wheel turns", "", "a b a b a b", "the old mill turns"]
HELD_OUT = [["the old wheel turns the mill", "a b never", ""], ["b a the", "the wheel turns"]]
METHODS = {
    "uniform": {"method": "uniform"},
    "bigram": {"method": "additive", "order": 2, "k": 0.1},
    "kn3": {"method": "kneser_ney", "order": 3},
    "katz": {"method": "good_turing", "order": 3},
    "pruned": {"method": "witten_bell", "order": 3, "prune_to": 20},
    "observed": {"method": "absolute_discounting", "order": 2, "event_space": "observed"},
    "likelihood": {"method": "maximum_likelihood", "order": 1},
    "stupid": {"method": "stupid_backoff", "order": 2},
}
PAIRS = [("kn3", "bigram"), ("katz", "uniform"), ("pruned", "observed"), ("likelihood", "kn3")]


def tokenized(tokenizer, lines):
    encoded = tokenizer.encode(pa.array(lines, pa.large_string()))
    return with_line_ends(encoded.ids, encoded.offsets)


@pytest.fixture(scope="module")
def tokenizer():
    return train_words(pa.array(LINES, pa.large_string()), WordConfig("word"))[0]


@pytest.fixture(scope="module")
def models(tokenizer):
    text = tokenized(tokenizer, LINES)
    configs = {name: NgramConfig("word", **options) for name, options in METHODS.items()}
    return {name: estimate(*text, tokenizer.vocabulary, one) for name, one in configs.items()}


@pytest.fixture(scope="module")
def held_out(tokenizer):
    """Two documents; of the columns only what token_nats reads is filled."""
    tokens, offsets = tokenized(tokenizer, [line for lines in HELD_OUT for line in lines])
    doc = np.repeat([0, 1], [len(lines) for lines in HELD_OUT]).astype(np.int32)
    nothing = np.zeros(len(doc))
    return Lines(tokens, offsets, doc, nothing, nothing, nothing, nothing, nothing)


def mixtures(models, pair):
    first, second = (models[name] for name in pair)
    yield LinearMixture(first, second, 0.3)
    yield LogLinearMixture([first, second], [0.6, 0.7])
    yield LogLinearMixture([first, second, first], [0.2, 1.5, 0.0])


@pytest.mark.parametrize("pair", PAIRS)
@settings(max_examples=20, deadline=None)
@given(history=st.lists(st.integers(0, 9).filter(BEGIN.__ne__), max_size=8))
def test_sums_to_one_after_any_history_and_equals_the_scores(models, pair, history):
    for model in mixtures(models, pair):
        size = len(model.vocabulary)
        assert size == 10
        state = model.start(size)
        whole = np.tile(np.array(history, np.int64), (size, 1))
        nats, state = model.score(whole, state)
        log_p_BV = model.distribution(state)
        assert np.exp(log_p_BV).sum(axis=1) == pytest.approx(np.ones(size), abs=1e-12)
        assert np.all(log_p_BV[:, BEGIN] == -np.inf)
        each, _ = model.score(np.arange(size)[:, None], state)
        np.testing.assert_allclose(-each[:, 0], log_p_BV[0], rtol=1e-12)
        again, _ = model.score(whole[:2, :1], model.start(2))
        np.testing.assert_array_equal(again[:, : len(history)], nats[:2, :1])


def test_streams_and_chunks_change_nothing(models, held_out):
    for model in mixtures(models, ("kn3", "bigram")):
        whole = token_nats(model, held_out, streams=1, chunk=1000)
        pieces = token_nats(model, held_out, streams=2, chunk=3)
        assert pieces == pytest.approx(whole, rel=1e-12)


def test_the_linear_mixture_is_what_the_pipeline_mixes(models, held_out):
    first, second = models["kn3"], models["bigram"]
    by_scores = mix(token_nats(first, held_out), token_nats(second, held_out), 0.3)
    by_model = token_nats(LinearMixture(first, second, 0.3), held_out)
    np.testing.assert_array_equal(by_model, by_scores)
    for weight, one in ((1, first), (0, second)):
        alone = token_nats(LinearMixture(first, second, weight), held_out)
        assert alone == pytest.approx(token_nats(one, held_out), rel=1e-12)


def test_log_linear_closed_forms(models):
    kn3, bigram = models["kn3"], models["bigram"]
    state = kn3.start(1)
    p = np.exp(kn3.distribution(state)[0])
    q = np.exp(bigram.distribution(bigram.start(1))[0])
    both = [kn3, bigram]

    def mixed(mixture):
        return np.exp(mixture.distribution(mixture.start(1))[0])

    np.testing.assert_allclose(mixed(LogLinearMixture(both, [1, 0])), p, rtol=1e-12)
    np.testing.assert_allclose(mixed(LogLinearMixture([kn3, kn3], [0.5, 0.5])), p, rtol=1e-12)
    np.testing.assert_allclose(
        mixed(LogLinearMixture(both, [2, 0.5])), p**2 * q**0.5 / (p**2 * q**0.5).sum(), rtol=1e-12
    )
    # A uniform model has nothing to say, whatever its weight.
    flat = LogLinearMixture([kn3, models["uniform"]], [1.0, 5.0])
    np.testing.assert_allclose(mixed(flat), p, rtol=1e-12)


def test_what_one_model_calls_impossible_is_so_in_the_product_alone(models, tokenizer):
    likelihood, kn3 = models["likelihood"], models["kn3"]
    unknown = 0
    product = LogLinearMixture([likelihood, kn3], [0.5, 0.5])
    assert product.distribution(product.start(1))[0, unknown] == -np.inf
    linear = LinearMixture(likelihood, kn3, 0.5)
    expected = np.exp(kn3.distribution(kn3.start(1))[0, unknown]) / 2
    assert np.exp(linear.distribution(linear.start(1))[0, unknown]) == pytest.approx(expected)


def test_models_that_agree_on_nothing_cannot_be_multiplied(tokenizer):
    config = NgramConfig("word", "maximum_likelihood", 1)
    texts = (np.array([3, 3, END]), np.array([0, 3])), (np.array([END]), np.array([0, 1]))
    one = estimate(*texts[0], tokenizer.vocabulary, NgramConfig("word", "maximum_likelihood", 2))
    other = estimate(*texts[1], tokenizer.vocabulary, config)
    mixture = LogLinearMixture([one, other], [1, 1])
    with pytest.raises(UserError, match="no word is possible to all of the models"):
        mixture.distribution(mixture.start(1))


@pytest.mark.parametrize("names", [("kn3", "bigram"), ("likelihood", "katz"), ("kn3", "kn3")])
def test_fitted_weights_are_the_best(models, held_out, names):
    both = [models[name] for name in names]
    fitted = fit_log_linear(both, held_out)
    possible = np.isfinite(sum(token_nats(model, held_out) for model in both))
    assert possible.sum() > 10

    def nats(weights):
        return token_nats(LogLinearMixture(both, weights), held_out)[possible].sum()

    best = nats(fitted)
    assert best < nats([0.5, 0.5]) - 0.1
    for move in ([1, 0], [0, 1], [1, 1], [1, -1]):
        for size in (-0.2, -0.01, 0.01, 0.2):
            moved = np.maximum(fitted + size * np.array(move), LEAST)
            assert nats(moved) >= best - 1e-6


def test_a_model_of_nothing_but_noise_gets_no_weight(models, held_out):
    """With the model that made the text beside it: weight 1 for that, the least for the other."""
    kn3 = models["kn3"]
    drawn = sample(kn3, np.zeros(0, np.int64), 700, seed=1, lines=True)
    drawn[-1] = END
    offsets = np.append(0, np.flatnonzero(drawn == END) + 1)
    columns = np.zeros((5, len(offsets) - 1))
    text = Lines(drawn, offsets, np.zeros(len(offsets) - 1, np.int32), *columns)
    weights = fit_log_linear([kn3, models["bigram"]], text)
    assert weights.sum() == pytest.approx(1, abs=0.1)
    assert weights[0] > 0.8


def test_from_arpa_files_linear_and_log_linear(models, held_out, tmp_path):
    read = []
    for name in ("kn3", "katz"):
        write_arpa(models[name], tmp_path / f"{name}.arpa")
        first = read[0].vocabulary if read else None
        read.append(read_arpa(tmp_path / f"{name}.arpa", first))
    # The file's vocabulary has another name for how text is split, and the same words.
    held_out_ids = WordTokenizer(read[0].vocabulary)
    tokens, offsets = tokenized(held_out_ids, [line for lines in HELD_OUT for line in lines])
    text = Lines(tokens, offsets, held_out.doc, *np.zeros((5, len(held_out.doc))))
    nats = [token_nats(model, text) for model in read]
    weight = fit_weight(*nats)
    exponents = fit_log_linear(read, text)
    for mixture in (LinearMixture(*read, weight), LogLinearMixture(read, exponents)):
        mixed = token_nats(mixture, text).sum()
        assert mixed <= min(one.sum() for one in nats) + 1e-6
        sums = np.exp(mixture.distribution(mixture.start(1))).sum()
        assert sums == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        ([1.0], "2 models need as many weights, not 1"),
        ([0, 0], "not all 0"),
        ([-1, 2], "must be 0 or more"),
        ([np.nan, 1], "must be 0 or more"),
    ],
)
def test_weights_that_are_none_are_refused(models, weights, named):
    with pytest.raises(ValueError, match=named):
        LogLinearMixture([models["kn3"], models["bigram"]], weights)
    with pytest.raises(ValueError, match="between 0 and 1"):
        LinearMixture(models["kn3"], models["bigram"], 1.5)


def test_models_over_other_vocabularies_are_refused(models):
    column = pa.array(["other words"], pa.large_string())
    other, _ = train_words(column, WordConfig("word"))
    stranger = estimate(
        *tokenized(other, ["other words"]), other.vocabulary, NgramConfig("word", "uniform")
    )
    with pytest.raises(UserError, match=r"different vocabularies \(of 10, 5 ids\)"):
        LinearMixture(models["kn3"], stranger, 0.5)
    with pytest.raises(UserError, match="cannot be mixed"):
        LogLinearMixture([models["kn3"], stranger], [0.5, 0.5])


def test_scores_that_are_no_probabilities_are_refused(models, held_out):
    both = [models["kn3"], models["stupid"]]
    for mixed in (
        lambda: LinearMixture(*both, 0.5),
        lambda: LogLinearMixture(both, [0.5, 0.5]),
        lambda: fit_log_linear(both, held_out),
    ):
        with pytest.raises(UserError, match="cannot be mixed: it gives scores, not probabilities"):
            mixed()
