"""A stage wants the cores of the threads that it pins."""

import pytest

from flows.cores import cores_of, read_cores
from textmill.base.errors import UserError
from textmill.neural.config import NetworkConfig
from textmill.ngram.threads import THREADS as NGRAM_THREADS
from textmill.repository.stages import Stage, read_yaml
from textmill.shards.work import WORKERS
from textmill.tokenizers.subwords import THREADS

PARAMS = {
    "tokenizers": {"word": {"kind": "word"}, "bpe": {"kind": "subword"}},
    "ngrams": {"kn": {"method": "kneser_ney"}},
    "networks": {"small": {"threads": 3}, "plain": {}, "wide": {"threads": 3, "processes": 2}},
}


def stage(params=(), outs=()):
    return Stage("x", "x", tuple(params), (), tuple(outs))


@pytest.mark.parametrize(
    ("params", "outs", "cores"),
    [
        (["networks.small"], ["models/small"], 3),
        (["networks.wide"], ["models/wide"], 6),
        (["networks.wide"], ["scores/wide"], 3),
        (["adapted.cached", "networks.small"], ["scores/cached"], 3),
        (
            ["networks.plain"],
            ["scores/plain"],
            NetworkConfig.__dataclass_fields__["threads"].default,
        ),
        (["networks"], ["reports/leaderboard.json"], 1),
        (["tokenizers.bpe"], ["data/vocabulary/bpe"], THREADS),
        ([], ["data/shards/bpe"], WORKERS),
        ([], ["data/vocabulary/word"], THREADS),
        ([], ["data/shards/word"], WORKERS),
        (["ngrams.kn"], ["models/kn"], NGRAM_THREADS),
        (["ngrams.other"], ["models/other"], 1),
    ],
)
def test_cores_are_the_pinned_threads(params, outs, cores):
    assert cores_of(stage(params, outs), PARAMS) == cores


@pytest.mark.parametrize("threads", [0, -1, "two", True, 1.5])
def test_threads_that_are_no_count_are_refused(threads):
    params = {"networks": {"small": {"threads": threads}}}
    with pytest.raises(UserError, match="threads"):
        cores_of(stage(["networks.small"]), params)


def test_the_pipeline_of_this_checkout(root):
    params = read_yaml(root / "params.yaml")
    cores = read_cores(root)
    for name, entry in params["networks"].items():
        assert (
            cores[f"train@{name}"] == cores[f"evaluate_network@{name}"] == entry.get("threads", 2)
        )
    for name in params["tokenizers"]:
        assert cores[f"vocabulary@{name}"] == THREADS
        assert cores[f"shard@{name}"] == WORKERS
    for name in params["ngrams"]:
        assert cores[f"ngram@{name}"] == cores[f"evaluate_ngram@{name}"] == NGRAM_THREADS
    assert cores["compare"] == cores["download"] == 1
