"""Documents that are rows: one column of JSON Lines, Parquet, CSV or TSV, by pyarrow's readers.

Text stays text. Only the wanted columns are read, as strings: no value is guessed to be a number,
a date or missing, so `NA`, `1.0`, `2020-01-01` and the empty string are what they are. A value
that is no text in its own format (a number of JSON, a column of integers) is refused, since there
is more than one way to spell it. CSV is read by RFC 4180: a field in quotes may hold line breaks,
the delimiter, and a quote written twice.
"""

import io
import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from textmill.base.errors import UserError, nearest

_LARGEST_BLOCK = 2**31 - 1
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON = (".jsonl", ".ndjson")
_PARQUET = ".parquet"
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


def read_columns(
    name: str, data: bytes, columns: Sequence[str], *, quoting: bool = True
) -> list[list[str | None]]:
    """Columns of a file's rows (UTF-8 without a mark, or Parquet); None only where JSON or Parquet
    has no value. Raises UserError for a column that is not there or holds something else.
    """
    suffix, wanted = suffix_of(name), list(dict.fromkeys(columns))
    if not data or (suffix in _JSON and not data.strip()):
        return [[] for _ in columns]
    try:
        if suffix in _DELIMITERS:
            table = _delimited(data, wanted, _DELIMITERS[suffix], quoting=quoting)
        elif suffix in _JSON:
            table = _json_lines(data, wanted)
        else:
            table = _parquet(name, data, wanted)
        found = [_text(name, column, table[column]) for column in wanted]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        first = str(error).partition("\n")[0]
        raise UserError(
            f"it is not a whole {suffix} file with text under {' and '.join(wanted)} ({first})",
            where=name,
            next_step="look at the file, or name another column under text_column",
        ) from None
    except KeyError:
        raise _missing(name, data, wanted) from None
    return [found[wanted.index(column)] for column in columns]


def _delimited(data: bytes, columns: list[str], delimiter: str, *, quoting: bool) -> pa.Table:
    return pa.csv.read_csv(
        io.BytesIO(data),
        pa.csv.ReadOptions(use_threads=False, block_size=min(len(data) + 1, _LARGEST_BLOCK)),
        pa.csv.ParseOptions(
            delimiter=delimiter,
            quote_char='"' if quoting else False,
            newlines_in_values=quoting,
        ),
        pa.csv.ConvertOptions(
            column_types={column: pa.large_string() for column in columns},
            include_columns=columns,
            null_values=[],
            strings_can_be_null=False,
            quoted_strings_can_be_null=False,
        ),
    )


def _json_lines(data: bytes, columns: list[str]) -> pa.Table:
    table = pa.json.read_json(
        io.BytesIO(data),
        pa.json.ReadOptions(use_threads=False, block_size=min(len(data) + 1, _LARGEST_BLOCK)),
        pa.json.ParseOptions(
            explicit_schema=pa.schema([(column, pa.string()) for column in columns]),
            unexpected_field_behavior="ignore",
        ),
    )
    if any(table[column].null_count == len(table) for column in columns):
        raise KeyError
    return table


def _parquet(name: str, data: bytes, columns: list[str]) -> pa.Table:
    file = pa.parquet.ParquetFile(pa.BufferReader(data))
    for column in columns:
        kind = file.schema_arrow.field(column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise UserError(
                f"its column {column} is {kind}, not text",
                where=name,
                next_step="name a column of strings under text_column",
            )
    return file.read(columns=columns, use_threads=False)


def _text(name: str, column: str, values: pa.ChunkedArray) -> list[str | None]:
    try:
        found: list[str | None] = pc.cast(values, pa.large_string()).to_pylist()
    except UnicodeDecodeError:
        raise UserError(f"its column {column} is not valid Unicode", where=name) from None
    return found


def _missing(name: str, data: bytes, wanted: list[str]) -> UserError:
    there = _names(name, data)
    column = next((one for one in wanted if one not in there), wanted[0])
    return UserError(
        f'no row has text in a column "{column}"{nearest(column, there)}',
        where=name,
        next_step=f"set text_column to one of: {', '.join(there)}",
    )


def _names(name: str, data: bytes) -> list[str]:
    """The columns that a file has; of JSON Lines those of the first row."""
    suffix = suffix_of(name)
    if suffix in _DELIMITERS:
        table = pa.csv.read_csv(
            io.BytesIO(data.partition(b"\n")[0] + b"\n"),
            parse_options=pa.csv.ParseOptions(delimiter=_DELIMITERS[suffix]),
        )
        return list(table.column_names)
    if suffix == _PARQUET:
        return list(pa.parquet.read_schema(pa.BufferReader(data)).names)
    first: Any = json.loads(data.lstrip().partition(b"\n")[0])
    return list(first) if isinstance(first, dict) else []
