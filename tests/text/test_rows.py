import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.cleaning import clean, read
from textmill.base.errors import UserError
from textmill.text.reading import Reading

VALUES = [
    "NA",
    "",
    "1.0",
    "2020-01-01",
    "null",
    "True",
    "007",
    'say "hi", ok',
    "two\nlines\r\nhere",
]
FIELDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)


def as_csv(texts: list[str], delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerows([("n", "text"), *((str(i), text) for i, text in enumerate(texts))])
    return out.getvalue().encode()


def as_parquet(column: pa.Array) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": column}), sink)
    return sink.getvalue().to_pybytes()


def twice() -> bytes:
    """Parquet with two columns of one name."""
    sink = pa.BufferOutputStream()
    column = pa.array(["a"])
    pq.write_table(pa.table([column, column], names=["text", "text"]), sink)
    return sink.getvalue().to_pybytes()


TWICE = twice()


def as_jsonl(texts: list[str]) -> bytes:
    return "".join(json.dumps({"n": i, "text": t}) + "\n" for i, t in enumerate(texts)).encode()


def texts(name: str, data: bytes, **how: object) -> list[str]:
    return [d.text for d in read({name: data}, Reading(kind="row", **how))[0]]


def test_text_stays_text_in_every_format() -> None:
    assert texts("x.csv", as_csv(VALUES)) == VALUES
    assert texts("x.tsv", as_csv(VALUES, "\t")) == VALUES
    assert texts("x.jsonl", as_jsonl(VALUES)) == VALUES
    assert texts("x.ndjson", as_jsonl(VALUES)) == VALUES
    assert texts("x.parquet", as_parquet(pa.array(VALUES))) == VALUES
    assert texts("x.PARQUET", as_parquet(pa.array(VALUES).dictionary_encode())) == VALUES


def test_bare_values_of_csv_are_not_guessed_either() -> None:
    bare = [value for value in VALUES if value and value.isprintable() and '"' not in value]
    data = "\n".join(["text,n", *(f"{value},1" for value in bare)]).encode()
    assert texts("x.csv", data) == bare


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(FIELDS, min_size=1, max_size=5))
def test_pythons_own_writers_are_read_back(fields: list[str]) -> None:
    assert texts("x.csv", as_csv(fields)) == fields
    assert texts("x.jsonl", as_jsonl(fields)) == fields


def test_without_quoting_a_quote_is_a_character_like_any_other() -> None:
    data = b'text\tn\n"Hello," she said\t1\n"\t2\n'
    assert texts("x.tsv", data, quoting=False) == ['"Hello," she said', '"']


@pytest.mark.parametrize("quoting", [True, False])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CR LF", "CR"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_an_empty_line_is_an_empty_text_where_there_is_one_column(name, end, quoting) -> None:
    data = "text\na\n\nb\n\n".replace("\n", end).encode()
    documents, _ = read({name: data}, Reading(kind="row", quoting=quoting))
    assert [(d.id, d.text) for d in documents] == [
        (f"{name}:{number:05d}", text) for number, text in enumerate(("a", "", "b", ""), 1)
    ]
    two = "n,text\n1,a\n\n2,b\n".replace("\n", end).replace(",", "\t" if "tsv" in name else ",")
    assert texts(name, two.encode(), quoting=quoting) == ["a", "b"], "elsewhere it is no row"


def test_empty_texts_of_one_column_stand_in_the_books() -> None:
    documents = read({"x.csv": b"text\na\n\nb\n"}, Reading(kind="row"))[0]
    cleaned, books = clean(documents, "plain")
    assert [d.id for d in cleaned] == ["x.csv:00001", "x.csv:00003"]
    assert books[-1]["reasons"]["no word left"] == {"documents": 1, "examples": ["x.csv:00002"]}


def test_rows_are_numbered_or_named_and_missing_texts_counted() -> None:
    data = b'{"text": "a", "id": "p"}\n{"id": "q"}\n{"text": null, "id": "r"}\n{"text": "b", "id": "s"}\n'
    documents, books = read({"x.jsonl": data}, Reading(kind="row"))
    assert [(d.id, d.file) for d in documents] == [
        ("x.jsonl:00001", "x.jsonl"),
        ("x.jsonl:00004", "x.jsonl"),
    ]
    assert books is not None
    assert books["documents"] == {"in": 4, "out": 2, "dropped": 2}
    assert books["bytes"] == {"in": len(data), "out": 2, "dropped": len(data) - 2}
    reasons = books["reasons"]["no text in the column"]
    assert reasons == {"documents": 2, "examples": ["x.jsonl:00002", "x.jsonl:00003"]}
    named = read({"x.jsonl": data}, Reading(kind="row", id_column="id"))[0]
    assert [d.id for d in named] == ["p", "s"]


@pytest.mark.parametrize("first", [b"null\n", b" null\r\n", b"null\nnull\n"])
def test_a_null_line_is_a_row_without_text_wherever_it_stands(first: bytes) -> None:
    """pyarrow's reader ends the process where one comes first."""
    data = first + b'{"text": "null"}\nnull\n'
    documents, books = read({"x.jsonl": data}, Reading(kind="row"))
    assert [d.text for d in documents] == ["null"]
    assert books is not None
    assert books["documents"]["in"] == data.count(b"\n")


def test_a_declared_encoding_holds_for_rows_of_text() -> None:
    assert texts("x.csv", "text\ncafé\n".encode("latin-1"), encoding="latin-1") == ["café"]
    assert texts("x.csv", "text\n江雪\n".encode("utf-16")) == ["江雪"]


def test_a_row_of_megabytes_is_one_document() -> None:
    long = "word " * 1_000_000
    assert texts("x.jsonl", as_jsonl([long, "b"])) == [long, "b"]
    assert texts("x.csv", as_csv([long, "b"])) == [long, "b"]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        (
            "x.csv",
            b"txt,n\na,1\n",
            ['x.csv: no row has text in a column "text"', '"txt"', "txt, n"],
        ),
        ("x.jsonl", b'{"texts": "a"}\n', ['a column "text"; did you mean "texts"?']),
        (
            "x.jsonl",
            b'{"n": 1}\r{"n": 2}\r',
            ['a column "text"\n  -> set text_column to one of: n'],
        ),
        ("x.jsonl", b'{"n": 1} {"n": 2}\n', ['a column "text"\n  -> set text_column to one of: n']),
        ("x.jsonl", b'{"n": ' + b"1" * 5000 + b"}\n", ["set text_column to one of: n"]),
        ("x.jsonl", b'{"n": 1\n, "m": 2}\n', ["set text_column to one of: the keys of its rows"]),
        ("x.jsonl", b"[" * 500 + b"]" * 500 + b"\n", ["x.jsonl: it is not a whole .jsonl file"]),
        (
            "x.jsonl",
            b'{"n": ' + b"[" * 5_000 + b"]" * 5_000 + b"}\n",
            ["set text_column to one of: the keys of its rows"],
        ),
        (
            "x.jsonl",
            b'{"text": "\\ud800"}\n',
            ["x.jsonl: it is not a whole .jsonl file", "surrogate"],
        ),
        ("x.jsonl", b'{"text": 1}\n', ["x.jsonl: it is not a whole .jsonl file with text"]),
        ("x.jsonl", b'{"text": "a"\n', ["x.jsonl: it is not a whole .jsonl file"]),
        (
            "x.csv",
            b"text,n\na,1\nb\n",
            ["x.csv: it is not a whole .csv file", "Expected 2 columns"],
        ),
        ("x.parquet", b"PAR1 no", ["x.parquet: it is not a whole .parquet file"]),
        ("x.parquet", as_parquet(pa.array([1, 2])), ["its column text is int64, not text"]),
        (
            "x.csv",
            b"n,text,text\n1,a,b\n",
            ['x.csv: it has 2 columns named "text"\n  -> rename all'],
        ),
        ("x.tsv", b"text\ttext\ttext\n", ['x.tsv: it has 3 columns named "text"']),
        ("x.parquet", TWICE, ['x.parquet: it has 2 columns named "text"']),
        ("x.csv", b'text,"te\nxt"\na,b\n', ["begins with 'te' has a line break in its name"]),
        ("x.csv", b'"te\r\nxt",body\na,b\n', ["begins with 'te' has a line break in its name"]),
        ("x.csv", b'"te\rxt",body\ra,b\r', ["begins with 'te' has a line break in its name"]),
        ("x.csv", b'text,"unclosed\na,b\n', ["begins with 'unclosed' has", "set quoting: false"]),
        ("x.csv", b"a" * 200_000 + b"\nb\n", ["no list of columns (field larger than"]),
        ("x.csv", b"txt,n\ra,1\r", ['no row has text in a column "text"', "txt, n"]),
        ("x.txt", b"a", ["x.txt: rows are read from .jsonl, .ndjson, .parquet, .csv, .tsv"]),
    ],
)
def test_what_is_no_column_of_text_is_one_message(name: str, data: bytes, words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        texts(name, data)
    for part in words:
        assert part in str(caught.value)


def test_columns_beside_the_wanted_one_may_have_any_name() -> None:
    assert texts("x.csv", b'n,n,"a ""b"", c",text\n1,2,3,a\n') == ["a"]
    assert texts("x.csv", b'text,"n\na,1\n', quoting=False) == ["a"]
    assert texts("x.csv", b"text,n\ra,1\rb,2\r") == ["a", "b"]


def test_two_rows_of_one_name_are_refused() -> None:
    data = b"id,text\np,a\np,b\n"
    with pytest.raises(UserError, match='two rows have the same id, "p"'):
        texts("x.csv", data, id_column="id")


def test_files_without_a_row_have_none() -> None:
    for name, data in (
        ("x.csv", b""),
        ("x.csv", b"text\n"),
        ("x.jsonl", b""),
        ("x.jsonl", b"\n\n"),
    ):
        assert texts(name, data) == []
