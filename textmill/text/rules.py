"""Cleaning rules: pure functions over the text of one document.

A rule takes the whole document and returns the new text with what it dropped or changed, each
reason with a count and up to three examples; or it drops the document, with the reason. Rules are
single passes of the regular-expression engine, or of a search that shows that there is nothing for
it to do; no Python loop over lines or words.

After every profile (`profiles`) the text is canonical: each line ends with one LF, has no space at
either end and single spaces (U+0020) inside, and holds no other white space; the text is in
Unicode's normal form C, unless the corpus asks for another. Cleaning a clean text again changes
nothing.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol, runtime_checkable

from textmill.text import examples
from textmill.text.examples import EXAMPLES


@dataclass(frozen=True, slots=True)
class Loss:
    """What a rule dropped or changed for one reason: how many of which unit, with examples."""

    reason: str
    unit: Literal["documents", "lines", "characters", "changes"]
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A rule's result: the text after it and its losses; `drop`: why the document falls whole."""

    text: str
    losses: tuple[Loss, ...] = ()
    drop: str = ""
    example: str = ""
    """What to show of a dropped document beside its name."""


Rule = Callable[[str], Cleaned]


@runtime_checkable
class OfColumns(Protocol):
    """A rule that judges many documents in one column faster than one after the other."""

    def each(self, texts: Sequence[str]) -> list[Cleaned]:
        """What calling it for each would give."""


UnicodeForm = Literal["NFC", "NFD", "NFKC", "NFKD"]
NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD", "none"]

# White space (what `\s` matches) is no control character here, so "a\fb" stays two words.
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_ASCII_CONTROLS = bytes([*range(0x09), *range(0x0E, 0x1C), 0x7F])
_OTHER_CONTROLS = re.compile(rb"\xc2[\x80-\x84\x86-\x9f]")
_BYTE_ORDER_MARK = re.compile("\ufeff")
_SPACES = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_RUNS = re.compile("   *")
"""Two spaces or more; an engine looks for the first two of them as for a word."""
_ASCII_SPACES = "\t\x0b\x0c\r\x1c\x1d\x1e\x1f"
_OTHER_SPACES = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_BLANK_LINE = re.compile(r"^\n", re.MULTILINE)
_CR_LF, _CR = re.compile("\r\n"), re.compile("\r(?!\n)")
_SPACE_AT_AN_END = re.compile(r" \n|\n |\A ")
_SHOWN_OF_END = 30
_NOT_LETTERS = re.compile(r"[^A-Za-z\n]+")
_OTHER_SIGNS = re.compile(r"[^A-Za-z\n ][^A-Za-z\n]*")


def line_ends(text: str) -> Cleaned:
    """CR LF and CR become LF; a last line without an end gets one."""
    crlf = text.count("\r\n")
    cr = text.count("\r") - crlf
    losses = list[Loss]()
    if crlf or cr:
        losses += [
            Loss("CR LF", "changes", crlf, examples.of_matches(text, _CR_LF.finditer(text))),
            Loss("CR", "changes", cr, examples.of_matches(text, _CR.finditer(text))),
        ]
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text and not text.endswith("\n"):
        last = text[-_SHOWN_OF_END:].rpartition("\n")[2]
        losses.append(Loss("no line end at the end", "changes", 1, (last,)))
        text += "\n"
    return Cleaned(text, _only_some(losses))


def byte_order_marks(text: str) -> Cleaned:
    """U+FEFF is dropped, at the start and where files were joined."""
    return _drop(text, _BYTE_ORDER_MARK, "byte order mark")


def control_characters(text: str) -> Cleaned:
    """NUL and the other control characters that are not white space are dropped."""
    data = text.encode()
    if len(data.translate(None, _ASCII_CONTROLS)) == len(data) and not _OTHER_CONTROLS.search(data):
        return Cleaned(text)
    return _drop(text, _CONTROLS, "control character")


def normal_form(text: str, form: UnicodeForm = "NFC") -> Cleaned:
    """A normal form of Unicode, C by default: one way to write each accented letter."""
    if text.isascii() or unicodedata.is_normalized(form, text):
        return Cleaned(text)
    reason = f"not in form {form.removeprefix('NF')}"
    normalized = unicodedata.normalize(form, text)
    loss = Loss(reason, "changes", 1, examples.of_form(text, normalized))
    return Cleaned(normalized, (loss,))


def white_space(text: str) -> Cleaned:
    """Runs of white space within a line become one space; none stays at its ends."""
    pattern = _SPACES if _has_odd_spaces(text) else _RUNS
    kept, runs = pattern.subn(" ", text)
    losses = list[Loss]()
    if runs:
        found = examples.of_matches(text, pattern.finditer(text))
        losses.append(Loss("run of white space", "changes", runs, found))
    ends = kept.count(" \n") + kept.count("\n ") + kept.startswith(" ")
    if ends:
        found = examples.of_matches(kept, _SPACE_AT_AN_END.finditer(kept))
        losses.append(Loss("at a line's end", "changes", ends, found))
        kept = kept.replace(" \n", "\n").replace("\n ", "\n").removeprefix(" ")
    return Cleaned(kept, tuple(losses))


def blank_lines(text: str) -> Cleaned:
    """Lines without a word are dropped."""
    kept = text.lstrip("\n")
    while "\n\n" in kept:
        kept = kept.replace("\n\n", "\n")
    count = len(text) - len(kept)
    if not count:
        return Cleaned(text)
    found = islice(_BLANK_LINE.finditer(text), EXAMPLES)
    first = tuple(f"line {text.count(chr(10), 0, match.start()) + 1}" for match in found)
    return Cleaned(kept, (Loss("blank line", "lines", count, first),))


# Printed addresses mark a footnote by a raised figure, which the transcription left as a digit
# glued to a word: after it ("the Kappel1 report"), after its punctuation ("the last Congress.1
# With"), or before the first word of the note itself ("1See 1974 volume", "1A list of"). Four
# letters before the mark, and nothing but punctuation between it and the next space, keep "Y2K",
# "B-1B", "No.1", "mp3", "CO2", "Guam.12" and every number as they are. The pattern begins with the
# digit, since an engine that tries a look-behind at every letter needs 8 s for 77 MB.
_FOOTNOTE = re.compile(
    r"[1-9](?:"
    r"(?<=[A-Za-z][a-z]{3}.)(?=[.,;:!?]*(?:\s|$))"
    r"|(?<=[A-Za-z][a-z]{3}[.,;:!?].)(?=\s|$)"
    r"|(?<=^.)(?=[A-Z][a-z]+ |A [a-z])"
    r")",
    re.MULTILINE,
)


def footnote_digits(text: str) -> Cleaned:
    """Footnote digits glued to a word are dropped (State of the Union addresses)."""
    return _drop(text, _FOOTNOTE, "footnote digit", shown=12)


def english_letters(text: str) -> Cleaned:
    """Dive into Deep Learning's way: anything but A-Z and a-z is a space, then lower case.

    Line by line `re.sub('[^A-Za-z]+', ' ', line).strip().lower()`, blank lines kept.
    """
    kept, runs = _NOT_LETTERS.subn(" ", text)
    kept = kept.replace(" \n", "\n").replace("\n ", "\n").removeprefix(" ").lower()
    found = examples.of_matches(text, _OTHER_SIGNS.finditer(text))
    return Cleaned(kept, _only_some([Loss("run of other characters", "changes", runs, found)]))


def _drop(text: str, pattern: re.Pattern[str], reason: str, shown: int = 0) -> Cleaned:
    kept, count = pattern.subn("", text)
    if not count:
        return Cleaned(text)
    found = islice(pattern.finditer(text), EXAMPLES)
    first = tuple(_shown(text, match, shown) for match in found)
    return Cleaned(kept, (Loss(reason, "characters", count, first),))


def _shown(text: str, match: re.Match[str], around: int) -> str:
    if not around:
        line = text.count("\n", 0, match.start()) + 1
        return f"U+{ord(match.group()):04X} in line {line}"
    start, end = match.span()
    return text[max(start - around, 0) : end + around].replace("\n", " ").strip()


def _has_odd_spaces(text: str) -> bool:
    """Whether there is white space other than U+0020 and LF; a search for each costs less than one
    for a class.
    """
    if any(sign in text for sign in _ASCII_SPACES):
        return True
    return not text.isascii() and _OTHER_SPACES.search(text) is not None


def _only_some(losses: list[Loss]) -> tuple[Loss, ...]:
    return tuple(loss for loss in losses if loss.count)
