"""Whether a file of one's own is text: it decodes as its corpus declares, and holds no NUL.

Cleaning would drop the NULs of a picture or a program as it drops a stray one, and models would
learn from what is left. So a file is read through when it is pinned.
"""

from textmill.base.errors import UserError
from textmill.text import packing
from textmill.text.decoding import Errors, canonical, decode_blocks, encoding_of
from textmill.text.given import is_arpa
from textmill.text.local import LocalFile

_MARK = 4
"""Bytes of the longest byte order mark."""
_BEGINNING = 1000
"""Characters among which an ARPA file says what it is."""


def check_text(file: LocalFile, encoding: str, errors: Errors, key: str) -> None:
    """Raise UserError with the place of the first byte that is no text.

    encoding, errors: as the corpus declares them; key: where params.yaml has it (`corpora.NAME`).
    """
    name = str(file.path)
    if packed := packing.by_content(file.path):
        raise UserError(
            f"it is packed ({packed.in_words}), not text",
            where=name,
            next_step="unpack it, then: textmill pin PATH",
        )
    try:
        canonical(encoding)
    except ValueError as error:
        raise UserError(str(error), where=key, next_step=f"correct {key}.encoding") from None
    beginning = ""
    for decoded in decode_blocks(name, file.path, encoding, errors, key=key):
        if "\0" in decoded.text:
            raise _holds_nul(file, encoding, key)
        if len(beginning) < _BEGINNING:
            beginning += decoded.text
    if is_arpa(beginning):
        raise UserError(
            "it is a language model in ARPA's format, not a text",
            where=name,
            next_step="textmill score PATH TEXT, which asks it",
        )


def _holds_nul(file: LocalFile, encoding: str, key: str) -> UserError:
    data = file.path.read_bytes()
    found, mark = encoding_of(str(file.path), data[:_MARK], canonical(encoding), key)
    nul = "\0".encode(found)
    at = data.find(nul, mark)
    while (at - mark) % len(nul):  # the end of one sign and the beginning of the next
        at = data.find(nul, at + 1)
    line = data[mark:at].decode(found, "replace").count("\n") + 1
    return UserError(
        f"it is no text: a NUL at byte {at:,}, line {line:,}",
        where=str(file.path),
        next_step=f"leave it out; or, if it is UTF-16, set {key}.encoding: utf-16-le (or -be); or "
        "remove stray ones: tr -d '\\000' < FILE > FILE.txt",
    )
