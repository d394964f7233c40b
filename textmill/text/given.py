"""A text given to a command: its lines, from a file, a compressed one or standard input.

Nothing is cleaned. LF, CR LF and a lone CR end a line, as in the corpus; a last line needs no line
end, and a line end at the end of the text begins no further line.
"""

import re
import sys
from functools import partial
from pathlib import Path

from textmill.base.errors import UserError
from textmill.text.compressed import BROKEN, compression_of, decompressed, is_damage
from textmill.text.decoding import encoding_of

STANDARD_INPUT = "-"
_BLOCK = 1 << 20
_ARPA = re.compile(r"\s*\\data\\\s*\n")


def read_lines(source: str) -> list[str]:
    """The lines of a file, unpacked by its ending (.gz, .bz2, .xz, .zst), or of standard input.

    UserError where there is none, and for what is no text.
    """
    text = _decoded(_bytes_of(source), source)
    if not text:
        raise UserError("the text is empty", where=_called(source))
    return text.removesuffix("\n").split("\n")


def is_arpa(text: str) -> bool:
    """Whether a text is a language model in ARPA's format, by its first line that is not blank."""
    return _ARPA.match(text) is not None


def _bytes_of(source: str) -> bytes:
    if source == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    path = Path(source)
    try:
        with decompressed(path, compression_of(path)) as stream:
            return b"".join(iter(partial(stream.read, _BLOCK), b""))
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(
            f'there is no file "{source}"',
            next_step="name the model, then a file, or - for standard input: echo We must | ...",
        ) from None
    except BROKEN as error:
        if not is_damage(error):
            raise
        raise UserError(f"it is cut off or damaged ({error})", where=source) from None


def _called(source: str) -> str:
    return "standard input" if source == STANDARD_INPUT else source


def _decoded(data: bytes, source: str) -> str:
    where = _called(source)
    try:
        encoding, mark = encoding_of(source, data, "utf-8", "")
        text = data[mark:].decode(encoding)
    except UnicodeDecodeError as error:
        raise UserError(
            f"it is not {encoding.upper()} at byte {error.start + mark:,} ({error.reason})",
            where=where,
            next_step="turn it into UTF-8 first: iconv -f windows-1252 -t utf-8 FILE, say",
        ) from None
    if (at := text.find("\0")) >= 0:
        raise UserError(f"it is no text: a NUL at character {at + 1:,}", where=where)
    if is_arpa(text):
        raise UserError(
            "it is a language model in ARPA's format, not a text",
            where=where,
            next_step="name it in the place of the model, and a text after it",
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
