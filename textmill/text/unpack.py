"""Write the wanted members of an archive into a folder.

They get their names relative to the folder that all of them share, which shows only when the last
one has been read: so they are written under their full names beside the place, and moved there.
"""

import shutil
from pathlib import Path

from textmill.base.progress import Progress
from textmill.text import archive
from textmill.text.catalogue import Corpus
from textmill.text.names import ArchiveError, shared_folder
from textmill.text.packing import Packing


def unpack(path: Path, packed: Packing, corpus: Corpus, folder: Path) -> None:
    """Make `folder` with the members that the corpus takes. Raises ArchiveError.

    A pattern without a member is refused, so that an archive that changed its folders is noticed.
    """
    beside = folder.with_name(f"{folder.name}.whole")
    wanted = sorted(corpus.members) or list(corpus.take)
    names = []
    with Progress(None, "bytes", f"unpacking {path.name}") as progress:
        for member in archive.members(path, packed, corpus.unpack_limit):
            if _is_wanted(member.name, corpus):
                _write(member, beside / member.name, progress)
                names.append(member.name)
    for pattern in wanted:
        if not any(_fits(name, pattern, corpus) for name in names):
            raise ArchiveError(f"has no member that fits {pattern}")
    (beside / shared_folder(names)).rename(folder)
    shutil.rmtree(beside, ignore_errors=True)


def _is_wanted(name: str, corpus: Corpus) -> bool:
    """A single compressed file has one member, which is wanted when nothing says which."""
    if corpus.members:
        return name in corpus.members
    return not corpus.take or archive.fits(name, corpus.take)


def _fits(name: str, pattern: str, corpus: Corpus) -> bool:
    return name == pattern if corpus.members else archive.fits(name, [pattern])


def _write(member: archive.Member, target: Path, progress: Progress) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("xb") as file:
            for chunk in member.chunks:
                file.write(chunk)
                progress.advance(len(chunk))
    except FileExistsError:  # two names that are one here: by case, or by form of an accent
        raise ArchiveError(f"the member {member.name} is there twice on this disk") from None
