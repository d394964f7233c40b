"""The weights of Jelinek-Mercer are those that serve the model best that is built of them."""

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.ngram.config import NgramConfig
from textmill.ngram.count import count_ngrams, sentence_stream
from textmill.ngram.estimate import estimate
from textmill.ngram.model import NgramModel
from textmill.ngram.smoothing.interpolation import Unigrams
from textmill.ngram.smoothing.jelinek_mercer import LEAST, MOST, jelinek_mercer
from textmill.ngram.tables import pack
from textmill.tokenizers.vocabulary import END, UNKNOWN, from_tokens

LINES = [[3, 4, 5], [3, 4, 3, 4], [5, 5, 4], [3], [4, 5, 3, 4, 5]] * 2 + [[5, 3, 3], [4, 4]]
HELD_OUT = [[3, 4, 5, 6], [4, UNKNOWN, 4, 5, 3, 3], [], [5, 3, 4, 5, 5, 6]]
CASES = [
    {"interpolate_unigrams": interpolate, "event_space": events, "cutoffs": cutoffs}
    for interpolate in (True, False)
    for events in ("all", "observed")
    for cutoffs in ((), (0, 3))
]


def columns(lines):
    tokens = np.array([token for line in lines for token in [*line, END]], dtype=np.uint16)
    return tokens, np.cumsum([0] + [len(line) + 1 for line in lines])


@pytest.fixture
def vocabulary():
    return from_tokens(["a", "b", "c", "d"], scheme="test")[0]


def nats_of(weights, vocabulary, config, held_out):
    """What the model of these weights charges the held-out text, its impossible tokens left out."""
    size = len(vocabulary)
    counts = count_ngrams(sentence_stream(*columns(LINES), size), size, config.order)
    unigrams = Unigrams(config.event_space, config.interpolate_unigrams)
    orders = list(pack(jelinek_mercer(counts, weights, unigrams, config.cutoffs), "double"))
    model = NgramModel(vocabulary, config, orders, ngrams=(0,) * config.order)
    nats = model.score(held_out[0][None, :], model.start(1))[0]
    return nats[np.isfinite(nats)].sum()


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_no_weight_can_be_moved_without_costing_more(vocabulary, case, order):
    config = NgramConfig("test", "jelinek_mercer", order, **case)
    held_out = columns(HELD_OUT)
    model = estimate(*columns(LINES), vocabulary, config, held_out=held_out)
    fitted = np.array(model.discounts)[:, 0]
    best = nats_of(fitted, vocabulary, config, held_out)
    for n in range(order):
        for step in (-0.1, -1e-3, 1e-3, 0.1):
            moved = fitted.copy()
            moved[n] = np.clip(moved[n] + step, LEAST, MOST)
            assert moved[n] == fitted[n] or nats_of(moved, vocabulary, config, held_out) > best


def test_unigram_weights_by_hand(vocabulary):
    """Of order 1 a seen word costs -ln(w c / N + (1 - w) floor), an unseen one -ln((1 - w) floor).

    Where the unseen ids alone take what is freed, the best w is the share of tokens that were seen.
    """
    held_out = columns(HELD_OUT)
    seen = np.isin(held_out[0], [END, 3, 4, 5]).mean()
    options = {"interpolate_unigrams": False, "event_space": "all"}
    config = NgramConfig("test", "jelinek_mercer", 1, **options)
    model = estimate(*columns(LINES), vocabulary, config, held_out=held_out)
    assert model.discounts == ((pytest.approx(seen, rel=1e-6),),)


def test_what_the_model_calls_impossible_changes_no_weight(vocabulary):
    """Of the types that were observed, id 6 is none."""
    config = NgramConfig("test", "jelinek_mercer", 1, event_space="observed")
    lines = [[one for one in line if one != 6] for line in HELD_OUT]
    fitted = [
        estimate(*columns(LINES), vocabulary, config, held_out=columns(text)).discounts
        for text in (lines, HELD_OUT)
    ]
    assert fitted[0] == fitted[1]
    assert fitted[0] != ((0.5,),)


def test_validation_text_is_wanted(encode):
    *text, vocabulary = encode(["a b"])
    with pytest.raises(UserError, match="fits its weights on validation text"):
        estimate(*text, vocabulary, NgramConfig("word", "jelinek_mercer", 2))
