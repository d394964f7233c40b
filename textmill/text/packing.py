"""How a file is packed: a zip, a tar, a compression around it, or nothing of the kind.

The name decides where it says anything, so that a text is never taken for an archive by an
accident of its first bytes. A name without an ending says nothing, and one that is not an
archive's says nothing to an entry that names members: there the content decides.
"""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_ENDINGS: dict[str, tuple[str, str]] = {
    ".whl": ("zip", ""),
    ".zip": ("zip", ""),
    ".tar": ("tar", ""),
    ".tgz": ("tar", "gz"),
    ".tbz": ("tar", "bz2"),
    ".tbz2": ("tar", "bz2"),
    ".txz": ("tar", "xz"),
    ".tzst": ("tar", "zst"),
    **{f".tar.{kind}": ("tar", kind) for kind in ("gz", "bz2", "xz", "zst")},
    **{f".{kind}": ("", kind) for kind in ("gz", "bz2", "xz", "zst")},
}
"""Longer endings stand before those they end with."""
_BEGINNINGS: list[tuple[re.Pattern[bytes], tuple[str, str]]] = [
    (re.compile(rb"PK(\x03\x04|\x05\x06)"), ("zip", "")),
    (re.compile(rb"\x1f\x8b\x08"), ("", "gz")),
    (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), ("", "bz2")),
    (re.compile(rb"\xfd7zXZ\0"), ("", "xz")),
    (re.compile(rb"\x28\xb5\x2f\xfd"), ("", "zst")),
]
BLOCK = 512
"""Bytes of a tar's header, and what everything in a tar is filled up to."""


@dataclass(frozen=True, slots=True)
class Packing:
    """A container, the compression around it, or both; what there is none of is empty.

    container: `zip`, `tar`; compression: `gz`, `bz2`, `xz`, `zst`; stem: what a single compressed
    file is called, its name without the ending.
    """

    container: str
    compression: str
    stem: str

    @property
    def in_words(self) -> str:
        """`zip`, `tar.gz`, `gz`: as an ending without its dot."""
        return ".".join(part for part in (self.container, self.compression) if part)


def by_name(name: str) -> Packing | None:
    """What the ending of a file's name says; None when it is no packing's."""
    for ending, (container, compression) in _ENDINGS.items():
        if name.lower().endswith(ending) and len(name) > len(ending):
            return Packing(container, compression, name[: -len(ending)])
    return None


def says_nothing(name: str) -> bool:
    """Whether the name has no ending at all."""
    return not PurePosixPath(name).suffix


def by_content(path: Path) -> Packing | None:
    """What the first bytes say; a tar inside a compression is not looked for here."""
    with path.open("rb") as file:
        head = file.read(BLOCK)
    for beginning, (container, compression) in _BEGINNINGS:
        if beginning.match(head):
            return Packing(container, compression, path.name)
    return Packing("tar", "", path.name) if is_tar(head) else None


def is_tar(head: bytes) -> bool:
    """Whether a block is the header of a tar of the last three decades."""
    return head[257:262] == b"ustar"
