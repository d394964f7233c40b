"""Bytes to text: the mark at the beginning, else the encoding that the corpus declares.

Nothing is guessed. A byte order mark of UTF-8, UTF-16 or UTF-32 says what a file is written in,
more surely than a declaration made for a whole folder, so it comes first (as in the Encoding
Standard of browsers); the mark itself is no text and is dropped. A byte that the encoding does not
know ends the stage with its place, or, where the corpus asks for it, becomes U+FFFD and is counted.
"""

import codecs
import encodings.aliases
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal

from textmill.base.errors import UserError, nearest

Errors = Literal["strict", "replace"]
File = bytes | Path
"""A file's bytes, or where they lie."""

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
_NO_ENCODINGS = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7")
_AROUND = 12
_EXAMPLES = 3
_BLOCK = 1 << 22
"""Bytes of a file that are decoded at a time."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text of a file; from how many bytes, how many wrong places among them became U+FFFD, and the
    first of those.
    """

    text: str
    bytes: int
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
        wanted = encoding.lower().replace("-", "_")
        hint = nearest(wanted, sorted(known - {*_NO_ENCODINGS, "utf_7", wanted}))
        raise ValueError(f'encoding: no encoding "{encoding}" is known{hint}')
    # A mark is honoured anyway; Python's decoder for it drops half of one at the end of a file.
    return "utf-8" if name == "utf-8-sig" else name


def decode(
    name: str, data: bytes, encoding: str = "utf-8", errors: Errors = "strict", *, key: str = ""
) -> Decoded:
    """The text of a file. Raises UserError with its first wrong byte under `strict`.

    key: where params.yaml has the corpus (`corpora.NAME`), for the way out.
    """
    found, skipped = encoding_of(name, data, canonical(encoding), key)
    body = data[skipped:]
    try:
        return Decoded(body.decode(found).removeprefix("\ufeff"), len(data))
    except UnicodeDecodeError as error:
        if errors == "strict":
            raise _wrong_byte(name, data, skipped + error.start, error, key) from None
    text = body.decode(found, "replace")
    # What the file itself has of U+FFFD is still there where wrong bytes are left out.
    replaced = text.count("\ufffd") - body.decode(found, "ignore").count("\ufffd")
    wrong = _first_wrong(name, body, found, skipped)
    return Decoded(text.removeprefix("\ufeff"), len(data), replaced, wrong)


def decode_blocks(
    name: str, file: File, encoding: str = "utf-8", errors: Errors = "strict", *, key: str = ""
) -> Iterator[Decoded]:
    """The text of a file in blocks; together they are what `decode` gives for the whole of it."""
    with _opened(file) as stream:
        head = stream.read(max(len(mark) for mark, _ in _MARKS))
        found, skipped = encoding_of(name, head, canonical(encoding), key)
        blocks = chain([head[skipped:]], iter(lambda: stream.read(_BLOCK), b""), [None])
        try:
            yield from _decoded(name, blocks, found, errors, skipped)
        except UnicodeDecodeError:
            decode(name, read_file(file), encoding, errors, key=key)  # says where in the file
            raise


def _decoded(
    name: str, blocks: Iterable[bytes | None], encoding: str, errors: Errors, at: int
) -> Iterator[Decoded]:
    """blocks: of bytes, then None; at: where in the file the first one stands."""
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    without = codecs.getincrementaldecoder(encoding)("ignore")
    is_first = True
    for block in blocks:
        data, pending = block or b"", decoder.getstate()[0]
        text = decoder.decode(data, final=block is None)
        replaced, wrong = 0, tuple[str, ...]()
        if errors == "replace":
            # What the file itself has of U+FFFD is still there where wrong bytes are left out.
            ignored = without.decode(data, final=block is None)
            replaced = text.count("\ufffd") - ignored.count("\ufffd")
        if replaced:
            seen = pending + data
            seen = seen[: len(seen) - len(decoder.getstate()[0])]
            wrong = _first_wrong(name, seen, encoding, at - len(pending))
        yield Decoded(text.removeprefix("\ufeff") if is_first else text, len(data), replaced, wrong)
        is_first = is_first and not text
        at += len(data)


def encoding_of(name: str, data: bytes, declared: str, key: str) -> tuple[str, int]:
    """The encoding that a file's first bytes or else `declared` (a canonical name) say, and how
    many bytes the mark takes. Raises UserError where a mark is needed and there is none.
    """
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


def read_file(file: File) -> bytes:
    """All of a file's bytes."""
    return file.read_bytes() if isinstance(file, Path) else file


def size_of_file(file: File) -> int:
    """A file's bytes in number."""
    return file.stat().st_size if isinstance(file, Path) else len(file)


def _opened(file: File) -> BinaryIO:
    return file.open("rb") if isinstance(file, Path) else io.BytesIO(file)


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
