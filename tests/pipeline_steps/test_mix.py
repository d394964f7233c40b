"""What a mixture takes over from its parts."""

from pipeline_steps.mix import reasons_of
from textmill.scoring.comparison import IMPOSSIBLE, ROUNDED


def test_what_is_impossible_to_one_part_alone_does_not_count_against_the_mixture():
    fine, zero = {"name": "a", "why_not": None}, {"name": "b", "why_not": IMPOSSIBLE}
    assert reasons_of([fine, zero]) is None


def test_other_reasons_do():
    parts = [{"name": "a", "why_not": "lossy"}, {"name": "b", "why_not": ROUNDED}]
    assert reasons_of(parts) == f"a: lossy; b: {ROUNDED}"
