"""N-gram counts against a Counter, and the fit on data whose exponent is known."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textmill.tokenizers import ngram_table
from textmill.tokenizers.ngram_table import NgramTable
from textmill.tokenizers.strings import offsets_of
from textmill.tokenizers.zipf import fit_zipf, spaced, zipf_rows


def columns(lines):
    flat = np.array([one for line in lines for one in line], np.uint16)
    return flat, offsets_of(np.array([len(line) for line in lines], np.int64))


@pytest.mark.parametrize("dense", [1 << 24, 0])
@pytest.mark.parametrize("block", [1 << 23, 3])
@pytest.mark.parametrize("order", [1, 2, 3])
@given(lines=st.lists(st.lists(st.integers(0, 4), max_size=9), max_size=9), cut=st.integers(0, 9))
def test_counts_are_those_of_a_counter(order, block, dense, lines, cut):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngram_table, "_TOKENS_A_BLOCK", block)
        patch.setattr(ngram_table, "_DENSE", dense)
        table = NgramTable(order, 5)
        table.add(*columns(lines[:cut]))
        table.add(*columns(lines[cut:]))
    counter = Counter(
        tuple(line[i : i + order]) for line in lines for i in range(len(line) - order + 1)
    )
    assert table.falling().tolist() == sorted(counter.values(), reverse=True)


def test_trigrams_of_a_large_vocabulary_are_told_apart():
    size = 2_000_000
    table = NgramTable(3, size)
    ids = np.array(
        [size - 1, size - 1, size - 1, size - 2, size - 1, size - 1, size - 1], np.uint32
    )
    table.add(ids, np.array([0, 7]))
    assert table.falling().tolist() == [2, 1, 1, 1]


@pytest.mark.parametrize("exponent", [0.6, 1.0, 1.7])
def test_an_exact_power_law_gives_its_exponent(exponent):
    ranks = np.arange(1, 20_001)
    fit = fit_zipf(np.floor(1e12 * ranks**-exponent).astype(np.int64))
    assert fit.exponent == pytest.approx(exponent, abs=2e-4)
    assert fit.r2 == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("exponent", [0.8, 1.1])
def test_a_drawn_sample_gives_about_its_exponent(exponent):
    """A million draws from a Zipf distribution over 50,000 types, as a text is one draw."""
    rng = np.random.default_rng(7)
    chances = np.arange(1, 50_001.0) ** -exponent
    drawn = rng.multinomial(1_000_000, chances / chances.sum())
    fit = fit_zipf(np.sort(drawn)[::-1])
    assert fit.exponent == pytest.approx(exponent, abs=0.03)
    assert fit.r2 > 0.99


def test_the_slope_is_that_of_least_squares():
    falling = np.array([500, 300, 120, 100, 90, 40, 33, 30, 21, 15, 12, 10, 9, 1, 1])
    ranks = np.arange(1, 13)
    slope, _ = np.polyfit(np.log10(ranks), np.log10(falling[:12]), 1)
    fit = fit_zipf(falling)
    assert fit.ranks == 12  # the last with a count of 10
    assert fit.exponent == pytest.approx(-slope, rel=1e-12)
    r = np.corrcoef(np.log10(ranks), np.log10(falling[:12]))[0, 1]
    assert fit.r2 == pytest.approx(r**2, rel=1e-12)


def test_too_few_ranks_give_no_exponent():
    assert fit_zipf(np.array([90] * 9 + [9] * 50)) is None
    assert fit_zipf(np.zeros(0, np.int64)) is None


def test_spaced_ranks_begin_at_one_end_at_the_last_and_thin_out():
    ranks = spaced(10_000)
    assert (ranks[0], ranks[-1]) == (1, 10_000)
    assert np.all(np.diff(ranks) > 0)
    assert np.count_nonzero(ranks > 1000) == 20
    assert spaced(1).tolist() == [1]
    assert spaced(0).tolist() == []


def test_rows_hold_rank_and_count():
    rows = zipf_rows(2, np.array([1000, 100, 10]))
    assert [(row["rank"], row["count"]) for row in rows] == [(1, 1000), (2, 100), (3, 10)]
    assert rows[1] == {
        "order": 2, "rank": 2, "count": 100, "log10_rank": 0.301, "log10_count": 2.0,
    }  # fmt: skip
