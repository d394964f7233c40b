"""The cleaned corpus: documents by split, as tables and as numbers.

The bytes of a cleaned split are what every model is scored on, so their hash, taken with the
bounds of documents, is what makes two numbers comparable.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from textmill.base.errors import UserError
from textmill.base.progress import Progress
from textmill.text.catalogue import SPLITS, Corpus
from textmill.text.clean import clean
from textmill.text.documents import Document, Reading, read_documents
from textmill.text.overlap import overlap, worst
from textmill.text.profiles import steps_of
from textmill.text.shares import Assigned
from textmill.text.splits import assign, reasons_to_drop

_BLANK_LINE = re.compile(r"^\n", re.MULTILINE)
_SCHEMA = pa.schema([("doc_id", pa.string()), ("text", pa.large_string()), ("n_bytes", pa.int64())])


@dataclass(frozen=True, slots=True)
class CleanedCorpus:
    """Documents by split and the books of the rules, in order."""

    splits: Assigned
    waterfall: list[dict[str, Any]]
    max_overlap: float

    def table(self, split: str) -> pa.Table:
        """A row a document: doc_id, text (each line ended by LF), n_bytes."""
        documents = self.splits[split]
        columns = [
            [document.id for document in documents],
            [document.text for document in documents],
            [document.size for document in documents],
        ]
        return pa.table(columns, schema=_SCHEMA)

    def summary(self) -> dict[str, Any]:
        """Sizes and sha256 by split (`bytes.train` and so on), overlap, and the waterfall."""
        sizes = {split: _sizes(self.splits[split]) for split in SPLITS}
        names = sizes[SPLITS[0]]
        by_name = {name: {split: sizes[split][name] for split in SPLITS} for name in names}
        return {**by_name, "overlap": self._overlap(), "waterfall": self.waterfall}

    def _overlap(self) -> dict[str, Any]:
        """What of valid and test stands in train, and whether that is too much of test."""
        texts = {split: [document.text for document in self.splits[split]] for split in SPLITS}
        train = texts.pop("train")
        found = overlap(train, texts)
        too_much = worst(found, "test") > self.max_overlap
        return found | {"max": self.max_overlap, "is_contaminated": too_much}


def clean_corpus(files: dict[str, bytes], corpus: Corpus, name: str) -> CleanedCorpus:
    """From raw files (name -> bytes) to cleaned splits. Raises UserError for bad text or splits.

    The bytes that the rules began with are the bytes of the files, and those that they left are
    the bytes of the splits; anything else is a bug (AssertionError). name: the corpus's entry.
    """
    total = sum(len(data) for data in files.values())
    documents, decoding = read_documents(files, _reading(corpus, f"corpora.{name}"))
    reasons = reasons_to_drop(sorted(files), corpus.splits, name)

    def drop(document: Document) -> str | None:
        return reasons.get(document.file)

    steps = steps_of(corpus.cleaning, corpus.normal_form)
    kept, waterfall = clean(_watched(documents), steps, drop, corpus.normal_form)
    if not kept:
        plain_helps = bool(clean(documents, "plain", drop)[0])
        raise _nothing_left(name, corpus, total, plain_helps=plain_helps)
    waterfall = [decoding, *waterfall] if decoding else waterfall
    splits = assign(kept, corpus.splits, name)
    left = sum(document.size for split in SPLITS for document in splits[split])
    if (waterfall[0]["bytes"]["in"], waterfall[-1]["bytes"]["out"]) != (total, left):
        raise AssertionError(f"the books begin or end with other bytes: {total} in, {left} out")
    if decoding and decoding["bytes"]["out"] != waterfall[1]["bytes"]["in"]:
        raise AssertionError("the rules began with other bytes than the decoding left")
    return CleanedCorpus(splits, waterfall, corpus.max_overlap)


def _reading(corpus: Corpus, key: str) -> Reading:
    return Reading(
        kind=corpus.documents,
        encoding=corpus.encoding,
        errors=corpus.decoding_errors,
        text_column=corpus.text_column,
        id_column=corpus.id_column,
        quoting=corpus.quoting,
        key=key,
    )


def _nothing_left(name: str, corpus: Corpus, total: int, *, plain_helps: bool) -> UserError:
    what = f"no word is left of its {total:,} bytes after cleaning" if total else "it has 0 bytes"
    ways = ["pin a text with words: textmill pin PATH" if corpus.is_local else "use another text"]
    if plain_helps:
        cleaning = corpus.cleaning if isinstance(corpus.cleaning, str) else "a list"
        ways.append(f"set corpora.{name}.cleaning: plain (it is {cleaning})")
    where = corpus.path or f"corpus {name}"
    return UserError(f"the text is empty: {what}", where=where, next_step=", or ".join(ways))


def _watched(documents: Sequence[Document]) -> Iterator[Document]:
    total = sum(len(document.text) for document in documents)
    with Progress(total, "characters", "clean") as progress:
        for document in documents:
            yield document
            progress.advance(len(document.text))


def split_sha256(texts: Iterable[str]) -> str:
    """sha256 over a split's documents, each as its length in bytes (8, little-endian) and bytes."""
    total = hashlib.sha256()
    for text in texts:
        data = text.encode()
        total.update(len(data).to_bytes(8, "little"))
        total.update(data)
    return total.hexdigest()


def _sizes(documents: Sequence[Document]) -> dict[str, int | str]:
    texts = [document.text for document in documents]
    lines = sum(text.count("\n") for text in texts)
    blank = sum(len(_BLANK_LINE.findall(text)) for text in texts)
    return {
        "documents": len(documents),
        "lines": lines,
        "bytes": sum(document.size for document in documents),
        "characters": sum(map(len, texts)),
        # Text is canonical: a line of w words holds w - 1 spaces.
        "words": sum(text.count(" ") for text in texts) + lines - blank,
        "sha256": split_sha256(texts),
    }
