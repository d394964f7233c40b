"""Documents that are rows: one column of JSON Lines, Parquet, CSV or TSV, by pyarrow's readers.

Text stays text. Only the wanted columns are read, as strings: no value is guessed to be a number,
a date or missing, so `NA`, `1.0`, `2020-01-01` and the empty string are what they are. A value
that is no text in its own format (a number of JSON, a column of integers) is refused, since there
is more than one way to spell it. CSV is read by RFC 4180: a field in quotes may hold line breaks,
the delimiter, and a quote written twice.
"""

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from textmill.base.errors import UserError, nearest
from textmill.text.header import check_once, header_of

Rows = list[list[str | None]]
"""Columns of some rows."""

_LARGEST_BLOCK = 2**31 - 1
_NULL_LINE = re.compile(rb"(?m)^[ \t]*null[ \t\r]*$")
"""A row without anything in it, as `{}` is."""
_LARGEST_ROW = 1 << 26
"""Bytes of CSV that are parsed at a time: a row may have as many."""
_BLOCK = 1 << 20
_ROWS = 1 << 13
"""Rows of Parquet that are read at a time."""
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson")
_PARQUET = ".parquet"
_FIRST_VALUE = json.JSONDecoder(parse_int=float)
"""Python turns no more than 4,300 digits into an integer."""
SUFFIXES = (*_JSON, _PARQUET, *_DELIMITERS)


def suffix_of(name: str) -> str:
    """The kind of a file by its name's ending. Raises UserError for one that holds no rows."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(
            f"rows are read from {', '.join(SUFFIXES)} files, and this is none",
            where=name,
            next_step="rename it, or set `documents: file` for plain text",
        )
    return suffix


def is_binary(name: str) -> bool:
    """Whether the file is no text, so that it has no encoding."""
    return suffix_of(name) == _PARQUET


def read_rows(
    name: str, blocks: Iterable[bytes], columns: Sequence[str], *, quoting: bool = True
) -> Iterator[Rows]:
    """Columns of a file's rows, some rows at a time. blocks: the file as UTF-8 without a mark.

    A value is None only where JSON has none. Raises UserError for a column that is not there or
    holds something else.
    """
    suffix, wanted = suffix_of(name), list(dict.fromkeys(columns))
    head, blocks = _first_line(blocks, b" \t\r\n" if suffix in _JSON else b"\r\n")
    if not head:
        return
    if suffix in _JSON:
        yield from _read(name, _json_lines(blocks, wanted), columns, lambda: _keys(head))
        return
    delimiter = _DELIMITERS[suffix]
    header = header_of(name, head, delimiter, quoting=quoting)
    check_once(name, header, wanted)
    # In a file of one column an empty line is an empty text; elsewhere it is no row.
    has_empty_rows = len(header) == 1
    tables = _delimited(blocks, wanted, delimiter, quoting=quoting, has_empty_rows=has_empty_rows)
    yield from _read(name, tables, columns, lambda: header)


def read_parquet(name: str, file: bytes | Path, columns: Sequence[str]) -> Iterator[Rows]:
    """The same of a Parquet file; a value may be missing there too."""
    if not (file.stat().st_size if isinstance(file, Path) else file):
        return
    source = file if isinstance(file, Path) else pa.BufferReader(file)
    wanted = list(dict.fromkeys(columns))
    there: list[str] = []
    yield from _read(name, _parquet(name, source, wanted, there), columns, lambda: there)


def _read(
    name: str, tables: Iterator[pa.Table], columns: Sequence[str], there: Callable[[], list[str]]
) -> Iterator[Rows]:
    """Columns of tables as lists, and one message for whatever is wrong with the file."""
    rows, suffix, wanted = 0, suffix_of(name), " and ".join(dict.fromkeys(columns))
    try:
        for table in tables:
            yield [_text(name, column, table[column]) for column in columns]
            rows += len(table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        first = str(error).partition("\n")[0]
        after = f", read up to row {rows:,}" if rows else ""
        raise UserError(
            f"it is not a whole {suffix} file with text under {wanted} ({first}{after})",
            where=name,
            next_step="look at the file, or name another column under text_column",
        ) from None
    except KeyError:
        raise _missing(name, there(), columns) from None


def _first_line(blocks: Iterable[bytes], blank: bytes) -> tuple[bytes, Iterator[bytes]]:
    """The first line with more than `blank` bytes, and all blocks. Nothing of a file without."""
    blocks, found = iter(blocks), b""
    for block in blocks:
        found = (found + block).lstrip(blank)
        if b"\n" in found:
            break
    line = found.partition(b"\n")[0] + b"\n" if found else b""
    return line, chain([found], blocks)


def _delimited(
    blocks: Iterator[bytes],
    columns: list[str],
    delimiter: str,
    *,
    quoting: bool,
    has_empty_rows: bool,
) -> Iterator[pa.Table]:
    reader = pa.csv.open_csv(
        io.BufferedReader(_Stream(blocks), _BLOCK),
        pa.csv.ReadOptions(use_threads=False, block_size=_LARGEST_ROW),
        pa.csv.ParseOptions(
            delimiter=delimiter,
            quote_char='"' if quoting else False,
            newlines_in_values=quoting,
            ignore_empty_lines=not has_empty_rows,
        ),
        pa.csv.ConvertOptions(
            column_types={column: pa.large_string() for column in columns},
            include_columns=columns,
            null_values=[],
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        ),
    )
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _json_lines(blocks: Iterator[bytes], columns: list[str]) -> Iterator[pa.Table]:
    """A line is a row, so blocks are cut at line ends. A column without any text is a KeyError."""
    found = dict.fromkeys(columns, False)
    for data in _whole_lines(blocks):
        # A null in a block's first line is a segmentation fault of pyarrow's (25.0.1).
        rows = _NULL_LINE.sub(b"{}", data)
        table = pa.json.read_json(
            io.BytesIO(rows),
            pa.json.ReadOptions(use_threads=False, block_size=min(len(rows) + 1, _LARGEST_BLOCK)),
            pa.json.ParseOptions(
                explicit_schema=pa.schema([(column, pa.string()) for column in columns]),
                unexpected_field_behavior="ignore",
            ),
        )
        for column in columns:
            found[column] |= table[column].null_count < len(table)
        yield table
    if not all(found.values()):
        raise KeyError


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The bytes in blocks that end where lines do; those without a row are left out."""
    held: list[bytes] = []
    for block in blocks:
        whole, line_end, rest = block.rpartition(b"\n")
        if line_end and (data := b"".join([*held, whole, line_end])).strip():
            yield data
        held = [rest] if line_end else [*held, rest]
    if (data := b"".join(held)).strip():
        yield data


def _parquet(name: str, source: Any, columns: list[str], there: list[str]) -> Iterator[pa.Table]:
    """there: filled with the names of the columns that the file has."""
    file = pa.parquet.ParquetFile(source)
    there += file.schema_arrow.names
    check_once(name, there, columns)
    for column in columns:
        kind = file.schema_arrow.field(column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise UserError(
                f"its column {column} is {kind}, not text",
                where=name,
                next_step="name a column of strings under text_column",
            )
    for batch in file.iter_batches(_ROWS, columns=columns, use_threads=False):
        yield pa.Table.from_batches([batch])


class _Stream(io.RawIOBase):
    """Blocks of bytes as a file to read."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._left = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as one block goes; 0 at the end."""
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = block
        n = min(len(buffer), len(self._left))
        buffer[:n], self._left = self._left[:n], self._left[n:]
        return n


def _text(name: str, column: str, values: pa.ChunkedArray) -> list[str | None]:
    try:
        found: list[str | None] = pc.cast(values, pa.large_string()).to_pylist()
    except UnicodeDecodeError:
        raise UserError(f"its column {column} is not valid Unicode", where=name) from None
    return found


def _missing(name: str, there: list[str], wanted: Sequence[str]) -> UserError:
    column = next((one for one in wanted if one not in there), wanted[0])
    return UserError(
        f'no row has text in a column "{column}"{nearest(column, there)}',
        where=name,
        next_step=f"set text_column to one of: {', '.join(there) or 'the keys of its rows'}",
    )


def _keys(head: bytes) -> list[str]:
    """The keys of the first row of JSON Lines, by its beginning, which pyarrow need not read as a
    line: it takes rows that lone CRs end, or nothing but a space. None where they cannot be told.
    """
    try:
        first, _ = _FIRST_VALUE.raw_decode(head.decode().lstrip())
    except (ValueError, RecursionError):
        return []
    return list(first) if isinstance(first, dict) else []
