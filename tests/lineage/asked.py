"""A repository that no stage has run in, with models that the asking commands can ask."""

import json

import pyarrow as pa
from ruamel.yaml import YAML

from textmill.base.files import write_json, write_table
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.storage import load, save
from textmill.scoring.codec import load_codec
from textmill.scoring.likelihood import token_nats
from textmill.scoring.spelling import train_spelling
from textmill.shards.reader import read_split
from textmill.shards.work import write_splits
from textmill.tokenizers import store
from textmill.tokenizers.characters import CharConfig
from textmill.tokenizers.words import WordConfig

TEXT = [
    "the mill turns the wheel", "the wheel turns the old mill", "", "the old wheel",
    "a miller opened the mill", "the river turns the wheel of the old mill", "a b a b a b",
]  # fmt: skip
TEST = ["the old mill turns a wheel", "", "the zebra turns a b", "the river"]
NGRAMS = {
    "kn3": {"tokenizer": "word", "method": "kneser_ney", "order": 3},
    "bigram": {"tokenizer": "word", "method": "additive", "order": 2, "k": 0.1},
    "likelihood": {"tokenizer": "word", "method": "maximum_likelihood", "order": 2},
    "char4": {"tokenizer": "char", "method": "kneser_ney", "order": 4},
    "stupid": {"tokenizer": "word", "method": "stupid_backoff", "order": 3},
    "rough": {"tokenizer": "word", "method": "kneser_ney", "order": 3, "precision": "coded"},
    "whole": {"tokenizer": "word", "method": "additive", "order": 10**20},
    "running": {"tokenizer": "word", "method": "kneser_ney", "order": 3, "sentence_boundaries": False},
}  # fmt: skip
PARAMS = {
    "tokenizers": {"word": {"kind": "word", "minimum_frequency": 2}, "char": {"kind": "char"}},
    "ngrams": NGRAMS,
    "networks": {"lstm": {"tokenizer": "word"}},
    "adapted": {"cache": {"tokenizer": "word", "model": "lstm"}},
    "mixtures": {
        "mix": {"first": "kn3", "second": "bigram"},
        "rough_mix": {"first": "bigram", "second": "rough"},
    },
}
GROUPS = ("ngrams", "networks", "adapted", "mixtures")
GRAPH = {
    "stages": {
        f"scored_{group}": {
            "foreach": f"${{{group}}}", "do": {"cmd": "x", "outs": ["scores/${key}"]},
        }
        for group in GROUPS
    }
}  # fmt: skip
WEIGHT = 0.7


def make_tokens(root, name, config):
    """A tokenizer, its shards and the models over them."""
    tokenizer, dropped = store.train(pa.array(TEXT, pa.large_string()), config)
    folder, shards = root / "data/vocabulary" / name, root / "data/shards" / name
    folder.mkdir(parents=True)
    shards.mkdir(parents=True)
    store.save(tokenizer, config, folder)
    train_spelling(dropped, tokenizer.vocabulary, name).save(folder / "spelling")
    sources = {split: root / f"{split}.documents" for split in ("train", "test")}
    entries = write_splits(sources, lambda _: load_codec(folder), shards, shards)
    fingerprint = tokenizer.vocabulary.fingerprint
    write_json(
        shards / "manifest.json", {"format": 1, "fingerprint": fingerprint, "splits": entries}
    )
    train = read_split(shards, "train")
    for model, options in NGRAMS.items():
        one = NgramConfig(**options)
        if one.tokenizer == name:
            bounds = train.offsets if one.sentence_boundaries else train.doc_offsets
            made = estimate(train.tokens, bounds, tokenizer.vocabulary, one)
            save(made, root / "models" / model)


def make_asked(root):
    """params.yaml, dvc.yaml, tokenizers, shards, models and the summaries of mixtures."""
    for name, content in (("params.yaml", PARAMS), ("dvc.yaml", GRAPH)):
        with (root / name).open("w") as file:
            YAML(typ="safe").dump(content, file)
    for split, lines in (("train", TEXT), ("test", TEST)):
        text = "".join(f"{line}\n" for line in lines)
        table = pa.table({"text": pa.array([text], pa.large_string()), "n_bytes": [len(text)]})
        write_table(root / f"{split}.documents", table)
    make_tokens(root, "word", WordConfig("word", minimum_frequency=2))
    make_tokens(root, "char", CharConfig("char"))
    for name, entry in PARAMS["mixtures"].items():
        parts = [entry["first"], entry["second"]]
        about = {"kind": "a mixture", "weight": WEIGHT, "parts": parts}
        write_json(root / "scores" / name / "summary.json", about)
    (root / "test.txt").write_text("\n".join(TEST))  # without a line end at its end
    return root


def scored(run, *arguments, **given):
    return json.loads(run("score", *arguments, "--json", **given))


def of_shards(repository, name):
    tokenizer = NGRAMS[name]["tokenizer"]
    vocabulary = store.load(repository / "data/vocabulary" / tokenizer).vocabulary
    lines = read_split(repository / "data/shards" / tokenizer, "test")
    return lines, token_nats(load(repository / "models" / name, vocabulary), lines)
