"""A repository of one text, for the stages from the raw file to shards."""

import hashlib
import json
from pathlib import Path

from ruamel.yaml import YAML

from tests.text.cleaning import LISTS

GRAPH = """\
stages:
  download:
    cmd: exec python -m pipeline_steps.download
    params: [corpus, "corpora.${corpus}"]
    outs: [data/raw]
  clean:
    cmd: exec python -m pipeline_steps.clean
    params: [corpus, "corpora.${corpus}", profiles]
    deps: [data/raw]
    outs: [data/clean, reports/waterfall.html]
    metrics: [metrics/clean.json]
    plots: [reports/waterfall.csv]
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
"""


def make(root: Path, data: bytes, name: str = "text.txt", tokenizers=None, **entry) -> Path:
    """Write graph, parameters and a file of these bytes, which the corpus is pinned to."""
    (root / "dvc.yaml").write_text(GRAPH)
    (root / "there").mkdir(exist_ok=True)
    (root / "there" / name).write_bytes(data)
    corpus = {
        "title": "T", "licence": "CC0", "sources": [f"there/{name}"], "filename": name,
        "sha256": hashlib.sha256(data).hexdigest(), "cleaning": "plain",
        "splits": {"by": "share", "valid": 0.1, "test": 0.1},
    }  # fmt: skip
    params = {
        "corpus": "t", "corpora": {"t": corpus | entry}, "profiles": LISTS,
        "tokenizers": tokenizers or {"char": {"kind": "char"}},
    }  # fmt: skip
    with (root / "params.yaml").open("w") as file:
        YAML(typ="safe").dump(params, file)
    return root


def record(path: Path):
    """What a JSON file holds."""
    return json.loads(path.read_text())
