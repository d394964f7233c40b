"""What users of other toolkits ran into: crashes, infinities and numbers that mean something else."""

import logging
import pickle

import numpy as np
import pytest

from textmill.ngram.arpa_read import read_arpa
from textmill.ngram.arpa_write import write_arpa
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.model import NgramModel
from textmill.ngram.prune import pruned
from textmill.ngram.smoothing.discounts import FALLBACK
from textmill.ngram.storage import load, save
from textmill.ngram.tables import unpack, words_of
from textmill.tokenizers.tokenizer import with_line_ends
from textmill.tokenizers.vocabulary import BEGIN, END, UNKNOWN, from_tokens

LINES = ["the mill turns the wheel", "the wheel turns", "", "the old mill turns the wheel", "b a b"]
SMOOTHED = ("good_turing", "absolute_discounting", "witten_bell", "kneser_ney", "jelinek_mercer")


def nats(model, ids):
    return model.score(np.array([ids]), model.start(1))[0][0]


def sums(model, histories):
    """The sum of the distribution after each of some histories (rows of ids)."""
    state = model.start(len(histories))
    _, state = model.score(np.array(histories), state)
    return np.exp(model.distribution(state)).sum(axis=1)


def random_histories(model, n=20, length=4):
    ids = [one for one in range(len(model.vocabulary)) if one != BEGIN]
    return np.random.default_rng(0).choice(ids, (n, length))


@pytest.mark.parametrize("method", SMOOTHED)
@pytest.mark.parametrize(
    "lines",
    [[""], ["a"], ["a a a a a a"], ["a b c", "a b d"], ["a b c"] * 50, ["", "", ""]],
    ids=["a blank line", "one word", "one type", "two lines", "one line 50 times", "blank lines"],
)
def test_tiny_and_repeated_texts_give_a_model(train, method, lines):
    model = train(lines, method=method, order=3)
    histories = random_histories(model)
    assert sums(model, histories) == pytest.approx(np.ones(len(histories)), abs=1e-12)
    for table in unpack(model.orders):
        assert np.all(np.isfinite(table.backoffs))
        assert np.all((table.probabilities >= 0) & (table.probabilities <= 1))


@pytest.mark.parametrize(
    ("options", "discount", "named"),
    [
        ({"method": "kneser_ney"}, FALLBACK, "no n-gram has an adjusted count of 1"),
        ({"method": "kneser_ney", "modified": False}, (0.5,) * 3, "no n-gram has a count of 1"),
        ({"method": "absolute_discounting"}, (0.5,), "no n-gram has a count of 1"),
        ({"method": "good_turing"}, (0.5, 0.75), "no n-gram has a count of 1"),
    ],
)
def test_a_text_that_is_there_twice_says_what_is_missing_and_what_may_be_done(
    train, caplog, options, discount, named
):
    with caplog.at_level(logging.WARNING, logger="textmill.ngram"):
        model = train(LINES * 2, order=3, **options)
    assert model.discounts[2][: len(discount)] == discount
    said = [text for text in caplog.messages if f"order 3: {named}" in text]
    assert len(said) == 1
    assert "duplicate_lines drops them" in said[0]


def test_characters_of_order_20(train, tmp_path):
    """No order is too high to be estimated, queried or written, after however long a build."""
    lines = [" ".join(line.replace(" ", "_")) for line in LINES]
    model = train(lines, method="kneser_ney", order=20)
    assert model.order == 20
    histories = random_histories(model, length=25)
    assert sums(model, histories) == pytest.approx(np.ones(len(histories)), abs=1e-12)
    write_arpa(model, tmp_path / "chars.arpa")
    again = read_arpa(tmp_path / "chars.arpa", model.vocabulary)
    assert again.order == 20
    ids = histories.ravel()[:200]
    np.testing.assert_allclose(nats(again, ids), nats(model, ids), rtol=1e-5)


@pytest.mark.parametrize("method", [*SMOOTHED, "additive", "maximum_likelihood", "stupid_backoff"])
def test_any_order_can_be_asked_for(train, method):
    """The longest line has 6 words and both its ends, so no n-gram is longer than 8."""
    models = [train(LINES, method=method, order=order) for order in (8, 10**20)]
    assert [model.order for model in models] == [8, 8]
    stream = np.random.default_rng(2).choice([0, END, *range(3, len(models[0].vocabulary))], 200)
    np.testing.assert_array_equal(nats(models[0], stream), nats(models[1], stream))


def test_order_1_works_from_text_to_file_and_back(train, tmp_path):
    model = train(LINES, method="kneser_ney", order=1)
    save(model, tmp_path / "model")
    write_arpa(model, tmp_path / "one.arpa")
    for again in (
        load(tmp_path / "model", model.vocabulary),
        read_arpa(tmp_path / "one.arpa", model.vocabulary),
    ):
        np.testing.assert_allclose(nats(again, [3, 4, END]), nats(model, [3, 4, END]), rtol=1e-6)


@pytest.mark.parametrize("method", SMOOTHED)
def test_nothing_that_can_be_predicted_is_impossible(train, method):
    """Unknown words, unseen histories, all of them: finite; only `<s>` never comes."""
    model = train(LINES, method=method, order=3)
    events = [one for one in range(len(model.vocabulary)) if one != BEGIN]
    stream = np.random.default_rng(1).choice(events, 400)
    assert np.all(np.isfinite(nats(model, stream)))
    assert np.all(np.isfinite(nats(model, [UNKNOWN] * 5)))
    assert nats(model, [BEGIN])[0] == np.inf


def test_kneser_neys_unigrams_count_contexts_and_are_not_uniform(train):
    """`b` came often and after one word alone, `c` seldom and after three."""
    lines = ["a b a b a b a b", "a c", "d c", "e c", "f"]
    model = train(lines, method="kneser_ney", order=2)
    b, c = model.vocabulary[["b", "c"]]
    state = model.null_context(1)
    p = np.exp(model.distribution(state)[0])
    assert p[c] > p[b] > p[UNKNOWN] > 0
    # A word that was never seen is no history: what follows it is the unigrams alone.
    never = np.exp(-nats(model, [UNKNOWN, c]))[1]
    assert never == pytest.approx(p[c], rel=1e-12)


@pytest.mark.parametrize("method", [*SMOOTHED, "additive", "maximum_likelihood"])
def test_when_every_word_was_seen_after_a_history_its_weight_is_finite(encode, method):
    """Nothing is left over for other words, and nothing left to give it to: 0 / 0 elsewhere."""
    vocabulary = from_tokens(["a", "b"], scheme="test")[0]
    events = (UNKNOWN, END, 3, 4)
    # After every event but the line's end every event comes, once or often.
    for times in (1, 2, 9):
        pairs = [[one, other] for one in events for other in events if END not in (one, other)]
        lines = [[*pair, END] for pair in pairs] + [[one, END] for one in events if one != END]
        tokens = np.array([one for line in lines for one in line] * times + [END])
        offsets = np.append(0, np.flatnonzero(tokens == END) + 1)
        config = NgramConfig("test", method, 3)
        model = estimate(tokens, offsets, vocabulary, config, held_out=(tokens, offsets))
        for table in unpack(model.orders):
            assert np.all(np.isfinite(table.backoffs))
        histories = [[one, other, third] for one in events for other in events for third in events]
        assert sums(model, histories) == pytest.approx(np.ones(len(histories)), abs=1e-12)


def test_names_that_look_reserved_are_words_when_they_stand_in_a_text(train, encode):
    """`<unk>` of a corpus is counted as a word; the reserved id stays for what is unknown."""
    model = train(["the <unk> sat", "the <UNK> sat", "<s> the </s>"], method="kneser_ney", order=2)
    words = model.vocabulary.tokens.to_pylist()
    assert {"<unk>", "<UNK>", "<s>", "</s>"} <= set(words)
    ids = model.vocabulary[["<unk>", "<UNK>", "<s>", "</s>"]]
    assert len({*ids, UNKNOWN, BEGIN, END}) == 7
    p = np.exp(model.distribution(model.start(1))[0])
    # "the" twice and "<s>" once begin a line, the others never.
    assert p[ids[2]] > p[ids[0]]
    assert np.exp(-nats(model, model.vocabulary[["the", "<unk>"]]))[1] > p[UNKNOWN]


def test_words_of_the_vocabulary_that_training_never_shows_are_kept(train):
    vocabulary = train([*LINES, "zebra yak"], method="uniform").vocabulary
    model = train(LINES, vocabulary, method="kneser_ney", order=3)
    state = model.start(1)
    p = np.exp(model.distribution(state)[0])
    zebra, yak = vocabulary[["zebra", "yak"]]
    assert p[zebra] == p[yak] == p[UNKNOWN] > 0
    assert sum(model.vocabulary.tokens.to_pylist().count(word) for word in ("zebra", "yak")) == 2


def test_the_header_counts_the_line_s_beginning_once_and_it_is_listed(train, tmp_path):
    for lines in (["a b a c a"], ["a b", "a c"]):
        model = train(lines, method="kneser_ney", order=2)
        write_arpa(model, tmp_path / "a.arpa")
        text = (tmp_path / "a.arpa").read_text()
        unigrams = text.split("\\1-grams:\n")[1].split("\n\n")[0].splitlines()
        assert f"ngram 1={len(unigrams)}\n" in text
        assert [row.split("\t")[1] for row in unigrams].count("<s>") == 1
        assert "\t<s> a\n" in text


@pytest.mark.parametrize("method", [*SMOOTHED, "additive"])
@pytest.mark.parametrize("boundaries", [True, False])
def test_in_the_middle_of_a_text_nothing_stands_before(train, method, boundaries):
    """A fragment's first word is judged without `<s>`, the second by the first, and so on."""
    model = train(LINES, method=method, order=3, sentence_boundaries=boundaries)
    unigram = np.exp(model.distribution(model.null_context(1))[0])
    assert unigram.sum() == pytest.approx(1, abs=1e-12)
    the, wheel = model.vocabulary[["the", "wheel"]]
    tables = list(unpack(model.orders))
    assert unigram[wheel] == pytest.approx(tables[0].probabilities[wheel], rel=1e-12)
    scored, state = model.score(np.array([[wheel, the]]), model.null_context(1))
    assert np.exp(-scored[0, 0]) == pytest.approx(tables[0].probabilities[wheel], rel=1e-12)
    _, seen = model.score(np.array([[wheel]]), model.null_context(1))
    after = np.exp(model.distribution(seen)[0])
    assert after.sum() == pytest.approx(1, abs=1e-12)
    assert np.exp(-scored[0, 1]) == pytest.approx(after[the], rel=1e-12)
    at_begin, _ = model.score(np.array([[the]]), model.start(1))
    assert abs(np.exp(-at_begin[0, 0]) - unigram[the]) > 1e-3
    assert state.tolist() == [[wheel, the]]


def test_a_line_and_its_end_by_the_chain_rule(train):
    """log p(line) is the sum of what its words and its end cost, given what stands before."""
    model = train(LINES, method="kneser_ney", order=3)
    line = [*model.vocabulary[["the", "mill"]], END]
    product, state = 1.0, model.start(1)
    for one in line:
        product *= np.exp(model.distribution(state)[0, one])
        _, state = model.score(np.array([[one]]), state)
    assert np.exp(-nats(model, line).sum()) == pytest.approx(product, rel=1e-12)
    # Each is a probability, so its logarithm is never above 0.
    assert np.all(nats(model, line) >= 0)


def test_a_corpus_perplexity_is_no_mean_of_its_lines(train, encode):
    model = train(LINES, method="kneser_ney", order=3)
    tokens, offsets, _ = encode(["the mill turns the wheel", "never"], model.vocabulary)
    scored = nats(model, tokens)
    by_line = np.exp(np.add.reduceat(scored, offsets[:-1]) / np.diff(offsets))
    whole = np.exp(scored.mean())
    assert by_line.mean() > 1.2 * whole
    weighted = np.exp((np.log(by_line) * np.diff(offsets)).sum() / len(tokens))
    assert weighted == pytest.approx(whole, rel=1e-12)


def test_an_ngram_whose_end_is_not_listed_is_used_and_falls_back_as_it_must(tmp_path):
    path = tmp_path / "model.arpa"
    path.write_text(
        "\\data\\\nngram 1=5\nngram 2=1\nngram 3=1\n\n\\1-grams:\n-1\t<unk>\n-99\t<s>\t-0.3\n"
        "-0.6\t</s>\n-0.5\ta\t-0.2\n-0.7\tb\t-0.4\n\n\\2-grams:\n-0.25\ta b\t-0.125\n\n"
        "\\3-grams:\n-0.0625\ta b a\n\n\\end\\\n"
    )
    model = read_arpa(path)
    a, b = model.vocabulary[["a", "b"]]
    log10_p = -nats(model, [a, b, a, b, b, a]) / np.log(10)
    expected = [-0.3 - 0.5, -0.25, -0.0625, -0.25, -0.125 - 0.4 - 0.7, -0.4 - 0.5]
    np.testing.assert_allclose(log10_p, expected, rtol=1e-12)


def test_any_finished_model_is_pruned_and_still_sums_to_one(train, tmp_path):
    write_arpa(train(LINES, method="witten_bell", order=3), tmp_path / "a.arpa")
    model = read_arpa(tmp_path / "a.arpa")
    rows = [
        sum(order.words.rows for order in one.orders) for one in (model, pruned(model, size=20))
    ]
    assert rows[1] <= 20 < rows[0]
    smaller = pruned(model, threshold=0.01)
    histories = random_histories(model)
    assert sums(smaller, histories) == pytest.approx(np.ones(len(histories)), abs=1e-6)
    estimated = train(LINES, method="witten_bell", order=3, prune_threshold=0.01)
    assert [o.words.rows for o in smaller.orders] == [o.words.rows for o in estimated.orders]


def test_a_model_goes_to_another_process(train, tmp_path):
    made = train(LINES, method="kneser_ney", order=3)
    save(made, tmp_path / "model")
    for model in (made, load(tmp_path / "model", made.vocabulary)):
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(nats(again, [3, 4, 5, END]), nats(model, [3, 4, 5, END]))


def test_the_vocabulary_and_all_ngrams_can_be_listed(train):
    model = train(["a b", "a c"], method="kneser_ney", order=2)
    tables = list(unpack(model.orders))
    words = words_of(tables, 2, np.arange(len(tables[1].words)))
    listed = {tuple(model.vocabulary.id_to_token(ngram)) for ngram in words.T.tolist()}
    assert listed == {
        ("<s>", "a"), ("a", "b"), ("a", "c"), ("b", "</s>"), ("c", "</s>"),
    }  # fmt: skip
    assert model.vocabulary.tokens.to_pylist() == ["a", "b", "c"]


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u0085", "\u2028", "\v", "\f", "\u001c"])
def test_only_a_space_parts_words_in_training_and_in_queries(train, encode, space):
    model = train([f"a{space}b c", "c a"], method="kneser_ney", order=2)
    assert set(model.vocabulary.tokens.to_pylist()) == {f"a{space}b", "c", "a"}
    tokens, offsets, _ = encode([f"a{space}b c"], model.vocabulary)
    assert UNKNOWN not in tokens
    assert offsets.tolist() == [0, 3]


def test_what_the_documented_calls_take():
    """Names of arguments are promised: a newer page and an older wheel would part here."""
    names = NgramModel.score.__code__.co_varnames[: NgramModel.score.__code__.co_argcount]
    assert names == ("self", "ids_BT", "state")
    assert pruned.__kwdefaults__ == {"threshold": 0.0, "size": 0}
    assert with_line_ends.__code__.co_varnames[:2] == ("ids", "offsets")
