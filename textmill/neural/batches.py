"""The training split in the order that `batches` names: contiguous columns or random windows."""

from textmill.neural.columns import Columns
from textmill.neural.config import NetworkConfig
from textmill.neural.text import TrainingText
from textmill.neural.windows import Windows
from textmill.shards.reader import Lines
from textmill.tokenizers.vocabulary import Vocabulary

Chunks = Columns | Windows


def make_chunks(lines: Lines, vocabulary: Vocabulary, config: NetworkConfig) -> Chunks:
    """The chunks of all steps. UserError for a split that is empty or shorter than a batch."""
    text = TrainingText(lines, vocabulary, config.seed)
    if config.batches == "random":
        return Windows(text, batch=config.batch, bptt=config.bptt, seed=config.seed)
    return Columns(
        text,
        batch=config.batch,
        bptt=config.bptt,
        seed=config.seed,
        truncation=config.truncation or "fixed",
        continuation=config.continuation or 0.0,
    )
