import re
from typing import Any

import pytest

from tests.text.cleaning import LISTS, clean, cleaned_texts, steps_of
from textmill.base.errors import UserError
from textmill.text.documents import Document
from textmill.text.profiles import Profiles
from textmill.text.steps import RULES


def names(cleaning: Any) -> list[str]:
    return [step.name for step in steps_of(cleaning)]


def test_a_profile_is_its_list_of_rules_alone_or_in_a_list() -> None:
    assert names("plain") == LISTS["plain"]
    assert names(["plain", "footnote_digits"]) == names("sotu")
    assert names(["line_ends", "white_space"]) == ["line_ends", "white_space"]
    for profile in LISTS:
        assert set(names(profile)) <= set(RULES)


def test_rules_run_in_the_order_of_the_list_and_are_named_with_their_parameters() -> None:
    cleaning = ["d2l", {"line_length": {"min_words": 2}}, {"document_length": {"max_words": 3}}]
    kept, books = cleaned_texts(cleaning, "One, two!\n3\nfour\n", "a b c d\n")
    assert kept == ["one two\n\n"]
    assert [record["rule"] for record in books[2:]] == [
        "line length (min_words 2)",
        "document length (max_words 3)",
    ]
    assert books[2]["lines"]["dropped"] == 1
    assert books[3]["documents"] == {"in": 2, "out": 1, "dropped": 1}


@pytest.mark.parametrize(
    ("cleaning", "words"),
    [
        ("plane", 'cleaning: no profile "plane"; did you mean "plain"? (there are: plain, sotu'),
        (["plain", "blank_line"], 'no rule or profile "blank_line"; did you mean "blank_lines"?'),
        (["plain", {"line_length": {"max_word": 3}}], 'did you mean "max_words"? (it takes min_'),
        (["plain", {"line_length": {"max_words": "3"}}], "line_length.max_words: Input should be"),
        (["plain", {"line_length": {"min_words": 5, "max_words": 3}}], "the minimum 5 is above"),
        (["plain", "line_length"], "line_length: needs a limit above 0"),
        (["plain", {"blank_lines": {"keep": 1}}], "blank_lines takes no parameters"),
        (["plain", {"duplicate_documents": {"x": 1}}], "(it takes none)"),
        (["plain", {"character_share": {"of": "letter", "min": 0.5}}], "character_share.of: "),
        (["plain", {"near_duplicates": {"threshold": 1.5}}], "threshold: lies from 0.1 to below 1"),
        (["plain", {"near_duplicates": {"unit": "letters"}}], "near_duplicates.unit: Input should"),
        (["plain", "my package:rule"], "is no import path of the form package.module:function"),
        (["blank_lines", "plain"], "must begin with line_ends"),
        (["line_ends", "blank_lines"], "white_space is missing"),
        (["plain", 5], "5 is neither a name nor"),
        ([], "needs the name of a profile, or a list of rules, and is []\n  -> cleaning: plain"),
        (None, "or a list of rules, and is empty\n  -> cleaning: plain"),
        ("my_rules:x", 'a rule stands in a list\n  -> cleaning: [plain, "my_rules:x"]'),
        ("my_rules.x", 'a rule stands in a list\n  -> cleaning: [plain, "my_rules:x"]'),
        ("blank_lines", "a rule stands in a list\n  -> cleaning: [plain, blank_lines]"),
        (["plain", "my_rules.drop"], "a colon before the function: my_rules:drop"),
        (["plain", "a.b.drop"], "a colon before the function: a.b:drop"),
        (["blank_lines", "plain"], "\n  -> put line_ends before blank_lines"),
    ],
)
def test_a_bad_entry_is_refused_with_what_would_do(cleaning: Any, words: str) -> None:
    with pytest.raises(UserError, match=r"^cleaning: ") as caught:
        steps_of(cleaning)
    assert words in str(caught.value)


def test_another_normal_form_takes_the_place_of_c_or_none_does() -> None:
    text = "\ufb01ne e\u0301 é\n"
    expected = {"NFC": "\ufb01ne é é\n", "NFD": "\ufb01ne e\u0301 e\u0301\n", "NFKC": "fine é é\n"}
    expected |= {"NFKD": "fine e\u0301 e\u0301\n", "none": text}
    for form, wanted in expected.items():
        kept, books = clean([Document("x", "x", text)], "plain", normal_form=form)
        assert kept[0].text == wanted
        reasons = {reason for record in books for reason in record["reasons"]}
        assert reasons == ({f"not in form {form[2:]}"} if form != "none" else set())
    with pytest.raises(UserError, match="normal_form: no rule normal_form in the cleaning"):
        steps_of("d2l", "NFD")


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ({"mine": ["plane"]}, 'mine: no rule or profile "plane"; did you mean "plain"?'),
        ({"a": ["b"], "b": ["plain", "a"]}, "a: the profile a holds itself (a -> b -> a)"),
        ({"a": ["a"]}, "a: the profile a holds itself (a -> a)"),
        (
            {"blank_lines": ["line_ends"]},
            "blank_lines: is the name of a rule\n  -> give the profile another one: my_blank_lines",
        ),
        (
            {"mine": None},
            "mine: a profile is a list of rules and profiles, not empty\n  -> mine: [",
        ),
        ({"x": ["a"], "a": ["b"], "b": ["a"]}, "a: the profile a holds itself (a -> b -> a)\n"),
        (
            {f"p{n}": [f"p{(n + 1) % 5_000}"] for n in range(5_000)},
            "p0: the profile p0 holds itself (p0 -> p1 -> p2 -> p3 -> p4 -> 4995 more -> p0)\n",
        ),
        (
            {f"p{n}": [f"p{n + 1}"] * 2 for n in range(40)} | {"p40": ["plain"]},
            "p32: with the profiles in it, it has more than 1,000 rules\n  -> hold each",
        ),
        ({"a:b": ["line_ends"]}, "a:b: a profile's name has letters, digits and _ alone"),
        ({5: ["line_ends"]}, "5: a profile's name has letters"),
        ({"mine": []}, "mine: a profile is a list of rules and profiles, not []"),
        ({"mine": "plain"}, "mine: a profile is a list of rules and profiles, not 'plain'"),
        ({"mine": [{"plain": {"x": 1}}]}, "mine: plain is a profile and takes no parameters"),
        ({"mine": [{"line_length": {"max_word": 3}}]}, 'mine: line_length has no parameter "max_w'),
        ({"mine": ["my package:rule"]}, 'mine: "my package:rule" is no import path'),
    ],
)
def test_a_bad_profile_is_refused_by_its_name(lists: dict[Any, Any], words: str) -> None:
    with pytest.raises(UserError, match="^" + re.escape(words)):
        Profiles(LISTS | lists)


def test_profiles_nest_as_deep_as_one_likes() -> None:
    deep = {f"p{n}": [f"p{n + 1}"] for n in range(5_000)} | {"p5000": ["plain"]}
    assert [step.name for step in Profiles(LISTS | deep).steps("p0")] == LISTS["plain"]
