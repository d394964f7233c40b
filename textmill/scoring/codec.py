"""What the shard stage needs of a tokenizer's folder: the tokenizer and its spelling bill."""

from pathlib import Path

from textmill.scoring.spelling import load_spelling, no_bill
from textmill.shards.writer import Codec
from textmill.tokenizers import store


def load_codec(folder: Path) -> Codec:
    """Read what the vocabulary stage wrote. A UserError names what is missing or damaged."""
    tokenizer = store.load(folder)
    has_unknown = tokenizer.vocabulary.unknown != "none"
    return Codec(tokenizer, load_spelling(folder / "spelling").nats if has_unknown else no_bill)
