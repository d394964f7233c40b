"""Stage evaluate_network: score a network on validation and test."""

from pipeline_steps import settings
from textmill.neural.config import NetworkConfig
from textmill.neural.model import load
from textmill.neural.network import count_parameters
from textmill.repository import layout
from textmill.scoring.evaluation import About, evaluate
from textmill.tokenizers import store


def main() -> None:
    """Write `scores/KEY` and `metrics/models/KEY.json`."""
    key = settings.key()
    entry = settings.load("evaluate_network", key)["networks"][key]
    config: NetworkConfig = settings.parse(NetworkConfig, entry, f"params.yaml: networks.{key}")
    vocabulary = store.load(layout.vocabulary(config.tokenizer)).vocabulary
    model = load(layout.model(key), vocabulary, threads=config.threads, device=config.device)
    about = About(
        name=key,
        group="networks",
        kind=config.describe(),
        tokenizer=config.tokenizer,
        parameters=count_parameters(model.network),
        ngrams=None,
        bytes_on_disk=layout.bytes_of(layout.model(key)),
    )
    evaluate(
        model,
        about,
        layout.shards(config.tokenizer),
        scores=layout.scores(key),
        metrics=layout.model_metrics(key),
        learnt_unknown=vocabulary.unknown in ("learnt", "singletons"),
    )


if __name__ == "__main__":
    settings.run(main)
