"""Documents that their files do not name keep their split when others come, wherever those stand."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.text.cleaning import PROFILES, assign, clean, read
from textmill.text import split_tables
from textmill.text.catalogue import SPLITS, Corpus, ShareSplits
from textmill.text.cleaned import clean_corpus
from textmill.text.reading import Reading

SHARES = ShareSplits(by="share", valid=0.3, test=0.3)
OLD = [f"Document {number} tells of {number % 7} things." for number in range(60)]
NEW = "This one came later."


def as_rows(texts, suffix, ids=None):
    rows = [{"text": text} | ({"id": ids[n]} if ids else {}) for n, text in enumerate(texts)]
    if suffix == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if suffix == "parquet":
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue().to_pybytes()
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], delimiter="\t" if suffix == "tsv" else ",")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def as_articles(texts):
    return "".join(f" \n = Title {text[:12]} = \n \n {text} \n" for text in texts).encode()


FILES = {
    "paragraph": ("all.txt", lambda texts: "\n\n".join(texts).encode()),
    "line": ("all.txt", lambda texts: "\n".join(texts).encode()),
    "article": ("all.txt", as_articles),
    **{
        f"row {suffix}": (f"all.{suffix}", lambda texts, suffix=suffix: as_rows(texts, suffix))
        for suffix in ("jsonl", "parquet", "csv", "tsv")
    },
}


def corpus_of(kind):
    return Corpus(
        title="T", licence="CC0", cleaning="plain", documents=kind, path="t", digest="a" * 64,
        splits=ShareSplits(by="share", valid=0.3, test=0.3),
    )  # fmt: skip


def splits_of(kind, texts, folder):
    """The split of each text, by the stage's own way through files on disk."""
    name, written = FILES[kind]
    folder.mkdir()
    clean_corpus({name: written(texts)}, corpus_of(kind.split()[0]), "t", PROFILES, folder)
    found = {}
    for split in SPLITS:
        for document in split_tables.read_documents(folder / f"{split}.arrow"):
            found[document.text.strip().rpartition("\n")[2]] = split
    return found


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("place", [0, 31, len(OLD)])
def test_a_document_more_moves_no_other(kind, place, tmp_path):
    before = splits_of(kind, OLD, tmp_path / "before")
    assert set(before) == set(OLD)
    assert set(before.values()) == set(SPLITS)
    after = splits_of(kind, [*OLD[:place], NEW, *OLD[place:]], tmp_path / "after")
    assert after.pop(NEW)
    assert after == before


def test_rows_with_names_go_by_them(tmp_path):
    """Another text under the same name stays where it was."""
    names = [f"n{number}" for number in range(60)]
    how = Reading(kind="row", id_column="id")

    def splits(texts):
        documents = read({"a.csv": as_rows(texts, "csv", names)}, how)[0]
        found = assign(clean(documents, "plain")[0], SHARES, "t")
        return {document.id: split for split in SPLITS for document in found[split]}

    assert splits(OLD) == splits([text + " Again." for text in OLD])


def test_what_is_the_same_text_goes_to_the_same_split(tmp_path):
    texts = [text for text in OLD for _ in range(2)]
    name, written = FILES["line"]
    documents = read({name: written(texts)}, Reading(kind="line"))[0]
    found = assign(clean(documents, "plain")[0], SHARES, "t")
    assert sum(map(len, found.values())) == 120
    assert sum(len({d.text for d in pieces}) for pieces in found.values()) == 60
