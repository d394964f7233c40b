import re
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.cleaning import LISTS, steps_of
from textmill.text import rules
from textmill.text.rules import Loss, footnote_digits

# A loaded machine is slow, not wrong.
STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Pieces that trip rules: every kind of line end, white space, control and combining characters,
# marks glued to words, and letters that change under normal form C.
PIECES = st.one_of(
    st.sampled_from(
        [
            *("\n", "\r", "\r\n", " ", "  ", "\t", "\f", "\v", "\x1c", "\x85", "\xa0", "\u2028"),
            *("\x00", "\x01", "\x7f", "\x9b", "\ufeff", "\u200b", "e\u0301", "\u0301", "\u212b"),
            *("word", "Congress", "A list", "See", "No", ".", ",", "1", "2", "12", "é", "\u1e69"),
        ]
    ),
    st.characters(exclude_categories=["Cs"]),
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def rules_of(profile: str):
    return [step.start("NFC") for step in steps_of(profile)]


def cleaned(text: str, profile: str) -> str:
    for rule in rules_of(profile):
        text = rule(text).text
    return text


def losses(text: str, profile: str) -> dict[str, Loss]:
    found: dict[str, Loss] = {}
    for rule in rules_of(profile):
        result = rule(text)
        text = result.text
        found |= {loss.reason: loss for loss in result.losses}
    return found


@pytest.mark.parametrize("profile", LISTS)
@STEADY
@given(text=TEXTS)
def test_a_cleaned_text_is_canonical_and_cleaning_it_again_changes_nothing(
    profile: str, text: str
) -> None:
    after = cleaned(text, profile)
    assert cleaned(after, profile) == after
    assert unicodedata.is_normalized("NFC", after)
    assert after == "" or after.endswith("\n")
    for line in after.split("\n")[:-1]:
        assert line == " ".join(line.split()), "single spaces (U+0020) and none at the ends"
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line)
    if profile in ("plain", "sotu"):
        assert "\n\n" not in after
        assert not after.startswith("\n")


@STEADY
@given(text=TEXTS)
def test_words_survive_plain_cleaning_in_order(text: str) -> None:
    without = re.sub(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]", "", text)
    assert cleaned(text, "plain").split() == unicodedata.normalize("NFC", without).split()


@STEADY
@given(text=TEXTS)
def test_d2l_is_line_by_line_what_the_book_does(text: str) -> None:
    lines = re.split("\r\n|\r|\n", text)
    lines = lines[:-1] if lines[-1] == "" else lines
    book = [re.sub("[^A-Za-z]+", " ", line).strip().lower() for line in lines]
    assert cleaned(text, "d2l") == "".join(line + "\n" for line in book)


def test_blank_lines_stay_in_wikitext_and_go_from_plain() -> None:
    text = " \n = A <unk> = \n \n tokens , as they @-@ are \n"
    assert cleaned(text, "wikitext") == "\n= A <unk> =\n\ntokens , as they @-@ are\n"
    assert cleaned(text, "plain") == "= A <unk> =\ntokens , as they @-@ are\n"
    assert losses(text, "plain")["blank line"] == Loss(
        "blank line", "lines", 2, ("line 1", "line 3")
    )


def test_each_way_to_end_a_line_becomes_one_lf() -> None:
    assert cleaned("a\r\nb\rc\nd", "plain") == "a\nb\nc\nd\n"
    counts = {reason: loss.count for reason, loss in losses("a\r\nb\rc\r\rd", "plain").items()}
    assert counts == {"CR LF": 1, "CR": 3, "no line end at the end": 1, "blank line": 1}


SHOWN = {
    "CR LF": ("ab\r\nc\n", [r"line 1: 'ab\r\nc'"]),
    "CR": ("ab\rc\r\nd\re\n", [r"line 1: 'ab\rc'", r"line 3: 'd\re'"]),
    "no line end at the end": ("a\nthe last one", ["the last one"]),
    "not in form C": (
        "é is composed\nand a cafe\u0301 is not\n\u212b\n",
        ["line 2: and a cafe\u0301 is not (U+0065 U+0301)", "line 3: \u212b (U+212B)"],
    ),
    "run of white space": (
        "one two\nthree\t four\n\xa0five  six\n",
        [r"line 2: 'three\t four'", r"line 3: '\xa0five  six'", r"line 3: '\xa0five  six'"],
    ),
    "at a line's end": (
        "one \n two\nthree\n four\n",
        [r"line 1: 'one \n two'", r"line 3: 'three\n four'"],
    ),
}


@pytest.mark.parametrize("reason", SHOWN)
def test_rules_that_rewrite_show_what_stood_there(reason: str) -> None:
    text, examples = SHOWN[reason]
    assert list(losses(text, "plain")[reason].examples) == examples


def test_letters_show_what_else_there_was_and_not_single_spaces() -> None:
    found = losses("one two three\nthat's all, folks\n42\n", "d2l")["run of other characters"]
    assert found.examples == (
        'line 2: "that\'s all, folks"',
        'line 2: "that\'s all, folks"',
        "line 3: '42'",
    )


@pytest.mark.parametrize("profile", LISTS)
@STEADY
@given(text=TEXTS)
def test_whatever_is_counted_has_up_to_three_short_examples(profile: str, text: str) -> None:
    for reason, loss in losses(text, profile).items():
        shown = loss.examples
        # Single spaces are among the runs that become one space.
        assert shown or reason == "run of other characters", reason
        # A normal form is counted once a text, whatever number of lines it changed.
        assert len(shown) <= (3 if reason == "not in form C" else min(loss.count, 3))
        assert all(0 < len(one) < 400 for one in shown)


def test_control_characters_go_are_counted_and_shown_but_white_space_parts_words() -> None:
    text = "\ufeffa\x00b c\x1b[0m d\x9be\n\x00\x01\fx\x0by\xa0z\ufeff\n"
    assert cleaned(text, "plain") == "ab c[0m de\nx y z\n"
    found = losses(text, "plain")
    assert found["byte order mark"].count == 2
    assert found["control character"] == Loss(
        "control character",
        "characters",
        5,
        ("U+0000 in line 1", "U+001B in line 1", "U+009B in line 1"),
    )


def test_normal_form_c_joins_letters_with_their_accents() -> None:
    assert cleaned("e\u0301te\u0301 \u212bngstro\u0308m\n", "plain") == "été Ångström\n"
    assert "not in form C" in losses("e\u0301", "plain")
    assert "not in form C" not in losses("\u00e9", "plain")


# Every footnote mark that is glued to a word in the addresses from 1961 on, in its true line,
# and those of 1946 and 1947.
MENDED = [
    ("postal system along the lines of the Kappel1 report.", "the Kappel report."),
    ("1Frederick R. Kappel, Chairman of the Commission on Executive", "Frederick R. Kappel, "),
    ("basis of the doctrine I announced at Guam.1\nNeither the defense", "Guam.\nNeither"),
    ("strip mining legislation passed by the last Congress.1 With appropriate", "Congress. With"),
    ("when it comes to the White House.\n1See 1974 volume, Item 326.", "\nSee 1974 volume, Item"),
    ("law and against every precept of human affairs.1\nHowever, I firmly", "affairs.\nHowever"),
    ("1A list of the 16 properties was issued by", "A list of the 16 properties"),
    ("I have, therefore, by Executive Order,1 established the", "Executive Order, established"),
    ("\nNet exports1 ...... --2 ...... ...... 1", "exports ...... --2 ...... ...... 1"),
]
# Digits that look a little like it and are none, most from the addresses themselves.
KEPT = [
    "solving the so-called Y2K computer problem.",
    "flew a B-1B bomber over Iraq; an F-16 and a B1 followed",
    "increased by $1.5 billion a year, or 1.5 percent, from 3.5 million to 2.2 million.",
    "up to $1,775. And I said, $1,776.",
    "the 10,000page personnel manual, a 10point plan, and 401k plans",
    "On January 1st, the 2d Ranger Battalion, 75th Infantry, and the 21st century",
    "Meanwhile 9 in 10, on February 2\nFOREIGN AFFAIRS",
    "1 Public Building, Highways, Rivers and Harbors",
    "see No.1, Sec.2 and Art.3 of H.R.1 or HR1 on CO2 and mp3 players",
    "[p.3183] of chapter.12 and Kappel12 reports",
    "3D printing, 4H clubs, 1980's and FY 1981",
    "2 years ago.\n5 million people.\n7,000 of them.",
]


@pytest.mark.parametrize(("line", "part"), MENDED)
def test_footnote_digits_glued_to_words_are_mended(line: str, part: str) -> None:
    mended = footnote_digits(line + "\n")
    assert part in mended.text
    assert len(mended.text) == len(line)
    assert mended.losses[0].count == 1
    assert mended.losses[0].unit == "characters"


@pytest.mark.parametrize("line", KEPT)
def test_other_digits_stay(line: str) -> None:
    assert footnote_digits(line + "\n").text == line + "\n"


@STEADY
@given(text=TEXTS)
def test_what_a_search_says_there_is_nothing_of_no_pattern_finds(text: str) -> None:
    """The short ways around the patterns, against the patterns."""
    assert rules._has_odd_spaces(text) == (re.search(r"[^\S\n ]", text) is not None)
    assert rules.control_characters(text).text == rules._CONTROLS.sub("", text)
    assert rules.blank_lines(text).text == rules._BLANK_LINE.sub("", text)
    blank = [loss.count for loss in rules.blank_lines(text).losses]
    assert sum(blank) == len(rules._BLANK_LINE.findall(text))
    spaces, runs = rules._SPACES.subn(" ", text)
    found = rules.white_space(text)
    counts = {loss.reason: loss.count for loss in found.losses}
    assert counts.get("run of white space", 0) == runs
    assert found.text == spaces.replace(" \n", "\n").replace("\n ", "\n").removeprefix(" ")
