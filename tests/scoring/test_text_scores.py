"""Perplexities as SRILM prints them, from the totals that it prints beside them."""

import math

import pytest

from textmill.scoring.text_scores import srilm_perplexities


@pytest.mark.parametrize(
    ("sentences", "words", "unknown", "log10_p", "ppl", "ppl1"),
    [
        (206, 3277, 0, -10986.33, 1426.499, 2251.937),
        (206, 3277, 206, -9656.414, 884.5531, 1394.401),
        (10000, 118254, 0, -250951.4, 90.50555, 132.4765),
        (1, 9, 1, -20.406, 185.068, 355.426),
    ],
)
def test_blocks_that_srilm_printed(sentences, words, unknown, log10_p, ppl, ppl1):
    found = srilm_perplexities(-log10_p * math.log(10), words - unknown, sentences)
    assert found == pytest.approx((ppl, ppl1), rel=2e-5)


def test_of_nothing_that_is_known_there_is_none():
    assert srilm_perplexities(0.0, 0, 0) == (math.inf, math.inf)
