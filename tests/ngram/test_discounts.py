import logging

import numpy as np
import pytest

from textmill.ngram.smoothing.discounts import FALLBACK, counts_of_counts, modified_discounts


def test_closed_form():
    # Y = 6 / (6 + 2 * 3) = 1/2; D1 = 1 - 2 Y 3/6, D2 = 2 - 3 Y 2/3, D3+ = 3 - 4 Y 1/2.
    n = counts_of_counts(np.repeat([0, 1, 2, 3, 4, 5, 900], [9, 6, 3, 2, 1, 4, 2]))
    assert n.tolist() == [6, 3, 2, 1]
    np.testing.assert_allclose(modified_discounts(2, n), [0.5, 1.0, 2.0], rtol=1e-15)


def test_a_missing_count_of_4_is_no_trouble(caplog):
    np.testing.assert_allclose(modified_discounts(2, np.array([6, 3, 2, 0]))[2], 3.0)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("n", "named"),
    [
        ([9, 4, 0, 2], "order 3: no n-gram has an adjusted count of 3"),
        ([0, 4, 3, 2], "order 3: no n-gram has an adjusted count of 1"),
        # Y = 1/2, D2 = 2 - 1.5 * 16 / 5 = -2.8, and D3+ = 3 - 2 * 40 / 1 is not reached.
        ([10, 5, 16, 40], "order 3: the discount of count 2 is -2.8, outside 0 to 2"),
    ],
)
def test_the_fallback_names_order_count_and_value(n, named, caplog):
    assert modified_discounts(3, np.array(n)).tolist() == list(FALLBACK)
    assert named in caplog.text
    assert "this order alone takes the discounts 0.5, 1.0, 1.5" in caplog.text


def test_on_characters_only_failing_orders_fall_back(train, caplog):
    text = "the miller opened the mill at dawn and the river turned the wheel of the old mill "
    lines = [" ".join((text * 3)[i : i + 40].replace(" ", "_")) for i in range(0, 160, 7)]
    with caplog.at_level(logging.WARNING, logger="textmill.ngram"):
        model = train(lines, method="kneser_ney", order=4)
    fallen = [n for n, discounts in enumerate(model.discounts, start=1) if discounts == FALLBACK]
    assert fallen == [record.args[0] for record in caplog.records]
    assert 1 in fallen
    assert len(fallen) < 4
