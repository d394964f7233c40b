"""The steps from a cleaned text to adapted scores, their mixture and a diagnosis, in one process."""

import hashlib
import json
import random
import shutil
import sys

import pyarrow as pa
import pytest
import torch
from ruamel.yaml import YAML

from pipeline_steps import (
    adapt,
    evaluate_network,
    evaluate_ngram,
    mix,
    ngram,
    settings,
    shard,
    vocabulary,
)
from pipeline_steps import train as train_step
from textmill.base.errors import UserError
from textmill.base.files import read_table, write_json, write_table
from textmill.lineage import diagnosis
from textmill.scoring.units import flat_nats

PARAMS = {
    "corpus": "tales",
    "corpora": {"tales": {}},
    "tokenizers": {"char": {"kind": "char"}},
    "ngrams": {"kn": {"tokenizer": "char", "method": "kneser_ney", "order": 3}},
    "networks": {
        "lstm": {
            "tokenizer": "char", "embedding": 8, "hidden": 16, "bptt": 16, "batch": 4, "steps": 30,
            "warmup": 3, "evaluate_every": 30, "threads": 1, "device": "cpu",
        }
    },
    "adapted": {
        "cached": {
            "model": "lstm", "tokenizer": "char", "cache": {"windows": [20, 200], "thetas": [0.5]},
        },
        "still": {
            "model": "lstm", "tokenizer": "char",
            "dynamic": {"learning_rates": [0], "decays": [0], "segment": 50},
        },
    },
    "mixtures": {"mixed": {"first": "cached", "second": "kn"}},
}  # fmt: skip
STEPS = {
    vocabulary: "char", shard: "char", ngram: "kn", train_step: "lstm", evaluate_ngram: "kn",
    evaluate_network: "lstm",
}  # fmt: skip


def run(step, key):
    """What `python -m pipeline_steps.STEP KEY` does."""
    settings.inputs.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [step.__file__, key])
        step.main()


def text(seed, lines):
    """Lines about a miller; one name comes again and again in each text, and in no other."""
    rng = random.Random(seed)
    name = "".join(rng.choices("abcdefgh", k=7))
    words = ["the", "miller", "turns", "abcdefgh", "wheel", name]
    return "".join(" ".join(rng.choices(words, k=6)) + "\n" for _ in range(lines))


@pytest.fixture(scope="module")
def repository(root, tmp_path_factory):
    """A folder in which the steps before have run; the working folder of this file's tests."""
    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("repository")
    for folder in ("textmill", "pipeline_steps"):
        (path / folder).symlink_to(root / folder)
    shutil.copy(root / "dvc.yaml", path)
    with (path / "params.yaml").open("w") as file:
        YAML().dump(PARAMS, file)
    sha256 = {}
    for seed, (split, lines) in enumerate({"train": 150, "valid": 60, "test": 40}.items()):
        texts = [text(seed, lines // 2), text(seed, lines // 2)]
        sizes = [len(one.encode()) for one in texts]
        table = {"doc_id": ["a", "b"], "text": pa.array(texts, pa.large_string()), "n_bytes": sizes}
        write_table(path / f"data/clean/{split}.arrow", pa.table(table))
        sha256[split] = hashlib.sha256("".join(texts).encode()).hexdigest()
    write_json(path / "data/clean/summary.json", {"sha256": sha256})
    source = {"corpus": "tales", "title": "Tales", "licence": "", "asked": {}, "files": []}
    write_json(path / "data/raw/source.json", source)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        for step, key in STEPS.items():
            run(step, key)
        yield path


def summary(path, name):
    return json.loads((path / f"scores/{name}/summary.json").read_text())


def test_a_cache_is_chosen_scored_and_marked(repository):
    run(adapt, "cached")
    found, static = summary(repository, "cached"), summary(repository, "lstm")
    chosen = found["adapted"]["cache"]
    assert (found["adapted"]["model"], found["adapts"], found["group"]) == ("lstm", True, "adapted")
    assert chosen["window"] in (20, 200)
    assert 0 < chosen["weight"] < 1
    assert found["kind"].startswith(f"lstm + neural cache (window {chosen['window']}, theta 0.5")
    assert found["comparison_key"] == static["comparison_key"]
    assert found["parameters"] == static["parameters"]
    for split in ("valid", "test"):
        assert found[split]["bits_per_byte"] < static[split]["bits_per_byte"]
        one, two = (
            read_table(repository / f"scores/{n}/{split}.arrow") for n in ("cached", "lstm")
        )
        assert one.drop(["nats_tokens", "token_nats"]) == two.drop(["nats_tokens", "token_nats"])
        total = sum(one["nats_tokens"].to_pylist()) + sum(one["nats_spelling"].to_pylist())
        assert found[split]["nats"] == pytest.approx(total)


def test_learning_rate_zero_scores_as_the_network_did(repository):
    run(adapt, "still")
    for split in ("valid", "test"):
        one, two = (
            flat_nats(read_table(repository / f"scores/{name}/{split}.arrow"))
            for name in ("still", "lstm")
        )
        assert one == pytest.approx(two, abs=1e-5)


def test_a_mixture_with_what_adapts_is_marked_too(repository):
    run(adapt, "cached")
    run(mix, "mixed")
    assert summary(repository, "mixed")["adapts"] is True
    assert summary(repository, "mixed")["parts"] == ["cached", "kn"]


def test_another_tokenizer_than_the_networks_is_refused(repository):
    params = repository / "params.yaml"
    kept = params.read_text()
    changed = {**PARAMS, "tokenizers": {"char": {"kind": "char"}, "byte": {"kind": "byte"}}}
    changed["adapted"] = {"cached": {**PARAMS["adapted"]["cached"], "tokenizer": "byte"}}
    try:
        with params.open("w") as file:
            YAML().dump(changed, file)
        with pytest.raises(UserError, match=r"adapted\.cached: lstm is over char tokens, not byte"):
            run(adapt, "cached")
    finally:
        params.write_text(kept)


def test_models_of_every_group_are_diagnosed(repository, tmp_path, monkeypatch):
    run(adapt, "cached")
    examined = []
    examine = diagnosis.examine_recurrence
    monkeypatch.setattr(
        diagnosis,
        "examine_recurrence",
        lambda network, lines: examined.append(network) or examine(network, lines),
    )
    found = {one.name: one for one in diagnosis.diagnose(["lstm", "kn", "cached"])}
    assert found["lstm"].gradients.keys() == {"h", "c"}
    assert next(examined[0].parameters()).dtype == torch.float64
    assert [gate.layer for gate in found["lstm"].gates] == [1]
    assert len(found["lstm"].matrices) == 4
    for name in ("lstm", "kn"):
        assert len(found[name].exposure.own) == len(found[name].exposure.forced) == 96
    assert (found["cached"].gradients, found["cached"].exposure) == ({}, None)
    for name, one in found.items():
        assert (one.corpus, one.title) == ("tales", "Tales")
        valid = summary(repository, name)["valid"]
        for bins in (one.positions, one.frequencies):
            assert sum(each.tokens for each in bins) == valid["tokens"]
            nats = sum(each.tokens * each.nats for each in bins)
            assert nats == pytest.approx(valid["nats_tokens"])
    written = {path.name for path in diagnosis.write(list(found.values()), tmp_path)}
    assert written == {path.name for path in tmp_path.iterdir()}
    assert written == {f"{n}.{end}" for n in found for end in ("json", "csv")} | {"index.html"}
    assert diagnosis.table(list(found.values())).row_count == 3
    assert [one.name for one in diagnosis.diagnose([])] == ["lstm"]


def test_of_documents_too_short_to_be_read_losses_alone_are_shown(repository, monkeypatch, caplog):
    monkeypatch.setattr(diagnosis, "SHORTEST", 1 << 40)
    (found,) = diagnosis.diagnose(["lstm"])
    assert (found.gradients, found.gates, found.exposure) == ({}, (), None)
    assert (
        sum(one.tokens for one in found.positions) == summary(repository, "lstm")["valid"]["tokens"]
    )
    assert "losses alone are shown" in caplog.text


def test_what_cannot_be_diagnosed_is_said(repository):
    with pytest.raises(UserError, match='there is no model "lstn"; did you mean "lstm"'):
        diagnosis.diagnose(["lstn"])
    shutil.rmtree(repository / "scores/mixed", ignore_errors=True)
    with pytest.raises(UserError, match="mixed has not been scored yet"):
        diagnosis.diagnose(["mixed"])
