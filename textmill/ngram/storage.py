"""Model files: `model.json` and one Arrow file an order, the same bytes for the same model.

A loaded model is memory-mapped: each order is one record batch, so that its columns are arrays
straight from the file. Stored are, as float64 and int64, a probability, a backoff weight (below
the highest order) and a key (above order 1): 24 bytes an n-gram, 16 at the highest order.
`model.json` names the vocabulary's fingerprint and each file's sha256; a model of another
vocabulary and a damaged file are refused, the latter at the price of reading it once.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from textmill.base.errors import UserError
from textmill.base.files import (
    read_json,
    read_table,
    replacing_folder,
    sha256_of,
    write_json,
    write_table,
)
from textmill.ngram.config import NgramConfig
from textmill.ngram.model import NgramModel, OrderTable
from textmill.tokenizers.vocabulary import Vocabulary

FORMAT = 1
SUMMARY = "model.json"


def save(model: NgramModel, folder: Path) -> None:
    """Write the model; the finished folder takes the place of `folder` by rename."""
    with replacing_folder(folder) as temporary:
        files = []
        for n, table in enumerate(model.tables, start=1):
            path = temporary / f"order-{n}.arrow"
            _write_order(path, table, is_lowest=n == 1, is_highest=n == model.order)
            files.append({"name": path.name, "rows": len(table.keys), "sha256": sha256_of(path)})
        content = {
            "format": FORMAT,
            "config": asdict(model.config),
            "vocabulary": {"fingerprint": model.vocabulary.fingerprint, "ids": model.size},
            "ngrams": model.ngrams,
            "discounts": model.discounts,
            "files": files,
        }
        write_json(temporary / SUMMARY, content)


def load(folder: Path, vocabulary: Vocabulary) -> NgramModel:
    """Map a saved model. UserError naming what is missing, damaged or of another vocabulary."""
    summary = folder / SUMMARY
    content = read_json(summary)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise UserError(f"{summary} is no n-gram model of this version", next_step="dvc repro")
    try:
        _check_vocabulary(content["vocabulary"], vocabulary, folder)
        return NgramModel(
            vocabulary,
            NgramConfig(**content["config"]),
            [_read_order(folder, file, len(vocabulary)) for file in content["files"]],
            ngrams=tuple(content["ngrams"]),
            discounts=tuple(map(tuple, content["discounts"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(summary, f"it does not describe an n-gram model: {error!r}") from None


def _check_vocabulary(stored: dict[str, Any], vocabulary: Vocabulary, folder: Path) -> None:
    if stored["fingerprint"] == vocabulary.fingerprint:
        return
    raise UserError(
        f"{folder} was trained on another vocabulary ({stored['ids']} ids, fingerprint "
        f"{stored['fingerprint'][:12]}) than this one ({len(vocabulary)} ids, "
        f"{vocabulary.fingerprint[:12]})",
        next_step="dvc repro",
    )


def _write_order(path: Path, table: OrderTable, *, is_lowest: bool, is_highest: bool) -> None:
    columns = {} if is_lowest else {"key": table.keys}
    columns["probability"] = table.probabilities
    if not is_highest:
        columns["backoff"] = table.backoffs
    write_table(path, pa.table({name: pa.array(column) for name, column in columns.items()}))


def _read_order(folder: Path, file: dict[str, Any], size: int) -> OrderTable:
    path = folder / str(file["name"])
    rows = int(file["rows"])
    if path.exists() and sha256_of(path) != file["sha256"]:
        raise _damaged(path, f"it is not the file that {folder / SUMMARY} describes")
    table = read_table(path)
    columns = {name: table[name].chunk(0).to_numpy() for name in table.column_names if rows}
    nothing = np.empty(0)
    return OrderTable(
        keys=columns.get("key", np.arange(size if rows else 0)),
        probabilities=columns.get("probability", nothing),
        backoffs=columns.get("backoff", np.broadcast_to(1.0, rows)),
    )


def _damaged(path: Path, why: str) -> UserError:
    return UserError(
        f"{path} is damaged: {why}", next_step=f"delete {path.parent}, then: dvc repro"
    )
