import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.text.cleaning import LISTS, clean, steps_of
from textmill.base.errors import UserError
from textmill.text.documents import Document
from textmill.text.profiles import Profiles
from textmill.text.steps import RULES

MODULE = """
from textmill.text.own_rules import Drop, for_lines

def drop_short(text, words=2):
    return Drop(f"fewer than {words} words") if len(text.split()) < words else None

def shout(text):
    return text.upper()

def first_line(text):
    return text[: text.index("\\n") + 1]

@for_lines
def no_numbers(line):
    return Drop("a number") if line.isdigit() else line.replace("colour", "color")

def broken(text):
    raise ZeroDivisionError("oh")

def no_answer(text):
    return True

def no_reason(text):
    return Drop("")

def returns(text):
    return text[:-1] + "\\r\\n"

@for_lines
def half(line):
    return line + "\\ud800"

def longer(text):
    return text + text

@for_lines
def doubled(line):
    return line.replace("one", "one ")

def indented(text):
    return "\\u3000" + text

@for_lines
def decomposed(line):
    return line.replace("é", "e\\u0301")

value = 5

class Most:
    made = []

    def __init__(self, words, of="document"):
        self.words, self.of, self.seen = words, of, 0
        self.made.append(self)
        if words < 1:
            raise ValueError("words must be 1 or more")

    def __call__(self, text):
        self.seen += 1
        return Drop(f"too long a {self.of}") if len(text.split()) > self.words else None

@for_lines
class MarkedClass(Most):
    pass

class MarkedCall(Most):
    @for_lines
    def __call__(self, line):
        return super().__call__(line)

class NotCallable:
    pass

class TwoTexts:
    def __call__(self, text, other):
        return None
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of one's own on the path."""
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package/__init__.py").write_text("")
    (tmp_path / "my_package/rules.py").write_text(MODULE)
    (tmp_path / "my_package/damaged.py").write_text("import nothing_of_this_name\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return "my_package.rules"


def cleaned(cleaning: Any, *texts: str) -> tuple[list[str], list[dict[str, Any]]]:
    came = [Document(str(i), str(i), text) for i, text in enumerate(texts)]
    kept, books = clean(came, cleaning)
    return [document.text for document in kept], books[1:-1]


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
    kept, books = cleaned(cleaning, "One, two!\n3\nfour\n", "a b c d\n")
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


def test_a_rule_of_ones_own_drops_documents_with_its_reason_or_rewrites(own: str) -> None:
    kept, books = cleaned(["plain", f"{own}:drop_short", f"{own}:shout"], "one\n", "one two\n")
    assert kept == ["ONE TWO\n"]
    assert books[-2]["reasons"] == {"fewer than 2 words": {"documents": 1, "examples": ["0: one "]}}
    assert books[-1]["rule"] == f"{own}:shout"
    kept, books = cleaned(["plain", {f"{own}:drop_short": {"words": 3}}], "a b\n", "a b c\n")
    assert kept == ["a b c\n"]
    assert books[-1]["rule"] == f"{own}:drop_short (words 3)"
    kept, books = cleaned(["plain", f"{own}:first_line"], "a\nb\nc\n")
    assert kept == ["a\n"]
    assert books[-1]["reasons"]["left out"]["lines"] == 2


def test_a_rule_of_ones_own_for_lines_is_asked_about_each(own: str) -> None:
    kept, books = cleaned(["plain", f"{own}:no_numbers"], "12\ncolour\n13\nred\n", "14\n")
    assert kept == ["color\nred\n"]
    assert books[-1]["lines"] == {"in": 5, "out": 2, "dropped": 3}
    assert books[-1]["reasons"] == {
        "a number": {"lines": 3, "examples": ["0: line 1: 12", "0: line 3: 13", "1: line 1: 14"]},
        "rewritten": {"changes": 1, "examples": ["0: line 2: colour"]},
    }


def test_a_class_is_made_once_of_its_parameters_and_asked_about_every_text(own: str) -> None:
    rule = {f"{own}:Most": {"words": 2}}
    kept, books = cleaned(["plain", rule], "a b\n", "a b c\n", "d\n")
    assert kept == ["a b\n", "d\n"]
    assert books[-1]["rule"] == f"{own}:Most (words 2)"
    assert books[-1]["reasons"]["too long a document"]["documents"] == 1
    (made,) = sys.modules[own].Most.made
    assert made.seen == 3


def test_what_a_rule_of_ones_own_rewrites_and_leaves_out_is_shown(own: str) -> None:
    _, books = cleaned(["plain", f"{own}:shout"], "A\nb\nc\n", "D\n", "e\n", "f\n", "g\n")
    examples = ["0: line 2: b", "2: line 1: e", "3: line 1: f"]
    assert books[-1]["reasons"] == {"rewritten": {"changes": 4, "examples": examples}}
    _, books = cleaned(["plain", f"{own}:first_line"], "a\nb\na\nc\nd\n")
    assert books[-1]["reasons"] == {
        "rewritten": {"changes": 1, "examples": ["0: line 2: b"]},
        "left out": {"lines": 4, "examples": ["0: a", "0: b", "0: c"]},
    }


def test_every_run_has_its_own_object_of_a_class(own: str) -> None:
    """What one run has seen is nothing to the next."""
    for _ in range(2):
        cleaned(["plain", {f"{own}:Most": {"words": 2}}], "a b\n")
    assert [made.seen for made in sys.modules[own].Most.made] == [1, 1]


@pytest.mark.parametrize("name", ["MarkedClass", "MarkedCall"])
def test_a_class_marked_for_lines_is_asked_about_each(own: str, name: str) -> None:
    rule = {f"{own}:{name}": {"words": 2, "of": "line"}}
    kept, books = cleaned(["plain", rule], "a b\na b c\nd\n")
    assert kept == ["a b\nd\n"]
    assert books[-1]["reasons"]["too long a line"]["lines"] == 1


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("Most", {}, "the rule cannot be made with {} (missing a required argument: 'words')"),
        ("Most", {"word": 2}, "cannot be made with {'word': 2}"),
        ("Most", {"words": 0}, "cannot be made (ValueError: words must be 1 or more)"),
        ("NotCallable", {}, "the class has no __call__"),
        ("TwoTexts", {}, "the rule cannot be called with a text and {} (missing a required"),
    ],
)
def test_a_class_that_cannot_be_a_rule_is_one_message(
    own: str, name: str, parameters: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError) as caught:
        cleaned(["plain", {f"{own}:{name}": parameters}], "a\n")
    assert str(caught.value).startswith(f"cleaning: {own}:{name}: ")
    assert words in str(caught.value)
    assert "\n  -> " in str(caught.value)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("no_such_package.rules:x", "the module no_such_package.rules cannot be imported (Module"),
        ("my_package.damaged:x", "cannot be imported (ModuleNotFoundError: No module named 'noth"),
        ("my_package.rules:drop_shirt", 'no function drop_shirt; did you mean "drop_short"?'),
        ("my_package.rules:value", "has no function value"),
        ("my_package.rules:broken", "the rule failed with ZeroDivisionError: oh"),
        ("my_package.rules:no_answer", "a rule answers None (keep), Drop(reason) or a text"),
        ("my_package.rules:longer", "a rewritten document has more lines than before"),
        ("my_package.rules:no_reason", "Drop needs a reason in words, not ''"),
        ("my_package.rules:returns", "its answer holds a carriage return"),
        ("my_package.rules:half", "UnicodeEncodeError"),
    ],
)
def test_a_rule_of_ones_own_that_fails_is_one_message(own: str, path: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        cleaned(["plain", path], "a\n")
    assert str(caught.value).startswith(f"cleaning: {path}: ")
    assert words in str(caught.value)
    assert "\n  -> " in str(caught.value)


@pytest.mark.parametrize(
    ("profile", "rules", "words", "mended"),
    [
        ("plain", "doubled", "line 2 of 0 became 'one  two'\n  -> return single", "one two"),
        ("plain", "indented", "line 1 of 0 became '\\u3000a'\n  -> return single", "one two"),
        ("d2l", "doubled", "line 2 of 0 became 'one  two'\n  -> return single", "one two"),
        ("plain", "decomposed", "NFC: line 3 of 0 became 'cafe\u0301'\n  -> put norm", "one two"),
        ("plain", "doubled shout", "my_package.rules:doubled or my_package.rules:shout", "ONE TWO"),
    ],
)
def test_a_rule_of_ones_own_that_breaks_what_a_cleaned_text_promises_is_named(
    own: str, profile: str, rules: str, words: str, mended: str
) -> None:
    text, cleaning = "a\none two\ncafé\n", [profile, *(f"{own}:{rule}" for rule in rules.split())]
    with pytest.raises(UserError, match=f"^cleaning: {own}:") as caught:
        cleaned(cleaning, text)
    assert words in str(caught.value)
    kept, _ = cleaned([*cleaning, "normal_form", "white_space"], text)
    assert kept[0].split("\n")[1] == mended


def test_a_promise_that_the_list_does_not_make_is_not_asked_for(own: str) -> None:
    cleaning = ["line_ends", "white_space", f"{own}:decomposed"]
    assert cleaned(cleaning, "café\n")[0] == ["cafe\u0301\n"]
    kept, _ = clean([Document("x", "x", "é\n")], ["plain", f"{own}:decomposed"], normal_form="none")
    assert kept[0].text == "e\u0301\n"


def test_profiles_of_ones_own_hold_rules_parameters_paths_and_other_profiles(own: str) -> None:
    length = {"line_length": {"min_words": 2}}
    mine = Profiles(LISTS | {"short": [length, f"{own}:shout"], "mine": ["plain", "short"]})
    found = mine.steps("mine")
    assert [step.name for step in found] == [*LISTS["plain"], "line_length", f"{own}:shout"]
    assert found[-2].parameters == {"min_words": 2}
    assert [step.name for step in mine.steps(["d2l", "short"])][-2:] == [
        "line_length",
        f"{own}:shout",
    ]


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
