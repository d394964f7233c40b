"""A small repository with everything that DVC's stages leave behind, made without running them.

Four models of one text of 160 lines: two n-grams, a network with a learning history, and their
mixture. dvc.lock holds the hashes of the files as they are, by the test's own arithmetic.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from ruamel.yaml import YAML

from textmill.base.files import write_json, write_table
from textmill.reports.leaderboard import build, text_facts
from textmill.reports.records import to_json
from textmill.repository import facts, layout
from textmill.repository.fingerprints import input_fingerprint
from textmill.repository.stages import declared_params, read_stage, read_stages
from textmill.scoring.comparison import comparison_key
from textmill.scoring.evaluation import summary

GRAPH = """\
stages:
  download:
    cmd: exec python -m pipeline_steps.download
    params: [corpus, "corpora.${corpus}"]
    outs: [data/raw]
  clean:
    cmd: exec python -m pipeline_steps.clean
    deps: [data/raw]
    outs: [data/clean]
    metrics: [metrics/clean.json]
  vocabulary:
    foreach: ${tokenizers}
    do:
      cmd: exec python -m pipeline_steps.vocabulary ${key}
      params: ["tokenizers.${key}"]
      deps: [data/clean]
      outs: ["data/vocabulary/${key}"]
  shard:
    foreach: ${tokenizers}
    do:
      cmd: exec python -m pipeline_steps.shard ${key}
      deps: [data/clean, "data/vocabulary/${key}"]
      outs: ["data/shards/${key}"]
  ngram:
    foreach: ${ngrams}
    do:
      cmd: exec python -m pipeline_steps.ngram ${key}
      params: ["ngrams.${key}"]
      deps: ["data/vocabulary/${item.tokenizer}", "data/shards/${item.tokenizer}"]
      outs: ["models/${key}"]
  train:
    foreach: ${networks}
    do:
      cmd: exec python -m pipeline_steps.train ${key}
      params: ["networks.${key}"]
      deps: ["data/vocabulary/${item.tokenizer}", "data/shards/${item.tokenizer}"]
      outs: ["models/${key}"]
      plots:
        - history/${key}.csv: {x: step, y: valid_loss}
  evaluate_ngram:
    foreach: ${ngrams}
    do:
      cmd: exec python -m pipeline_steps.evaluate_ngram ${key}
      deps: ["data/shards/${item.tokenizer}", "models/${key}"]
      outs: ["scores/${key}"]
      metrics: ["metrics/models/${key}.json"]
  evaluate_network:
    foreach: ${networks}
    do:
      cmd: exec python -m pipeline_steps.evaluate_network ${key}
      deps: ["data/shards/${item.tokenizer}", "models/${key}"]
      outs: ["scores/${key}"]
      metrics: ["metrics/models/${key}.json"]
  mix:
    foreach: ${mixtures}
    do:
      cmd: exec python -m pipeline_steps.mix ${key}
      params: ["mixtures.${key}"]
      deps: ["scores/${item.first}", "scores/${item.second}"]
      outs: ["scores/${key}"]
      metrics: ["metrics/models/${key}.json"]
  compare:
    cmd: exec python -m pipeline_steps.compare
    deps: [scores, history]
    outs: [reports/leaderboard.json]
    plots:
      - reports/leaderboard.html: {x: a, y: b}
"""
PARAMS = {
    "corpus": "tales",
    "corpora": {
        "tales": {
            "title": "Tales",
            "licence": "CC0",
            "sources": ["https://example.org/tales.txt"],
            "filename": "tales.txt",
            "sha256": "",
            "splits": {"by": "share", "valid": 0.1, "test": 0.1, "unit": "lines"},
            "cleaning": "plain",
        }
    },
    "profiles": {"plain": ["line_ends", "control_characters", "white_space", "blank_lines"]},
    "tokenizers": {"word": {"kind": "word", "minimum_frequency": 2}},
    "ngrams": {
        "unigram": {"tokenizer": "word", "method": "additive", "order": 1, "k": 0.1},
        "kn3": {"tokenizer": "word", "method": "kneser_ney", "order": 3},
    },
    "networks": {
        "lstm": {
            "tokenizer": "word",
            "embedding": 8,
            "hidden": 8,
            "steps": 30,
            "evaluate_every": 10,
            "warmup": 1,
        },
    },
    "adapted": {},
    "mixtures": {"mix": {"first": "lstm", "second": "kn3"}},
}
GROUPS = ("ngrams", "networks", "mixtures")
NATS_A_BYTE = {"unigram": 1.6, "kn3": 1.2, "lstm": 1.3, "mix": 1.19}
LINES = 160
HISTORY = """\
step,tokens,train_loss,valid_loss,learning_rate,gradient_norm
10,1000,6.5,6.25,0.002,0.5
20,2000,5.5,5.75,0.001,nan
30,3000,5.0,5.5,0.0005,0.25
"""
FACTS = {
    "seconds": 12.5,
    "peak_memory_bytes": 1000,
    "tokens_per_second": 250.5,
    "versions": {"python": "3.11.7", "torch": "2.13.0"},
    "commit": "a" * 40,
    "dirty": True,
}


def make_repository(path: Path, *, text: str = "tale", **changes) -> Path:
    """Write the repository of a text. changes: model -> nats a byte, instead of the usual."""
    (path / "dvc.yaml").write_text(GRAPH)
    (path / ".dvcignore").write_text(".*.part\n")
    rates = {**NATS_A_BYTE, **changes}
    raw = "".join(f"line {number} of the {text}\n" for number in range(LINES))
    (path / "data/raw/files").mkdir(parents=True)
    (path / "data/raw/files/tales.txt").write_text(raw)
    sha256 = hashlib.sha256(raw.encode()).hexdigest()
    params = json.loads(json.dumps(PARAMS))
    params["corpora"]["tales"]["sha256"] = sha256
    _write_yaml(path / "params.yaml", params)
    file = {"name": "tales.txt", "bytes": len(raw), "sha256": sha256}
    source = {"corpus": "tales", "title": "Tales", "licence": "CC0", "download": file}
    source |= {"asked": {"sources": params["corpora"]["tales"]["sources"]}, "files": [file]}
    write_json(path / "data/raw/source.json", source)
    cleaned = _clean(path, raw)
    for folder in ("data/vocabulary/word", "data/shards/word", "models/unigram", "models/kn3"):
        write_json(path / folder / "record.json", {"made": folder})
    write_json(path / "models/lstm/model.json", {"made": "lstm"})
    (path / "history").mkdir()
    (path / "history/lstm.csv").write_text(HISTORY)
    key = comparison_key(cleaned["sha256"]["test"])
    metrics = {name: _score(path, name, rate, key) for name, rate in rates.items()}
    declared = [(name, group) for group in GROUPS for name in params[group]]
    board = build(declared, metrics, key, text_facts(source, cleaned))
    (path / "reports").mkdir()
    (path / "reports/leaderboard.json").write_text(to_json(board))
    (path / "reports/leaderboard.html").write_text("<html>the board</html>\n")
    write_lock(path)
    return path


def write_lock(path: Path) -> None:
    """dvc.lock as DVC would write it of the files as they are."""
    stages = {}
    for stage in read_stages(path):
        entry = {"cmd": stage.command}
        if stage.deps:
            entry["deps"] = [_entry(path, dep) for dep in stage.deps]
        if stage.params:
            values = declared_params(stage, path)
            entry["params"] = {"params.yaml": {name: _at(values, name) for name in stage.params}}
        entry["outs"] = [_entry(path, out) for out in stage.outs]
        stages[stage.name] = entry
    _write_yaml(path / "dvc.lock", {"schema": "2.0", "stages": stages})


def add_facts(path: Path, *stages: str) -> None:
    """Record that this machine ran the stages, all of them without names."""
    for name in stages or [stage.name for stage in read_stages(path)]:
        stage = read_stage(name, root=path)
        facts.record(input_fingerprint(stage, path), {"stage": name, **FACTS}, path)


def change_board(path: Path, **changes) -> None:
    """Replace fields of the leaderboard's entries: name -> {field: value}."""
    file = path / layout.LEADERBOARD
    board = json.loads(file.read_text())
    for entry in board["models"]:
        entry.update(changes.get(entry["name"], {}))
    write_json(file, board)


def _clean(path, raw):
    sizes = {"documents": 1, "lines": LINES, "bytes": len(raw), "characters": len(raw)}
    sizes |= {"words": raw.count(" ") + LINES}
    for split in ("train", "valid", "test"):
        table = pa.table({"doc_id": [split], "text": [raw], "n_bytes": [len(raw)]})
        write_table(path / f"data/clean/{split}.arrow", table)
    splits = ("train", "valid", "test")
    summary_ = {name: dict.fromkeys(splits, value) for name, value in sizes.items()}
    hashes = {split: hashlib.sha256(f"{split} {raw}".encode()).hexdigest() for split in splits}
    summary_["sha256"] = hashes
    write_json(path / "data/clean/summary.json", summary_)
    write_json(path / layout.CLEAN_METRICS, {"bytes": summary_["bytes"]})
    return summary_


def _score(path, name, rate, key):
    group = next(group for group in GROUPS if name in PARAMS[group])
    tables = {split: _lines(rate, seed) for seed, split in enumerate(("valid", "test"))}
    about = {
        "name": name, "group": group, "kind": f"a {group[:-1]}", "tokenizer": "word",
        "parameters": 100 if group == "networks" else None,
        "ngrams": 50 if group == "ngrams" else None,
        "bytes_on_disk": 1000, "tokenizer_fingerprint": "f" * 64, "comparison_key": key,
    }  # fmt: skip
    if group == "mixtures":
        about |= {"parts": ["lstm", "kn3"], "weight": 0.25}
    found = summary(about, tables, None)
    write_json(path / layout.summary(name), found)
    write_json(path / layout.model_metrics(name), {"bits_per_byte": found["test"]["bits_per_byte"]})
    for split, table in tables.items():
        write_table(path / f"scores/{name}/{split}.arrow", table)
    return found


def _lines(rate, seed):
    """Lines whose difficulty two models share, so that a small difference is a sure one."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(20, 60, LINES)
    hard = rng.normal(1.0, 0.2, LINES)
    noise = np.random.default_rng(round(rate * 1e6)).normal(1.0, 0.02, LINES)
    columns = {
        "doc": np.zeros(LINES, np.int32), "nats_tokens": sizes * rate * hard * noise,
        "nats_spelling": np.full(LINES, 0.25), "tokens": np.full(LINES, 5, np.int32),
        "unknown": (np.arange(LINES) % 10 == 0).astype(np.int32),
        "bytes": sizes.astype(np.int32), "characters": sizes.astype(np.int32),
        "words": np.full(LINES, 5, np.int32),
    }  # fmt: skip
    return pa.table(columns)


def _entry(path, name):
    target = path / name
    if target.is_file():
        return {"path": name, "hash": "md5", "md5": _md5(target), "size": target.stat().st_size}
    files = sorted(file for file in target.rglob("*") if file.is_file())
    listed = [{"md5": _md5(f), "relpath": f.relative_to(target).as_posix()} for f in files]
    listed.sort(key=lambda one: one["relpath"])
    md5 = hashlib.md5(json.dumps(listed, sort_keys=True).encode()).hexdigest() + ".dir"
    size = sum(file.stat().st_size for file in files)
    return {"path": name, "hash": "md5", "md5": md5, "size": size, "nfiles": len(files)}


def _md5(file):
    return hashlib.md5(file.read_bytes()).hexdigest()


def _at(values, dotted):
    for part in dotted.split("."):
        values = values[part]
    return values


def _write_yaml(file, content):
    with file.open("w") as out:
        YAML(typ="safe").dump(content, out)
