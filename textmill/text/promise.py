"""What a cleaned text promises, asked of what rules of one's own left.

Every later stage relies on lines with single spaces inside and none at the ends, and on one way to
write each accented letter (`rules`). The project's own rules keep that, as their tests show; a rule
of one's own may break it, and is named then. Only those are asked about that run after the last
rule which would have mended it.
"""

import unicodedata
from collections.abc import Callable, Sequence
from typing import get_args

from textmill.base.errors import UserError
from textmill.text.documents import Document
from textmill.text.rules import UnicodeForm, white_space
from textmill.text.steps import NORMAL_FORM, Step

_KEEP_SPACES = ("white_space", "english_letters")
_KEEP_FORM = (NORMAL_FORM, "english_letters")
_SHOWN = 60


class Promise:
    """The check of a cleaning's last texts."""

    def __init__(self, steps: Sequence[Step], normal_form: str) -> None:
        """normal_form: `none` promises none."""
        names = [step.name for step in steps]
        self._spaces = _own_after(steps, _KEEP_SPACES)
        form = next((form for form in get_args(UnicodeForm) if form == normal_form), None)
        promises_form = form is not None and set(names) & set(_KEEP_FORM)
        self._of_form = _own_after(steps, _KEEP_FORM) if promises_form else ""
        self._form: UnicodeForm = form or "NFC"

    def check(self, document: Document) -> None:
        """Raise UserError naming the rule (or rules) that may have left this text as it is."""
        if self._spaces and white_space(document.text).losses:
            raise UserError(
                "it left white space that a cleaned line does not hold (single spaces inside, none "
                f"at the ends): {_first(document, _has_single_spaces)}",
                where=f"cleaning: {self._spaces}",
                next_step="return single spaces, or put white_space after it in the list",
            )
        if self._of_form and not self._is_in_form(document.text):
            raise UserError(
                f"it left text that is not in the normal form {self._form}: "
                f"{_first(document, self._is_in_form)}",
                where=f"cleaning: {self._of_form}",
                next_step=f"put {NORMAL_FORM} after it in the list",
            )

    def _is_in_form(self, text: str) -> bool:
        return text.isascii() or unicodedata.is_normalized(self._form, text)


def _own_after(steps: Sequence[Step], keepers: Sequence[str]) -> str:
    """The rules of one's own behind the last of `keepers`."""
    names = [step.name for step in steps]
    last = max((at for at, name in enumerate(names) if name in keepers), default=-1)
    return " or ".join(step.name for step in steps[last + 1 :] if step.is_own)


def _has_single_spaces(line: str) -> bool:
    return line == " ".join(line.split())


def _first(document: Document, is_sound: Callable[[str], bool]) -> str:
    """Where the first line that is not sound stands, and its beginning."""
    for number, line in enumerate(document.text.split("\n"), 1):
        if not is_sound(line):
            return f"line {number:,} of {document.id} became {line[:_SHOWN]!r}"
    raise AssertionError(f"every line of {document.id} is sound, and the text is not")
