"""Numbers as people read them."""

import pytest

from textmill.reports import wording


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        (wording.bits, 1.4934, "1.493"),
        (wording.bits, None, wording.ABSENT),
        (wording.bits, 999.9, "999.900"),
        (wording.bits, 1.41e28, "1.4e+28"),
        (wording.bits_more, 1.41e28, "1.4e+28"),
        (wording.bits_more, 0.0561, "0.056"),
        (wording.bits_more, -0.0301, "-0.030"),
        (wording.bits_more, -0.0001, "0.000"),
        (wording.perplexity, 3.804, "3.80"),
        (wording.perplexity, 9.996, "10.0"),
        (wording.perplexity, 57.31, "57.3"),
        (wording.perplexity, 99.96, "100"),
        (wording.perplexity, 1234.4, "1,234"),
        (wording.perplexity, 2.0412e11, "2.04e+11"),
        (wording.percent, 0.0, "0"),
        (wording.percent, 0.00001, "< 0.01 %"),
        (wording.percent, 0.00412, "0.41 %"),
        (wording.percent, 0.0412, "4.1 %"),
        (wording.percent, 0.374, "37 %"),
        (wording.amount, 0, "0"),
        (wording.amount, 812, "812"),
        (wording.amount, 999, "999"),
        (wording.amount, 34_500, "34.5 k"),
        (wording.amount, 999_600, "1.00 M"),
        (wording.amount, 3_904_000, "3.90 M"),
        (wording.size, 812, "812 B"),
        (wording.size, 37_020_000, "37.0 MB"),
        (wording.size, 2_345_000_000, "2.35 GB"),
        (wording.size, None, wording.ABSENT),
        (wording.duration, 0.44, "0.4 s"),
        (wording.duration, 47.6, "48 s"),
        (wording.duration, 59.7, "1 min 00 s"),
        (wording.duration, 200.0, "3 min 20 s"),
        (wording.duration, 3_840.0, "1 h 04 min"),
        (wording.duration, None, wording.ABSENT),
    ],
)
def test_number(function, value, expected):
    assert function(value) == expected
