"""Stage evaluate_ngram: score an n-gram model on validation and test."""

from pipeline_steps import settings
from textmill.ngram.config import NgramConfig
from textmill.ngram.storage import load
from textmill.repository import layout
from textmill.scoring.evaluation import About, evaluate
from textmill.tokenizers import store

POSITIONS_AT_ONCE = 1 << 16


def main() -> None:
    """Write `scores/KEY` and `metrics/models/KEY.json`."""
    key = settings.key()
    entry = settings.load("evaluate_ngram", key)["ngrams"][key]
    config: NgramConfig = settings.parse(NgramConfig, entry, f"params.yaml: ngrams.{key}")
    vocabulary = store.load(layout.vocabulary(config.tokenizer)).vocabulary
    model = load(layout.model(key), vocabulary)
    about = About(
        name=key,
        group="ngrams",
        kind=model.describe(),
        tokenizer=config.tokenizer,
        parameters=None,
        ngrams=sum(model.ngrams),
        bytes_on_disk=layout.bytes_of(layout.model(key)),
    )
    evaluate(
        model,
        about,
        layout.shards(config.tokenizer),
        scores=layout.scores(key),
        metrics=layout.model_metrics(key),
        learnt_unknown=True,
        gives_probabilities=config.gives_probabilities,
        is_rounded=config.is_rounded,
        streams=16,
        chunk=POSITIONS_AT_ONCE // 16,
    )


if __name__ == "__main__":
    settings.run(main)
