"""Stage train: train a recurrent network, keeping the weights that are best on validation."""

import shutil

from pipeline_steps import settings
from textmill.base.files import write_atomically
from textmill.neural.config import NetworkConfig
from textmill.neural.training import train
from textmill.repository import layout
from textmill.shards.reader import read_split
from textmill.tokenizers import store


def main() -> None:
    """Write `models/KEY` and `history/KEY.csv`."""
    key = settings.key()
    entry = settings.load("train", key)["networks"][key]
    config: NetworkConfig = settings.parse(NetworkConfig, entry, f"params.yaml: networks.{key}")
    vocabulary = store.load(layout.vocabulary(config.tokenizer)).vocabulary
    shards = layout.shards(config.tokenizer)
    scratch = settings.scratch()
    train(
        read_split(shards, "train", vocabulary.fingerprint),
        read_split(shards, "valid", vocabulary.fingerprint),
        vocabulary,
        config,
        folder=layout.model(key),
        scratch=scratch,
    )
    write_atomically(layout.history(key), (layout.model(key) / "history.csv").read_bytes())
    shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    settings.run(main)
