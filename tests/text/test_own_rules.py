"""Rules of one's own: functions and classes by their import paths."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.text.cleaning import LISTS, clean, cleaned_texts
from textmill.base.errors import UserError
from textmill.text.documents import Document
from textmill.text.profiles import Profiles

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


def test_a_rule_of_ones_own_drops_documents_with_its_reason_or_rewrites(own: str) -> None:
    kept, books = cleaned_texts(
        ["plain", f"{own}:drop_short", f"{own}:shout"], "one\n", "one two\n"
    )
    assert kept == ["ONE TWO\n"]
    assert books[-2]["reasons"] == {"fewer than 2 words": {"documents": 1, "examples": ["0: one "]}}
    assert books[-1]["rule"] == f"{own}:shout"
    kept, books = cleaned_texts(["plain", {f"{own}:drop_short": {"words": 3}}], "a b\n", "a b c\n")
    assert kept == ["a b c\n"]
    assert books[-1]["rule"] == f"{own}:drop_short (words 3)"
    kept, books = cleaned_texts(["plain", f"{own}:first_line"], "a\nb\nc\n")
    assert kept == ["a\n"]
    assert books[-1]["reasons"]["left out"]["lines"] == 2


def test_a_rule_of_ones_own_for_lines_is_asked_about_each(own: str) -> None:
    kept, books = cleaned_texts(["plain", f"{own}:no_numbers"], "12\ncolour\n13\nred\n", "14\n")
    assert kept == ["color\nred\n"]
    assert books[-1]["lines"] == {"in": 5, "out": 2, "dropped": 3}
    assert books[-1]["reasons"] == {
        "a number": {"lines": 3, "examples": ["0: line 1: 12", "0: line 3: 13", "1: line 1: 14"]},
        "rewritten": {"changes": 1, "examples": ["0: line 2: colour"]},
    }


def test_a_class_is_made_once_of_its_parameters_and_asked_about_every_text(own: str) -> None:
    rule = {f"{own}:Most": {"words": 2}}
    kept, books = cleaned_texts(["plain", rule], "a b\n", "a b c\n", "d\n")
    assert kept == ["a b\n", "d\n"]
    assert books[-1]["rule"] == f"{own}:Most (words 2)"
    assert books[-1]["reasons"]["too long a document"]["documents"] == 1
    (made,) = sys.modules[own].Most.made
    assert made.seen == 3


def test_what_a_rule_of_ones_own_rewrites_and_leaves_out_is_shown(own: str) -> None:
    _, books = cleaned_texts(["plain", f"{own}:shout"], "A\nb\nc\n", "D\n", "e\n", "f\n", "g\n")
    examples = ["0: line 2: b", "2: line 1: e", "3: line 1: f"]
    assert books[-1]["reasons"] == {"rewritten": {"changes": 4, "examples": examples}}
    _, books = cleaned_texts(["plain", f"{own}:first_line"], "a\nb\na\nc\nd\n")
    assert books[-1]["reasons"] == {
        "rewritten": {"changes": 1, "examples": ["0: line 2: b"]},
        "left out": {"lines": 4, "examples": ["0: a", "0: b", "0: c"]},
    }


def test_every_run_has_its_own_object_of_a_class(own: str) -> None:
    """What one run has seen is nothing to the next."""
    for _ in range(2):
        cleaned_texts(["plain", {f"{own}:Most": {"words": 2}}], "a b\n")
    assert [made.seen for made in sys.modules[own].Most.made] == [1, 1]


@pytest.mark.parametrize("name", ["MarkedClass", "MarkedCall"])
def test_a_class_marked_for_lines_is_asked_about_each(own: str, name: str) -> None:
    rule = {f"{own}:{name}": {"words": 2, "of": "line"}}
    kept, books = cleaned_texts(["plain", rule], "a b\na b c\nd\n")
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
        cleaned_texts(["plain", {f"{own}:{name}": parameters}], "a\n")
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
        cleaned_texts(["plain", path], "a\n")
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
        cleaned_texts(cleaning, text)
    assert words in str(caught.value)
    kept, _ = cleaned_texts([*cleaning, "normal_form", "white_space"], text)
    assert kept[0].split("\n")[1] == mended


def test_a_promise_that_the_list_does_not_make_is_not_asked_for(own: str) -> None:
    cleaning = ["line_ends", "white_space", f"{own}:decomposed"]
    assert cleaned_texts(cleaning, "café\n")[0] == ["cafe\u0301\n"]
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
