"""Reading, cleaning and splitting in memory, as the tests ask for it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from textmill.text import shares
from textmill.text.books import size_of_all
from textmill.text.catalogue import SPLITS, ShareSplits
from textmill.text.clean import Cleaner
from textmill.text.decoding import File
from textmill.text.documents import Document
from textmill.text.profiles import Profiles
from textmill.text.raw import files_of
from textmill.text.reading import Reader, Reading
from textmill.text.splits import assigned, empty_refusal, splits_key
from textmill.text.steps import Step

_PARAMS = Path(__file__).parents[2] / "params.yaml"
LISTS: dict[str, Any] = YAML(typ="safe").load(_PARAMS.read_text(encoding="utf-8"))["profiles"]
PROFILES = Profiles(LISTS)
"""Those of the project's own params.yaml."""


def steps_of(cleaning: Any, normal_form: str = "NFC") -> list[Step]:
    """The steps of a `cleaning` under the project's profiles."""
    return PROFILES.steps(cleaning, normal_form)


def clean(
    documents: Sequence[Document],
    cleaning: Any,
    drop: Callable[[str], str | None] = lambda _: None,
    normal_form: str = "NFC",
) -> tuple[list[Document], list[dict[str, Any]]]:
    """All cleaned documents, and the books."""
    cleaner = Cleaner(steps_of(cleaning, normal_form), normal_form, drop)
    return list(cleaner.clean(documents)), cleaner.records()


def cleaned_texts(cleaning: Any, *texts: str) -> tuple[list[str], list[dict[str, Any]]]:
    """What a cleaning leaves of texts, and the books of its rules."""
    came = [Document(str(i), str(i), text) for i, text in enumerate(texts)]
    kept, books = clean(came, cleaning)
    return [document.text for document in kept], books[1:-1]


def read(
    files: Mapping[str, File], how: Reading | None = None
) -> tuple[list[Document], dict[str, Any] | None]:
    """All documents of files, and the account of the decoding."""
    reader = Reader(files, how)
    documents = list(reader.documents())
    return documents, reader.account(len(documents), size_of_all([d.text for d in documents]))


def assign(documents: Sequence[Document], splits: Any, corpus: str) -> dict[str, list[Document]]:
    """Documents by split, or the refusal of an empty one."""
    if isinstance(splits, ShareSplits):
        splits = shares.decided(splits, len(documents))
    found: dict[str, list[Document]] = {split: [] for split in SPLITS}
    for document in documents:
        for split, piece in assigned(document, splits, splits_key(corpus)):
            found[split].append(piece)
    for split, pieces in found.items():
        if not any(piece.text.strip() for piece in pieces):
            raise empty_refusal(split, lambda: documents, splits, corpus)
    return found


def held(raw: Path) -> dict[str, bytes]:
    """The files of a raw folder, by name."""
    return {name: path.read_bytes() for name, path in files_of(raw).items()}
