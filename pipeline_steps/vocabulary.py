"""Stage vocabulary: learn a tokenizer and its spelling model from the training split.

Beside the tokenizer it writes what the vocabulary is like on each split, as numbers and plots.
"""

import logging
from functools import partial
from typing import Annotated

import pyarrow.csv as pa_csv
from pydantic import Field

from pipeline_steps import settings
from textmill.base.files import read_table, replacing, replacing_folder, write_json
from textmill.repository import layout
from textmill.scoring.spelling import train_spelling
from textmill.shards.lines import pieces_of, text_of
from textmill.tokenizers import store
from textmill.tokenizers.report import VocabularyReport
from textmill.tokenizers.spaces import warning_of_words
from textmill.tokenizers.store import TokenizerConfig
from textmill.tokenizers.tokenizer import Tokenizer

CONFIG = Annotated[TokenizerConfig, Field(discriminator="kind")]
SPLITS = ("train", "valid", "test")
_log = logging.getLogger(__name__)


def main() -> None:
    """Write `data/vocabulary/KEY`, its numbers and the tables of its plots."""
    key = settings.key()
    entry = settings.load("vocabulary", key)["tokenizers"][key]
    config = settings.parse(CONFIG, entry, f"params.yaml: tokenizers.{key}")
    text = text_of(partial(read_table, layout.clean_split("train")))
    if config.kind == "word" and (warning := warning_of_words(text, key)):
        _log.warning("%s", warning)
    tokenizer, unknown_types = store.train(text, config, key)
    with replacing_folder(layout.vocabulary(key)) as folder:
        store.save(tokenizer, config, folder)
        if tokenizer.vocabulary.unknown != "none":
            spelling = train_spelling(unknown_types, tokenizer.vocabulary, tokenizer.unit)
            spelling.save(folder / "spelling")
    _report(tokenizer, key)


def _report(tokenizer: Tokenizer, key: str) -> None:
    report = VocabularyReport(tokenizer)
    for split in SPLITS:
        for lines in pieces_of(partial(read_table, layout.clean_split(split))):
            report.add(split, tokenizer.encode(lines.text))
    folder = layout.vocabulary_report(key)
    write_json(folder / "summary.json", report.summary())
    for name, table in report.tables().items():
        with replacing(folder / f"{name}.csv") as path:
            pa_csv.write_csv(table, path)


if __name__ == "__main__":
    settings.run(main)
