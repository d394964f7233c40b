"""Stage ngram: estimate an n-gram model from a tokenizer's training shards."""

from pipeline_steps import settings
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.storage import save
from textmill.repository import layout
from textmill.shards.reader import read_split
from textmill.tokenizers import store


def main() -> None:
    """Write `models/KEY`."""
    key = settings.key()
    entry = settings.load("ngram", key)["ngrams"][key]
    config: NgramConfig = settings.parse(NgramConfig, entry, f"params.yaml: ngrams.{key}")
    vocabulary = store.load(layout.vocabulary(config.tokenizer)).vocabulary
    train = read_split(layout.shards(config.tokenizer), "train", vocabulary.fingerprint)
    model = estimate(train.tokens, train.offsets, vocabulary, config)
    save(model, layout.model(key))


if __name__ == "__main__":
    settings.run(main)
