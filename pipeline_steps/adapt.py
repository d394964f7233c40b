"""Stage adapt: a network that learns from the text while it is scored, tuned on validation.

The lines, their bytes and their spelling are those of the network's own scores; only the nats of
the tokens are others.
"""

from pipeline_steps import settings
from textmill.adapting.adapt import check_whole, tune
from textmill.adapting.config import AdaptedConfig, check_tokenizer
from textmill.base.files import read_record, read_table
from textmill.neural.config import NetworkConfig
from textmill.neural.model import load
from textmill.repository import layout
from textmill.scoring.evaluation import SCORED, summary, write_results
from textmill.scoring.units import with_nats
from textmill.shards.reader import Lines, read_split
from textmill.tokenizers import store

KEPT = (
    *("tokenizer", "parameters", "ngrams", "bytes_on_disk"),
    *("tokenizer_fingerprint", "comparison_key"),
)
"""What the adapting model has of the network."""


def main() -> None:
    """Write `scores/KEY` and `metrics/models/KEY.json`."""
    key = settings.key()
    params = settings.load("adapt", key)
    where = f"params.yaml: adapted.{key}"
    config: AdaptedConfig = settings.parse(AdaptedConfig, params["adapted"][key], where)
    network: NetworkConfig = settings.parse(
        NetworkConfig, params["networks"][config.model], f"params.yaml: networks.{config.model}"
    )
    check_tokenizer(config, network.tokenizer, where)
    static = read_record(layout.summary(config.model), *KEPT, "why_not")
    vocabulary = store.load(layout.vocabulary(config.tokenizer)).vocabulary
    model = load(
        layout.model(config.model), vocabulary, threads=network.threads, device=network.device
    )
    train, valid = (_lines(config, split, vocabulary.fingerprint) for split in ("train", "valid"))
    adapting = tune(model, network, config, train, valid)
    test = _lines(config, "test", vocabulary.fingerprint)
    tables = {}
    for split, lines in zip(SCORED, (valid, test), strict=True):
        nats_T = adapting.nats(lines)
        if split == "valid":
            check_whole(nats_T, len(vocabulary))
        static_scores = read_table(layout.scores(config.model) / f"{split}.arrow")
        tables[split] = with_nats(static_scores, nats_T)
    about = {
        "name": key,
        "group": "adapted",
        "kind": f"{config.model} + {adapting.settings.describe()}",
        **{name: static[name] for name in KEPT},
        "adapts": True,
        "adapted": {"model": config.model, **adapting.settings.as_json()},
    }
    content = summary(about, tables, static["why_not"])
    write_results(content, tables, layout.scores(key), layout.model_metrics(key))


def _lines(config: AdaptedConfig, split: str, fingerprint: str) -> Lines:
    return read_split(layout.shards(config.tokenizer), split, fingerprint)


if __name__ == "__main__":
    settings.run(main)
