"""A model of scores has no perplexity, no rank and no place in a mixture."""

import pyarrow as pa
import pytest

from pipeline_steps.mix import _refuse_scores
from textmill.base.errors import UserError
from textmill.base.files import read_json, write_json, write_table
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.scoring.comparison import ROUNDED, SCORES_ONLY
from textmill.scoring.evaluation import About, evaluate
from textmill.scoring.spelling import train_spelling
from textmill.shards.reader import read_split
from textmill.shards.work import write_splits
from textmill.shards.writer import Codec
from textmill.tokenizers import store
from textmill.tokenizers.words import WordConfig

TEXTS = {"train": "a b a b\nb a b a c\n", "valid": "a b\n", "test": "b a c\n\nd\n"}


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """The summary of a stupid backoff model."""
    folder = tmp_path_factory.mktemp("scores")
    found = summary_of(NgramConfig("word", "stupid_backoff", 3), folder)
    assert read_json(folder / "metrics.json")["perplexity"] == {"valid": None, "test": None}
    return found


def summary_of(config, folder):
    lines = pa.array(TEXTS["train"].split("\n")[:-1], pa.large_string())
    tokenizer, dropped = store.train(lines, WordConfig("word"))
    spelling = train_spelling(dropped, tokenizer.vocabulary, "word")
    for split, text in TEXTS.items():
        column = pa.array([text], pa.large_string())
        write_table(folder / split, pa.table({"text": column, "n_bytes": [len(text)]}))
    sources = {split: folder / split for split in TEXTS}
    entries = write_splits(sources, lambda _: Codec(tokenizer, spelling.nats), folder, folder)
    fingerprint = tokenizer.vocabulary.fingerprint
    for entry in entries.values():
        entry["text_sha256"] = "0"
    manifest = {"format": 1, "fingerprint": fingerprint, "splits": entries}
    write_json(folder / "manifest.json", manifest)
    train = read_split(folder, "train")
    model = estimate(train.tokens, train.offsets, tokenizer.vocabulary, config)
    about = About("stupid", "ngrams", config.describe(), "word", None, 1, 1)
    evaluate(
        model,
        about,
        folder,
        scores=folder / "scores",
        metrics=folder / "metrics.json",
        learnt_unknown=True,
        gives_probabilities=config.gives_probabilities,
        is_rounded=config.is_rounded,
    )
    return read_json(folder / "scores" / "summary.json")


def test_the_summary_of_stupid_backoff(scored):
    for split in ("valid", "test"):
        numbers = scored[split]
        assert numbers["perplexity"] is None
        assert numbers["word_perplexity"] is None
        assert numbers["bits_per_byte"] is None
        assert numbers["tokens"] > 0
    assert scored["why_not"] == SCORES_ONLY


def test_rounded_probabilities_have_a_perplexity_and_no_bits_per_byte(tmp_path):
    """After a history they do not sum to one, so they are the bill for no text."""
    found = summary_of(NgramConfig("word", "kneser_ney", 3, precision="coded"), tmp_path)
    assert found["why_not"] == ROUNDED
    for split in ("valid", "test"):
        assert found[split]["perplexity"] > 1
        assert found[split]["bits_per_byte"] is None


def test_it_is_not_mixed(scored):
    with pytest.raises(UserError, match=r"params.yaml: mixtures.m: stupid cannot be mixed"):
        _refuse_scores([scored], "params.yaml: mixtures.m")
