"""What a corpus is: one entry of the catalogue, checked when it is parsed.

An entry says where its text comes from and what its bytes must be (the pin), how documents and
splits are found, and which cleaning profile it takes. A text from elsewhere is pinned in one of
two ways: by the hash of the file itself, or by the hash of each member of an archive. The second
is for archives that exist in several packings: WikiText-2's original zip and later copies differ
in their own bytes while the files inside are the same. The user's own text has a `path` and the
digest that `textmill pin PATH` writes, and no sources.

The classes are plain frozen dataclasses; whoever parses them turns the ValueErrors raised here,
each of which begins with the name of a field, into one message.
"""

import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from glob import has_magic
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field

from textmill.text import packing
from textmill.text.decoding import Errors, canonical
from textmill.text.documents import DocumentKind
from textmill.text.rows import SUFFIXES
from textmill.text.rules import NormalForm

SPLITS = ("train", "valid", "test")
OF_ROWS = ("text_column", "id_column", "quoting")
"""Fields that say something where documents are rows, and nothing elsewhere."""
_HEXADECIMAL = re.compile(r"[0-9a-f]+")
_FILENAME = re.compile(r"[^./\0][^/\0]*")
_SCHEMES = ("https", "http", "file", "pypi")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_PYPI = re.compile(r"pypi:[A-Za-z0-9._-]+==[A-Za-z0-9.!+_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSplits:
    """The corpus brings its own split: names of files, as they stand among the raw files."""

    by: Literal["files"]
    train: tuple[str, ...]
    valid: tuple[str, ...]
    test: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_all_named(self, ("train", "valid", "test"), "file")
        names = [*self.train, *self.valid, *self.test]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"test: the file {name} is listed in more than one split")


@dataclass(frozen=True, slots=True, kw_only=True)
class YearSplits:
    """Whole years go to valid and test; the other years from `first` on are for training.

    The year is the first run of four digits in the file's name.
    """

    by: Literal["year"]
    first: int
    valid: tuple[int, ...]
    test: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_all_named(self, ("valid", "test"), "year")
        if both := sorted(set(self.valid) & set(self.test)):
            raise ValueError(f"test: the year {both[0]} is in valid as well")
        for name, years in (("valid", self.valid), ("test", self.test)):
            if early := [year for year in years if year < self.first]:
                raise ValueError(f"{name}: the year {early[0]} lies before first: {self.first}")


def _check_all_named(splits: FileSplits | YearSplits, names: tuple[str, ...], unit: str) -> None:
    for name in names:
        if not getattr(splits, name):
            raise ValueError(f"{name}: needs at least one {unit}, or the split would be empty")


LIMIT = 2_000_000_000
SMALLEST_SHARE = 0.0001
"""Of the corpus; a text of fewer than 5,000 lines would have nothing in a smaller one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSplits:
    """Shares of the corpus, as fractions; what is left is for training.

    `lines` cuts every document into three contiguous pieces, train first. `documents` sends whole
    documents by a hash (`shares`), so that adding one moves no other. `auto` is `lines` for fewer
    than 50 documents and `documents` from there on.
    """

    by: Literal["share"]
    valid: float = 0.1
    test: float = 0.1
    unit: Literal["auto", "lines", "documents"] = "auto"

    def __post_init__(self) -> None:
        for name, share in (("valid", self.valid), ("test", self.test)):
            if not SMALLEST_SHARE <= share < 1:
                raise ValueError(
                    f"{name}: a share lies between {SMALLEST_SHARE} and 1, {share} does not"
                )
        if self.valid + self.test >= 1:
            raise ValueError("test: valid and test together leave nothing for training")


Splits = Annotated[FileSplits | YearSplits | ShareSplits, Field(discriminator="by")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """One entry of the catalogue.

    sources: mirrors of one and the same file, tried in order, see `mirrors`. filename: the name
    under which it is kept; a copy put there by hand is taken first. take: members to take from an
    archive, as patterns. members: members with their sha256. limit: bytes that a download may
    have. unpack_limit: bytes that may come out of an archive or compressed file, of a tar with
    its headers. path, digest, files, bytes: the user's own text.

    encoding, decoding_errors: how bytes become text (`decoding`). documents: where one ends; `row`
    reads text_column (named by id_column, or by its number) of JSON Lines, Parquet, CSV or TSV, the
    last two with quotes unless quoting is off. cleaning: a profile or a list of rules, which
    `profiles` reads.
    max_overlap: the share of test that may stand in train.
    """

    title: str
    licence: str
    splits: Splits
    cleaning: Any
    normal_form: NormalForm = "NFC"
    documents: DocumentKind = "file"
    text_column: str = "text"
    id_column: str = ""
    quoting: bool = True
    encoding: str = "utf-8"
    decoding_errors: Errors = "strict"
    max_overlap: float = 0.01
    sources: tuple[str, ...] = ()
    filename: str = ""
    sha256: str = ""
    sha1: str = ""
    take: tuple[str, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    limit: int = LIMIT
    unpack_limit: int = 10_000_000_000
    path: str | None = None
    digest: str = ""
    files: int = 0
    bytes: int = 0

    def __post_init__(self) -> None:
        canonical(self.encoding)
        if not 0 <= self.max_overlap <= 1:
            raise ValueError(
                f"max_overlap: a share lies between 0 and 1, {self.max_overlap} does not"
            )
        for name, count in (("files", self.files), ("bytes", self.bytes)):
            if count < 0:
                raise ValueError(f"{name}: a count is 0 or more, {count} is not")
        self._check_fields_of_rows()
        self._check_limits()
        if self.path is None:
            self._check_sources()
            self._check_pin()
            self._check_rows()
        else:
            self._check_local()

    @property
    def is_local(self) -> bool:
        """Whether this is the user's own text."""
        return self.path is not None

    @property
    def has_members(self) -> bool:
        """Whether the entry says which members of an archive it takes."""
        return bool(self.take or self.members)

    def _check_sources(self) -> None:
        if not self.sources:
            raise ValueError("sources: at least one is needed (or path, for a text of one's own)")
        for source in self.sources:
            _check_source(source)
        if not _FILENAME.fullmatch(self.filename):
            raise ValueError(
                "filename: needs a plain file name, without a slash and not beginning with a dot, "
                f'not "{self.filename}"'
            )

    def _check_pin(self) -> None:
        pins = [name for name in ("sha256", "sha1", "members") if getattr(self, name)]
        if len(pins) != 1:
            found = " and ".join(pins) or "none of them"
            raise ValueError(f"sha256: exactly one of sha256, sha1, members is needed, not {found}")
        _check_hash("sha256", self.sha256, 64)
        _check_hash("sha1", self.sha1, 40)
        for member, value in self.members.items():
            _check_hash(f"members: {member}", value, 64)
        packed = packing.by_name(self.filename)
        if packed and packed.container and not self.has_members:
            raise ValueError(f"take: needs the members to take from {self.filename}")
        if self.members and self.take:
            raise ValueError("take: members already says what to take")
        if self.digest:
            raise ValueError("digest: belongs to a text of one's own (path)")

    def _check_limits(self) -> None:
        for name, bytes_ in (("limit", self.limit), ("unpack_limit", self.unpack_limit)):
            if bytes_ < 1:
                raise ValueError(f"{name}: needs a number of bytes from 1 on, not {bytes_}")

    def _check_fields_of_rows(self) -> None:
        for one in fields(self):
            is_set = one.name in OF_ROWS and getattr(self, one.name) != one.default
            if is_set and self.documents != "row":
                raise ValueError(
                    f"{one.name}: belongs to `documents: row`, not to {self.documents}"
                )

    def _check_rows(self) -> None:
        """Names that say what is in a file say so before it is downloaded."""
        if self.documents != "row":
            return
        packed = packing.by_name(self.filename)
        names = [*self.members, *self.take] or [packed.stem if packed else self.filename]
        for name in names:
            suffix = PurePosixPath(name).suffix.lower()
            if suffix and not has_magic(suffix) and suffix not in SUFFIXES:
                raise ValueError(
                    f"documents: rows are read from {', '.join(SUFFIXES)} files, and {name} is none"
                )

    def _check_local(self) -> None:
        for name in ("sources", "filename", "sha256", "sha1", "take", "members"):
            if getattr(self, name):
                raise ValueError(f"{name}: a text of one's own (path) has none")
        if self.limit != LIMIT:
            raise ValueError("limit: bounds a download, and a text of one's own (path) has none")
        if self.path:
            _check_hash("digest", self.digest or "(none)", 64)


def _check_source(source: str) -> None:
    if source.startswith("pypi:") and not _PYPI.fullmatch(source):
        raise ValueError(f"sources: {source} is not of the form pypi:NAME==VERSION")
    if not source.strip() or "\0" in source:
        raise ValueError(f'sources: "{source}" is no source')
    scheme, separator, rest = source.partition("://")
    if not separator or scheme == "file":
        return
    if scheme not in ("https", "http"):
        _check_scheme(source, scheme, rest)
        return
    try:
        address = urllib.parse.urlsplit(source)
        complete = bool(address.hostname) and (address.port is None or address.port > 0)
    except ValueError as error:
        raise ValueError(f"sources: {source} is not a valid address ({error})") from None
    if not complete or re.search(r"\s", source):
        raise ValueError(f"sources: {source} is not a valid address")


def _check_scheme(source: str, scheme: str, rest: str) -> None:
    """Any scheme may be fsspec's, which only the download asks; a slip of the usual is told."""
    hint = get_close_matches(scheme, _SCHEMES, n=1, cutoff=0.75)
    if hint or not _SCHEME.fullmatch(scheme) or not rest.strip("/"):
        meant = f'; did you mean "{hint[0]}"?' if hint else ""
        raise ValueError(
            f"sources: {source} begins with none of https://, http://, file:, pypi:, is no path "
            f"and no address such as s3://BUCKET/NAME{meant}"
        )


def _check_hash(name: str, value: str, digits: int) -> None:
    if value and (len(value) != digits or not _HEXADECIMAL.fullmatch(value)):
        raise ValueError(f'{name}: needs {digits} hexadecimal digits in lower case, not "{value}"')
