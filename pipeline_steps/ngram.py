"""Stage ngram: estimate an n-gram model from a tokenizer's training shards."""

from pathlib import Path

from pipeline_steps import settings
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import Text, estimate_to
from textmill.repository import layout
from textmill.shards.reader import read_split
from textmill.tokenizers import store


def main() -> None:
    """Write `models/KEY`."""
    key = settings.key()
    entry = settings.load("ngram", key)["ngrams"][key]
    config: NgramConfig = settings.parse(NgramConfig, entry, f"params.yaml: ngrams.{key}")
    vocabulary = store.load(layout.vocabulary(config.tokenizer)).vocabulary
    shards = layout.shards(config.tokenizer)
    train = _text(shards, "train", vocabulary.fingerprint, config)
    held_out = None
    if config.method == "jelinek_mercer":
        held_out = _text(shards, "valid", vocabulary.fingerprint, config)
    scratch = settings.scratch() / "ngram"
    estimate_to(layout.model(key), train, vocabulary, config, scratch=scratch, held_out=held_out)


def _text(shards: Path, split: str, fingerprint: str, config: NgramConfig) -> Text:
    """Tokens, and where each line begins, or each document where lines are no sentences."""
    lines = read_split(shards, split, fingerprint)
    return lines.tokens, lines.offsets if config.sentence_boundaries else lines.doc_offsets


if __name__ == "__main__":
    settings.run(main)
