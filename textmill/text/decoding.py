"""Bytes to text: the mark at the beginning, else the encoding that the corpus declares.

Nothing is guessed. A byte order mark of UTF-8, UTF-16 or UTF-32 says what a file is written in,
more surely than a declaration made for a whole folder, so it comes first (as in the Encoding
Standard of browsers); the mark itself is no text and is dropped. A byte that the encoding does not
know ends the stage with its place, or, where the corpus asks for it, becomes U+FFFD and is counted.
"""

import codecs
import encodings.aliases
from dataclasses import dataclass
from typing import Literal

from textmill.base.errors import UserError, nearest

Errors = Literal["strict", "replace"]

# The mark of UTF-32 in little-endian order begins with that of UTF-16, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NEEDS_A_MARK = ("utf-16", "utf-32")
# They turn text into text: escapes in Python's source, or names of hosts.
_NO_ENCODINGS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
_AROUND = 12
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text; how many wrong places became U+FFFD, and the first of them."""

    text: str
    replaced: int = 0
    examples: tuple[str, ...] = ()


def canonical(encoding: str) -> str:
    """The one name that Python's registry has for an encoding. Raises ValueError for none."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, UnicodeError, ValueError):
        name = ""
    if not name or name in _NO_ENCODINGS:
        known = {*encodings.aliases.aliases.values(), *encodings.aliases.aliases}
        hint = nearest(encoding.lower().replace("-", "_"), sorted(known - set(_NO_ENCODINGS)))
        raise ValueError(f'encoding: no encoding "{encoding}" is known{hint}')
    return name


def decode(
    name: str, data: bytes, encoding: str = "utf-8", errors: Errors = "strict", *, key: str = ""
) -> Decoded:
    """The text of a file. Raises UserError with its first wrong byte under `strict`.

    key: where params.yaml has the corpus (`corpora.NAME`), for the way out.
    """
    found, skipped = _encoding_of(name, data, canonical(encoding), key)
    body = data[skipped:]
    try:
        return Decoded(body.decode(found).removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        if errors == "strict":
            raise _wrong_byte(name, data, skipped + error.start, error, key) from None
    text = body.decode(found, "replace")
    # What the file itself has of U+FFFD is still there where wrong bytes are left out.
    replaced = text.count("\ufffd") - body.decode(found, "ignore").count("\ufffd")
    return Decoded(text.removeprefix("\ufeff"), replaced, _first_wrong(name, body, found, skipped))


def _encoding_of(name: str, data: bytes, declared: str, key: str) -> tuple[str, int]:
    """The encoding, and how many bytes its mark takes."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    if declared in _NEEDS_A_MARK and data:
        raise UserError(
            f"it has no byte order mark, without which {declared} may be either of two orders",
            where=name,
            next_step=f"set {key or 'corpora.NAME'}.encoding to {declared}-le or {declared}-be",
        )
    return declared, 0


def _wrong_byte(name: str, data: bytes, at: int, error: UnicodeDecodeError, key: str) -> UserError:
    # What was decoded is the file without its mark, so places differ by the mark's length.
    line = error.object[: error.start].decode(error.encoding, "replace").count("\n") + 1
    around = data[max(at - _AROUND, 0) : at + _AROUND]
    key = key or "corpora.NAME"
    return UserError(
        f"not {error.encoding.upper()} at byte {at:,}, line {line:,} ({error.reason}): the bytes "
        f"around it are {around.hex(' ')}, {around!r}",
        where=name,
        next_step=f"set {key}.encoding to what the text is written in (windows-1252, say), or "
        f"{key}.decoding_errors: replace, which makes such bytes U+FFFD and counts them",
    )


def _first_wrong(name: str, body: bytes, encoding: str, skipped: int) -> tuple[str, ...]:
    found: list[str] = []
    start = 0
    while len(found) < _EXAMPLES:
        try:
            body[start:].decode(encoding)
            break
        except UnicodeDecodeError as error:
            wrong = body[start + error.start : start + error.end]
            found.append(f"{name}: byte {skipped + start + error.start:,}: {wrong.hex(' ')}")
            start += error.end
    return tuple(found)
