"""The cleaned corpus: documents read, cleaned and sent to their splits one after the other.

The bytes of a cleaned split are what every model is scored on, so their hash, taken with the
bounds of documents, is what makes two numbers comparable.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.base.progress import Progress
from textmill.text import shares, split_tables
from textmill.text.catalogue import SPLITS, Corpus, ShareSplits
from textmill.text.clean import Cleaner
from textmill.text.decoding import File
from textmill.text.documents import Document
from textmill.text.overlap import overlap, worst
from textmill.text.profiles import Profiles
from textmill.text.reading import Reader, Reading
from textmill.text.split_tables import SplitTable
from textmill.text.splits import assigned, empty_refusal, reasons_to_drop, splits_key

_HELD = ".held.arrow"


def clean_corpus(
    files: Mapping[str, File], corpus: Corpus, name: str, profiles: Profiles, folder: Path
) -> dict[str, Any]:
    """Write `{train,valid,test}.arrow` into `folder`; returns the summary: sizes and sha256 by
    split (`bytes.train` and so on), overlap, and the waterfall of the rules.

    Raises UserError for bad text or splits. The bytes that the rules began with are the bytes of
    the files, and those that they left are the bytes of the splits; anything else is a bug
    (AssertionError). name: the corpus's entry.
    """
    cleaning = _Cleaning(files, corpus, name, profiles)
    with ExitStack() as stack:
        tables = {split: stack.enter_context(SplitTable(_path(folder, split))) for split in SPLITS}
        with Progress(cleaning.reader.bytes, "bytes", "clean") as progress:
            cleaning.reader.advance = progress.advance
            _send(cleaning.documents(), corpus, name, tables, folder / _HELD)
    if not any(table.sizes["documents"] for table in tables.values()):
        raise cleaning.nothing_left()
    if split := next((split for split in SPLITS if not tables[split].has_words), None):
        again = _Cleaning(files, corpus, name, profiles)
        raise empty_refusal(split, again.documents, corpus.splits, name)
    left = sum(table.sizes["bytes"] for table in tables.values())
    waterfall = cleaning.waterfall(left)
    by_split = {split: tables[split].numbers() for split in SPLITS}
    numbers = {key: {s: by_split[s][key] for s in SPLITS} for key in by_split[SPLITS[0]]}
    found = _overlap(folder, corpus.max_overlap)
    return {**numbers, "overlap": found, "waterfall": waterfall}


class _Cleaning:
    """One run over the files of a corpus."""

    def __init__(
        self, files: Mapping[str, File], corpus: Corpus, name: str, profiles: Profiles
    ) -> None:
        self._files, self._corpus, self._name, self._profiles = files, corpus, name, profiles
        self.reader = Reader(files, _reading(corpus, f"corpora.{name}"))
        self._reasons = reasons_to_drop(sorted(files), corpus.splits, name)
        steps = profiles.steps(corpus.cleaning, corpus.normal_form)
        self._cleaner = Cleaner(steps, corpus.normal_form, self._reasons.get)

    def documents(self) -> Iterator[Document]:
        """The cleaned documents, once."""
        return self._cleaner.clean(self.reader.documents())

    def waterfall(self, left: int) -> list[dict[str, Any]]:
        """The books, from the bytes of the files to those of the splits, which are `left`."""
        waterfall = self._cleaner.records()
        if decoding := self.reader.account(*self._cleaner.came()):
            waterfall = [decoding, *waterfall]
        ends = (waterfall[0]["bytes"]["in"], waterfall[-1]["bytes"]["out"])
        if ends != (self.reader.bytes, left):
            raise AssertionError(f"the books begin and end with {ends}, not as files and splits")
        return waterfall

    def nothing_left(self) -> UserError:
        """Why the text is empty, and what was tried that helps."""
        corpus, total = self._corpus, self.reader.bytes
        what = (
            f"no word is left of its {total:,} bytes after cleaning" if total else "it has 0 bytes"
        )
        ways = [
            "pin a text with words: textmill pin PATH" if corpus.is_local else "use another text"
        ]
        if "plain" in self._profiles and self._plain_helps():
            cleaning = corpus.cleaning if isinstance(corpus.cleaning, str) else "a list"
            ways.append(f"set corpora.{self._name}.cleaning: plain (it is {cleaning})")
        where = corpus.path or f"corpus {self._name}"
        return UserError(f"the text is empty: {what}", where=where, next_step=", or ".join(ways))

    def _plain_helps(self) -> bool:
        plain = Cleaner(self._profiles.steps("plain"), drop=self._reasons.get)
        reader = Reader(self._files, _reading(self._corpus, ""))
        return next(plain.clean(reader.documents()), None) is not None


def _path(folder: Path, split: str) -> Path:
    return folder / f"{split}.arrow"


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


def _send(
    documents: Iterator[Document],
    corpus: Corpus,
    name: str,
    tables: Mapping[str, SplitTable],
    held: Path,
) -> None:
    """Every document into the table of its split, or its pieces into those of several."""
    splits, key = corpus.splits, splits_key(name)
    found: Iterable[Document] = documents
    if isinstance(splits, ShareSplits) and splits.unit == "auto":
        number, found = _counted(documents, held)
        splits = shares.decided(splits, number)
    for document in found:
        for split, piece in assigned(document, splits, key):
            tables[split].add(piece)
        del document
    held.unlink(missing_ok=True)


def _counted(documents: Iterator[Document], held: Path) -> tuple[int, Iterable[Document]]:
    """How many documents there are, as far as it matters, and all of them; the counted ones lie on
    disk meanwhile, since a few may be large.
    """
    keys = list[str]()
    with SplitTable(held) as table:
        for document in documents:
            keys.append(document.key)
            table.add(document)
            del document
            if len(keys) == shares.FEWEST_DOCUMENTS:
                break
    first = zip(split_tables.read_documents(held), keys, strict=True)
    return len(keys), chain((document._replace(key=key) for document, key in first), documents)


def _overlap(folder: Path, most: float) -> dict[str, Any]:
    """What of valid and test stands in train, and whether that is too much of test."""
    texts = {split: _Texts(_path(folder, split)) for split in SPLITS}
    train = texts.pop("train")
    found = overlap(train, texts)
    return found | {"max": most, "is_contaminated": worst(found, "test") > most}


class _Texts:
    """The texts of a split, read anew each time that they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[str]:
        return split_tables.read_texts(self._path)
