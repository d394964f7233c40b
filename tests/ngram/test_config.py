import pytest
from pydantic import TypeAdapter, ValidationError

from textmill.ngram.config import NgramConfig


def test_defaults_of_a_method_are_filled_and_the_others_stay_unset():
    config = NgramConfig("subword", "kneser_ney", order=5)
    assert (config.interpolate_unigrams, config.event_space, config.kenlm_compat) == (
        True,
        "all",
        False,
    )
    assert config.k is None
    additive = NgramConfig("word", "additive", order=2)
    assert additive.k == 1.0
    assert additive.interpolate_unigrams is None
    assert NgramConfig("char", "uniform").order == 1


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({"method": "kneser_ney", "order": 3, "k": 0.1}, "k does not belong to kneser_ney"),
        (
            {"method": "additive", "order": 2, "interpolate_unigrams": True},
            "interpolate_unigrams does not belong to additive",
        ),
        (
            {"method": "uniform", "event_space": "observed"},
            "event_space does not belong to uniform",
        ),
        ({"method": "uniform", "order": 2}, "order does not belong to uniform"),
        ({"method": "kneser_ney"}, "order must be given and at least 1"),
        ({"method": "additive", "order": -1}, "order must be given and at least 1"),
        ({"method": "additive", "order": 1, "k": 0.0}, "k must be above 0"),
        ({"method": "additive", "order": 1, "k": float("nan")}, "k must be above 0"),
        (
            {"method": "good_turing", "order": 3, "reliable_count": 1},
            "reliable_count must be 2 to 1,000, not 1: with 1, Good-Turing leaves nothing",
        ),
        ({"method": "katz", "order": 3}, "method must be one of"),
        ({"method": "additive", "order": 1, "k": 1e308}, "k must be above 0 and at most 1e"),
        (
            {"method": "good_turing", "order": 3, "reliable_count": 10**30},
            "reliable_count must be 2 to 1,000",
        ),
        (
            {"method": "kneser_ney", "order": 2, "cutoffs": (0, 10**30)},
            "cutoffs must be at most 1e",
        ),
    ],
)
def test_what_does_not_belong_together_is_refused_by_name(entry, named):
    with pytest.raises(ValueError, match=named):
        NgramConfig(tokenizer="word", **entry)


def test_pydantic_reads_an_entry_of_a_parameter_file():
    adapter = TypeAdapter(NgramConfig)
    entry = {"tokenizer": "subword", "method": "kneser_ney", "order": 5}
    assert adapter.validate_python(entry) == NgramConfig("subword", "kneser_ney", 5)
    with pytest.raises(ValidationError, match="k does not belong to kneser_ney"):
        adapter.validate_python(entry | {"k": 1.0})
