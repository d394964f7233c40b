"""What holds for every method: sums, streams, chunks, causality."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.tokenizers.vocabulary import BEGIN, END

LINES = [
    "the mill turns the wheel",
    "the wheel turns",
    "",
    "the old mill turns the old wheel",
    "a b a b a b",
    "b",
]
METHODS = {
    "uniform": {"method": "uniform"},
    "unigram": {"method": "additive", "order": 1, "k": 0.1},
    "bigram": {"method": "additive", "order": 2, "k": 0.1},
    "trigram": {"method": "additive", "order": 3, "k": 1.0},
    "kn1": {"method": "kneser_ney", "order": 1},
    "kn2": {"method": "kneser_ney", "order": 2, "interpolate_unigrams": False},
    "kn3": {"method": "kneser_ney", "order": 3, "event_space": "observed"},
    "kn5": {"method": "kneser_ney", "order": 5},
    "kn9": {"method": "kneser_ney", "order": 9},
    "plain kn4": {"method": "kneser_ney", "order": 4, "modified": False},
    "cut kn4": {"method": "kneser_ney", "order": 4, "cutoffs": (0, 0, 1)},
    "running kn4": {"method": "kneser_ney", "order": 4, "sentence_boundaries": False},
    "likelihood": {"method": "maximum_likelihood", "order": 2},
    "likelihood3": {"method": "maximum_likelihood", "order": 3},
    "absolute": {"method": "absolute_discounting", "order": 3},
    "witten_bell": {"method": "witten_bell", "order": 4, "event_space": "observed"},
    "cut witten_bell": {"method": "witten_bell", "order": 3, "cutoffs": (0, 1)},
    "good_turing": {"method": "good_turing", "order": 3},
    "good_turing1": {"method": "good_turing", "order": 1},
    "pruned kn4": {"method": "kneser_ney", "order": 4, "prune_threshold": 0.002},
    "pruned katz": {"method": "good_turing", "order": 3, "prune_to": 20},
    "jelinek_mercer": {"method": "jelinek_mercer", "order": 3},
}


@pytest.fixture(scope="module")
def models(train):
    return {name: train(LINES, **options) for name, options in METHODS.items()}


N_IDS = 10
ids = st.integers(0, N_IDS - 1)
histories = st.lists(ids.filter(BEGIN.__ne__), max_size=12)


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=40, deadline=None)
@given(history=histories)
def test_sums_to_one_and_equals_the_scores(models, name, history):
    model = models[name]
    assert model.size == N_IDS
    state = model.start(1)
    if history:
        _, state = model.score(np.array([history]), state)
    log_p = model.distribution(state)[0]
    assert np.exp(log_p).sum() == pytest.approx(1, abs=1e-12)
    assert log_p[BEGIN] == -np.inf
    nats, _ = model.score(np.arange(N_IDS)[:, None], np.repeat(state, N_IDS, axis=0))
    np.testing.assert_allclose(-nats[:, 0], log_p, rtol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_all_streams_of_four_tokens_sum_to_one(models, name):
    model = models[name]
    events = [event for event in range(N_IDS) if event != BEGIN]
    streams = np.array(list(itertools.product(events, repeat=4)))
    nats, _ = model.score(streams, model.start(len(streams)))
    assert np.exp(-nats.sum(axis=1)).sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=25, deadline=None)
@given(
    stream=st.lists(ids.filter(BEGIN.__ne__), min_size=2, max_size=30),
    cuts=st.sets(st.integers(1, 29), max_size=6),
)
def test_chunks_and_batches_change_nothing(models, name, stream, cuts):
    model = models[name]
    stream = np.array(stream, dtype=np.uint16)
    whole, end = model.score(stream[None, :], model.start(1))
    state, parts = model.start(1), []
    for chunk in np.split(stream, sorted(cut for cut in cuts if cut < len(stream))):
        nats, state = model.score(chunk[None, :], state)
        parts.append(nats)
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-12)
    np.testing.assert_array_equal(state, end)
    beside = np.stack([stream[::-1], stream, np.full_like(stream, END)])
    in_a_batch, _ = model.score(beside, model.start(3))
    np.testing.assert_allclose(in_a_batch[1], whole[0], rtol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_a_changed_token_changes_no_score_before_it(models, name):
    model = models[name]
    stream = np.array([[3, 4, 5, 3, 6, END, 3, 7, 4, 5, END]])
    before, _ = model.score(stream, model.start(1))
    changed = stream.copy()
    changed[0, 6] = 9
    after, _ = model.score(changed, model.start(1))
    np.testing.assert_array_equal(after[:, :6], before[:, :6])
    same = ("uniform", "likelihood", "likelihood3")  # these know nothing of id 9
    assert name in same or after[0, 6] != before[0, 6]


@pytest.mark.parametrize("name", [name for name in METHODS if name != "running kn4"])
def test_a_line_end_forgets_the_line(models, name):
    model = models[name]
    _, state = model.score(np.array([[3, 4, 5, END]]), model.start(1))
    np.testing.assert_array_equal(model.distribution(state), model.distribution(model.start(1)))


def test_state_is_the_last_ids_and_starts_with_begin(models):
    model = models["kn5"]
    assert model.start(2).tolist() == [[BEGIN] * 4] * 2
    _, state = model.score(np.array([[3, 4]]), model.start(1))
    assert state.tolist() == [[BEGIN, BEGIN, 3, 4]]
    _, state = model.score(np.array([[5, END, 6]]), state)
    assert state.tolist() == [[4, 5, END, 6]]


def test_scoring_nothing_changes_nothing(models):
    model = models["kn3"]
    state = np.array([[3, 4]])
    nats, after = model.score(np.empty((1, 0), dtype=np.int64), state)
    assert nats.shape == (1, 0)
    assert after.tolist() == state.tolist()


@pytest.mark.parametrize("outside", [-1, N_IDS])
def test_ids_outside_the_vocabulary_are_refused(models, outside):
    model = models["kn3"]
    with pytest.raises(ValueError, match="outside the vocabulary of 10"):
        model.score(np.array([[3, outside]]), model.start(1))


def test_begin_is_never_predicted(models):
    nats, _ = models["kn3"].score(np.array([[BEGIN]]), models["kn3"].start(1))
    assert nats[0, 0] == np.inf
