"""The invariants of scoring: uniform and perfect models, chunks, causality, sums to one."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.files import write_json, write_table
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.scoring.likelihood import token_nats
from textmill.scoring.mixture import fit_weight, mix
from textmill.scoring.spelling import no_bill, train_spelling
from textmill.scoring.units import flat_nats, measure, scores_table, with_nats
from textmill.shards.reader import Lines, read_split
from textmill.shards.work import write_splits
from textmill.shards.writer import Codec
from textmill.tokenizers import store
from textmill.tokenizers.characters import CharConfig
from textmill.tokenizers.subwords import SubwordConfig
from textmill.tokenizers.tokenizer import encode_line, with_line_ends
from textmill.tokenizers.vocabulary import BEGIN, END
from textmill.tokenizers.words import WordConfig

TRAIN = ["ab ba ab", "a", "", "ba ba b", "ab ab ab aab", "b a", "abba ab"]
DOCUMENTS = [["ab ba", "a ab"], [""], ["ab abab b", "zz ab", "", "ba"], ["b"]]


def column(lines):
    return pa.array(lines, pa.large_string())


def documents_table(documents):
    texts = ["".join(line + "\n" for line in lines) for lines in documents]
    sizes = [len(text.encode()) for text in texts]
    return pa.table({"text": pa.array(texts, pa.large_string()), "n_bytes": sizes})


def tokenized(config, documents, folder):
    """Tokenizer trained on TRAIN, training lines and the lines of `documents`."""
    tokenizer, dropped = store.train(column(TRAIN), config)
    bill = no_bill
    if tokenizer.kind != "subword":
        bill = train_spelling(dropped, tokenizer.vocabulary, tokenizer.kind).nats
    sources = {"train": folder / "train-documents", "test": folder / "test-documents"}
    for path, split in zip(sources.values(), ([TRAIN], documents), strict=True):
        write_table(path, documents_table(split))
    entries = write_splits(sources, lambda _: Codec(tokenizer, bill), folder, folder)
    write_json(folder / "manifest.json", {"format": 1, "fingerprint": "", "splits": entries})
    return tokenizer, read_split(folder, "train"), read_split(folder, "test")


def ngram(tokenizer, train, method="kneser_ney", **options):
    config = NgramConfig(tokenizer="x", method=method, **options)
    return estimate(train.tokens, train.offsets, tokenizer.vocabulary, config)


@pytest.fixture(scope="module")
def word(tmp_path_factory):
    folder = tmp_path_factory.mktemp("word")
    return tokenized(WordConfig("word", minimum_frequency=2), DOCUMENTS, folder)


@pytest.fixture(scope="module")
def char(tmp_path_factory):
    return tokenized(CharConfig("char"), DOCUMENTS, tmp_path_factory.mktemp("char"))


def test_a_uniform_model_has_perplexity_v(word):
    tokenizer, train, test = word
    nats = token_nats(ngram(tokenizer, train, "uniform"), test)
    numbers = measure(scores_table(test, nats))
    assert numbers["perplexity"] == pytest.approx(len(tokenizer.vocabulary) - 1, rel=1e-12)


class Oracle:
    """A perfect model: it knows the text, so every token costs nothing."""

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary

    def start(self, n):
        return None

    def score(self, ids_BT, state):
        return np.zeros(ids_BT.shape), state


def test_a_perfect_model_has_perplexity_one(char):
    tokenizer, _, test = char
    numbers = measure(scores_table(test, token_nats(Oracle(tokenizer.vocabulary), test)))
    assert numbers["perplexity"] == 1
    assert numbers["nats_tokens"] == 0
    assert numbers["bits_per_byte"] == pytest.approx(
        numbers["nats_spelling"] / numbers["bytes"] / math.log(2)
    )


@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_streams_and_chunks_change_nothing(word, streams, chunk, order):
    tokenizer, train, test = word
    model = ngram(tokenizer, train, order=order)
    whole = token_nats(model, test, streams=1, chunk=1000)
    pieces = token_nats(model, test, streams=streams, chunk=chunk)
    assert pieces == pytest.approx(whole, rel=1e-9)


def test_documents_are_scored_in_their_own_order(char):
    """Each document's tokens cost what they cost when it is scored alone."""
    tokenizer, train, test = char
    model = ngram(tokenizer, train, order=4)
    nats = token_nats(model, test, streams=3, chunk=2)
    for start, stop in itertools.pairwise(test.doc_offsets):
        alone, _ = model.score(test.tokens[None, start:stop], model.start(1))
        assert nats[start:stop] == pytest.approx(alone[0], rel=1e-12)


def test_a_changed_token_changes_no_score_before_it(char):
    tokenizer, train, test = char
    model = ngram(tokenizer, train, order=4)
    ids = test.tokens[:12].copy()[None]
    before, _ = model.score(ids, model.start(1))
    ids[0, 7] = 3 if ids[0, 7] != 3 else 4
    after, _ = model.score(ids, model.start(1))
    assert after[0, :7].tolist() == before[0, :7].tolist()
    assert after[0, 7] != before[0, 7]


def line_probabilities(model, longest):
    """Mass of all lines of at most `longest` tokens, and of what is longer."""
    events = [i for i in range(len(model.vocabulary)) if i not in (BEGIN, END)]
    ended = 0.0
    for length in range(longest + 1):
        rows = np.array(list(itertools.product(events, repeat=length)), dtype=np.int64)
        rows = rows.reshape(len(events) ** length, length)
        with_end = np.concatenate([rows, np.full((len(rows), 1), END)], axis=1)
        nats, _ = model.score(with_end, model.start(len(rows)))
        ended += float(np.exp(-nats.sum(axis=1)).sum())
    rows = np.array(list(itertools.product(events, repeat=longest + 1)))
    nats, _ = model.score(rows, model.start(len(rows)))
    return ended, float(np.exp(-nats.sum(axis=1)).sum())


@pytest.mark.parametrize("order", [1, 2, 3])
def test_all_lines_together_have_probability_one(char, word, order):
    """Over token sequences, `<unk>` one of them; its strings share its mass (see spelling)."""
    for tokenizer, train, _ in (char, word):
        ended, longer = line_probabilities(ngram(tokenizer, train, order=order), 4)
        assert 0.2 < ended < 1
        assert ended + longer == pytest.approx(1, rel=1e-12)


def test_all_texts_of_words_have_at_most_probability_one(word):
    """All canonical lines of a, b and spaces, spelling paid: less than 1, growing with length."""
    tokenizer, train, _ = word
    model = ngram(tokenizer, train, order=2)
    tok, dropped = store.train(column(TRAIN), WordConfig("word", minimum_frequency=2))
    spelling = train_spelling(dropped, tok.vocabulary, "word")
    sums = []
    for longest in (3, 6, 9):
        texts = {
            " ".join("".join(letters).split())
            for length in range(longest + 1)
            for letters in itertools.product("ab ", repeat=length)
        }
        encoded = tok.encode(column(sorted(texts)))
        total = 0.0
        bills = iter(spelling.nats(encoded.unknown_texts))
        for a, b in itertools.pairwise(encoded.offsets):
            ids = np.append(encoded.ids[a:b], END).astype(np.int64)
            nats, _ = model.score(ids[None], model.start(1))
            total += math.exp(-nats.sum() - sum(next(bills) for i in ids if i == 0))
        sums.append(total)
    assert sums[0] < sums[1] < sums[2] < 1
    assert sums[2] > 0.7


def test_all_texts_of_subwords_have_at_most_probability_one():
    lines = ["abab ab", "aab abab", "abab abab ba"] * 6
    more = ["the quick brown fox", "jumps over lazy dogs"]
    tokenizer, _ = store.train(column([*lines, *more]), SubwordConfig("subword", 300))
    encoded = tokenizer.encode(column(lines))
    ids, offsets = with_line_ends(encoded.ids, encoded.offsets)
    config = NgramConfig(tokenizer="x", method="kneser_ney", order=2)
    model = estimate(ids, offsets, tokenizer.vocabulary, config)
    state = model.start(1)
    assert np.exp(model.distribution(state)).sum() == pytest.approx(1, rel=1e-9)
    total = 0.0
    for length in range(9):
        for letters in itertools.product("ab ", repeat=length):
            row = np.array([[*encode_line(tokenizer, "".join(letters)), END]])
            nats, _ = model.score(row, model.start(1))
            total += math.exp(-nats.sum())
    assert 0.1 < total < 1


def test_units_by_hand():
    """Two lines, 70 tokens of 4 nats and 5 of 9: perplexity exp(325/75), not a mean of means."""
    lines = Lines(
        tokens=np.full(75, 3, np.uint16), offsets=np.array([0, 70, 75]), doc=np.zeros(2, np.int32),
        n_bytes=np.array([300, 25]), n_characters=np.array([290, 25]), n_words=np.array([60, 4]),
        n_unknown=np.array([2, 0]), nats_spelling=np.array([30.0, 0.0]),
    )  # fmt: skip
    nats = np.concatenate([np.full(70, 4.0), np.full(5, 9.0)])
    numbers = measure(scores_table(lines, nats))
    assert numbers["perplexity"] == pytest.approx(76.197857, rel=1e-7)
    assert numbers["bits_per_byte"] == pytest.approx(355 / 325 / math.log(2))
    assert numbers["bits_per_character"] == pytest.approx(355 / 315 / math.log(2))
    assert numbers["word_perplexity"] == pytest.approx(math.exp(355 / 66))
    assert (numbers["tokens"], numbers["words"], numbers["unknown"]) == (75, 66, 2)
    assert numbers["unknown_rate"] == pytest.approx(2 / 75)


def test_an_impossible_token_is_null_not_infinity():
    ones = np.ones(1, np.int64)
    lines = Lines(
        tokens=np.array([2], np.uint16), offsets=np.array([0, 1]), doc=np.zeros(1, np.int32),
        n_bytes=ones, n_characters=ones, n_words=0 * ones, n_unknown=0 * ones,
        nats_spelling=np.zeros(1),
    )  # fmt: skip
    numbers = measure(scores_table(lines, np.array([np.inf])))
    assert numbers["bits_per_byte"] is None
    assert numbers["perplexity"] is None
    assert measure(scores_table(lines, np.array([800.0])))["perplexity"] is None


def test_mixture_weight_is_the_maximum_of_the_likelihood():
    rng = np.random.default_rng(5)
    first, second = rng.gamma(2, 2, 500), rng.gamma(2, 2, 500)
    weight = fit_weight(first, second)
    best = mix(first, second, weight).sum()
    for other in np.linspace(0.001, 0.999, 400):
        assert best <= mix(first, second, other).sum() + 1e-9
    assert mix(first, second, 0.25) == pytest.approx(
        -np.log(0.25 * np.exp(-first) + 0.75 * np.exp(-second))
    )


@pytest.mark.parametrize(("better", "limit"), [(0.1, 1.0), (-0.1, 0.0)])
def test_mixture_with_a_model_that_is_always_better_takes_it_alone(better, limit):
    first = np.full(100, 3.0)
    assert fit_weight(first, first + better) == pytest.approx(limit, abs=1e-11)


def test_a_weight_is_fitted_on_what_either_model_can_give():
    inf = np.inf
    first, second = np.array([1.0, inf, inf, 2.0]), np.array([inf, 1.0, inf, inf])
    # Of three tokens that are possible the first model gives two, the second one.
    assert fit_weight(first, second) == pytest.approx(2 / 3, abs=1e-11)
    with pytest.raises(ValueError, match="neither model can give any"):
        fit_weight(np.full(3, inf), np.full(3, inf))
    with pytest.raises(ValueError, match="neither model can give any"):
        fit_weight(np.zeros(0), np.zeros(0))


def test_scores_keep_their_lines_under_other_nats(char):
    _, _, test = char
    nats = np.linspace(0.1, 5, len(test.tokens))
    table = scores_table(test, nats)
    doubled = with_nats(table, 2 * nats)
    assert flat_nats(doubled) == pytest.approx(2 * nats)
    assert doubled["nats_tokens"].to_numpy() == pytest.approx(2 * table["nats_tokens"].to_numpy())
    assert doubled["bytes"].to_pylist() == table["bytes"].to_pylist()


def test_a_stream_that_has_ended_costs_nothing_more(word):
    tokenizer, train, test = word
    model = ngram(tokenizer, train, order=2)
    positions = 0

    class Counting:
        vocabulary = model.vocabulary
        start = staticmethod(model.start)

        def score(self, ids_BT, state):
            nonlocal positions
            positions += ids_BT.size
            return model.score(ids_BT, state)

    nats = token_nats(Counting(), test, chunk=1)
    assert positions == len(test.tokens)
    assert nats == pytest.approx(token_nats(model, test, streams=1), abs=1e-12)


def test_chunks_end_where_documents_do(word):
    """Little is scored that is no token: at most a quarter of a chunk for each document."""
    tokenizer, train, _ = word
    model = ngram(tokenizer, train, order=2)
    lengths, asked = [500, 320, 319, 40, 1], []

    class Asked:
        vocabulary = model.vocabulary
        start = staticmethod(model.start)

        def score(self, ids_BT, state):
            asked.append(ids_BT.shape)
            return model.score(ids_BT, state)

    offsets = np.cumsum([0, *lengths])
    lines = SimpleNamespace(tokens=np.full(sum(lengths), END), doc_offsets=offsets)
    assert len(token_nats(Asked(), lines, chunk=128)) == sum(lengths)
    assert asked == [(5, 32), (4, 32), (3, 128), (3, 127), (2, 32), (1, 128), (1, 21)]
