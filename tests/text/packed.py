"""Archives of every kind, made in the test."""

import bz2
import gzip
import io
import lzma
import tarfile

import pyarrow as pa

KINDS = ("gz", "bz2", "xz", "zst")


def compress(data: bytes, kind: str) -> bytes:
    """One stream of a kind; the data itself where the kind is empty."""
    if kind == "zst":
        return bytes(pa.Codec("zstd").compress(data, asbytes=True))
    ways = {"": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    return ways[kind](data)


def entry(name: str, kind: bytes = tarfile.REGTYPE, **other: str | int) -> tarfile.TarInfo:
    """A tar's header."""
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in other.items():
        setattr(info, key, value)
    return info


def tar_of(*members: tuple[tarfile.TarInfo | str, bytes]) -> bytes:
    """A tar with these members, in this order."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for member, data in members:
            info = entry(member) if isinstance(member, str) else member
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return sink.getvalue()
