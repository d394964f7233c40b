"""Columns of bits: what goes in comes out, to the precision that was asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.ngram import unary
from textmill.ngram.columns import Column, of_ends, of_integers, of_numbers, quantised


@settings(max_examples=60, deadline=None)
@given(bits=st.integers(1, 40), rows=st.integers(0, 200), seed=st.integers(0, 9))
def test_integers_of_any_width(bits, rows, seed):
    values = np.random.default_rng(seed).integers(0, 1 << bits, rows)
    column = of_integers(values)
    assert column.bits == max(int(values.max(initial=0)).bit_length(), 1)
    assert len(column.data) == rows * column.bits // 64 + 2
    np.testing.assert_array_equal(column.integers(), values)


def test_double_is_exact_and_single_is_float32():
    values = np.concatenate([np.random.default_rng(0).random(1000), [0.0, 1.0, 5.5, 1e-30]])
    np.testing.assert_array_equal(of_numbers(values, "double").numbers(), values)
    single = of_numbers(values, "single")
    np.testing.assert_array_equal(single.numbers(), values.astype(np.float32))
    assert single.data.nbytes == (len(values) * 31 // 64 + 2) * 8


def test_codes_are_the_nearest_and_keep_0_and_1():
    random = np.random.default_rng(1)
    values = np.concatenate([10 ** random.uniform(-8, 0, 50_000), [0.0] * 7, [1.0] * 9])
    codes, numbers = quantised(values)
    assert len(codes) == 256
    decoded = codes[numbers]
    assert np.all(decoded[values == 0] == 0)
    assert np.all(decoded[values == 1] == 1)
    inner = (values > 0) & (values < 1)
    # 254 groups over 8 decades: half a group is 8 / 254 / 2 of a decade, twice that in the tails.
    assert np.abs(np.log10(decoded[inner] / values[inner])).max() < 8 / 254
    used = np.unique(codes[codes > 0])
    distance = np.abs(np.log(values[inner][:2000, None]) - np.log(used))
    nearest = used[distance.argmin(axis=1)]
    np.testing.assert_array_equal(decoded[inner][:2000], nearest)
    column = of_numbers(values, "coded")
    np.testing.assert_array_equal(column.numbers(), decoded)


def test_few_different_numbers_are_exact():
    values = np.repeat([0.0, 0.125, 0.25, 0.7, 1.0, 3.0], 9)
    np.testing.assert_array_equal(of_numbers(values, "coded").numbers(), values)


@pytest.mark.parametrize("precision", ["single", "coded"])
def test_a_model_in_fewer_bits_is_nearly_the_same(train, precision):
    lines = ["the mill turns the wheel", "the wheel turns", "", "the old mill turns"] * 3
    exact, smaller = (
        train(lines, method="witten_bell", order=3, precision=chosen)
        for chosen in ("double", precision)
    )
    assert smaller.orders[0].probabilities.bits == 31
    assert smaller.orders[1].probabilities.bits == {"single": 31, "coded": 8}[precision]
    stream = np.array([[3, 4, 5, 3, 6, 2, 3, 7, 4, 0, 2]])
    nats = [model.score(stream, model.start(1))[0] for model in (exact, smaller)]
    # So small a model has less than 254 different numbers an order: codes are exact too.
    np.testing.assert_allclose(nats[0], nats[1], rtol=1e-6)


def test_reading_takes_no_writable_array():
    column = Column(np.zeros(3, np.uint64), 8, 5, np.empty(0))
    assert not column.parts()[0].flags.writeable
    assert column.data.flags.writeable


@settings(max_examples=60, deadline=None)
@given(
    gaps=st.lists(
        st.one_of(st.integers(0, 3), st.integers(0, 70), st.integers(0, 3000)), max_size=400
    ),
    again=st.integers(1, 4),
)
def test_ends_in_unary_are_the_same_numbers(gaps, again):
    values = np.cumsum(np.array(gaps * again, np.int64))
    column = of_ends(values, "coded")
    np.testing.assert_array_equal(column.integers(), values)
    np.testing.assert_array_equal(of_ends(values, "single").integers(), values)
    assert unary.fits(column.data, len(values))
    assert not unary.fits(column.data[:-1], len(values))


def test_ends_in_unary_take_two_bits_and_a_little():
    values = np.cumsum(np.random.default_rng(0).poisson(1.0, 100_000))
    column = of_ends(values, "coded")
    assert 64 * len(column.data) / len(values) < 3
