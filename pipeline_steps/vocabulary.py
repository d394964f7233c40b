"""Stage vocabulary: learn a tokenizer and its spelling model from the training split."""

from typing import Annotated

import pyarrow as pa
from pydantic import Field

from pipeline_steps import settings
from textmill.base.files import read_table, replacing_folder
from textmill.repository import layout
from textmill.scoring.spelling import train_spelling
from textmill.shards.lines import lines_of
from textmill.tokenizers import store
from textmill.tokenizers.store import TokenizerConfig

CONFIG = Annotated[TokenizerConfig, Field(discriminator="kind")]


def main() -> None:
    """Write `data/vocabulary/KEY`."""
    key = settings.key()
    entry = settings.load("vocabulary", key)["tokenizers"][key]
    config = settings.parse(CONFIG, entry, f"params.yaml: tokenizers.{key}")
    train: pa.Table = read_table(layout.clean_split("train"))
    tokenizer, unknown_types = store.train(lines_of(train).text, config, key)
    with replacing_folder(layout.vocabulary(key)) as folder:
        store.save(tokenizer, config, folder)
        if tokenizer.vocabulary.unknown != "none":
            spelling = train_spelling(unknown_types, tokenizer.vocabulary, tokenizer.unit)
            spelling.save(folder / "spelling")


if __name__ == "__main__":
    settings.run(main)
