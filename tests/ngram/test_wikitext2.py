"""Published perplexities: KenLM on WikiText-2, every digit it prints."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate

ARCHIVE = (
    Path(os.environ.get("TEXTMILL_TEST_DATA", Path(__file__).parents[2] / "../shared/data"))
    / "wikitext-2-v1.zip"
)


def lines_of_split(split):
    with zipfile.ZipFile(ARCHIVE) as archive:
        return archive.read(f"wikitext-2/wiki.{split}.tokens").decode().split("\n")[:-1]


@pytest.mark.skipif(not ARCHIVE.exists(), reason=f"WikiText-2 is not at {ARCHIVE}")
@pytest.mark.parametrize(
    ("keeps_blank_lines", "n_predicted", "perplexities"),
    [(True, 245_569, {3: "226.051", 5: "220.139"}), (False, 244_102, {3: "230.886", 5: "224.812"})],
)
def test_perplexity(encode, keeps_blank_lines, n_predicted, perplexities):
    training, test = (
        [line for line in lines_of_split(split) if keeps_blank_lines or line.strip()]
        for split in ("train", "test")
    )
    tokens, offsets, vocabulary = encode(training)
    predicted, _, _ = encode(test, vocabulary)
    assert len(predicted) == n_predicted
    for order, perplexity in perplexities.items():
        config = NgramConfig("word", "kneser_ney", order, event_space="observed")
        model = estimate(tokens, offsets, vocabulary, config)
        nats, _ = model.score(predicted[None, :], model.start(1))
        assert f"{np.exp(nats.mean()):.3f}" == perplexity
    assert model.ngrams[2:] == (1_398_959, 1_794_725, 1_914_265)
    np.testing.assert_allclose(model.discounts[0], (0.182087, 1.013643, 2.537775), atol=1e-6)
