"""Model files: `model.json` and one Arrow file an order, the same bytes for the same model.

A loaded model is memory-mapped: each column of an order is one list of uint64 in a table of one
row, read where it lies and shared by every process that opens it. `model.json` says how many bits
a number has (`columns`), names the vocabulary's fingerprint and holds each file's checksum and its
own; a model of another vocabulary and a damaged file are refused.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from textmill.base.errors import UserError
from textmill.base.files import (
    read_sealed,
    read_table,
    replacing_folder,
    write_sealed,
    write_table,
)
from textmill.base.progress import Progress
from textmill.ngram.checksum import checksum
from textmill.ngram.columns import DOUBLE, NO_CODES, Column
from textmill.ngram.config import NgramConfig
from textmill.ngram.model import NgramModel
from textmill.ngram.tables import PackedOrder, held
from textmill.ngram.unary import UNARY, fits
from textmill.tokenizers.vocabulary import Vocabulary

FORMAT = 4
SUMMARY = "model.json"
COLUMNS = ("words", "probabilities", "backoffs", "ends")


@dataclass(frozen=True, slots=True)
class About:
    """What `model.json` says of a model besides its files. ngrams: see `tables.held`."""

    config: NgramConfig
    vocabulary: Vocabulary
    ngrams: tuple[int, ...]
    discounts: tuple[tuple[float, ...], ...]


def save(model: NgramModel, folder: Path) -> None:
    """Write the model; the finished folder takes the place of `folder` by rename."""
    about = About(model.config, model.vocabulary, model.ngrams, model.discounts)
    save_orders(model.orders, about, folder)


def save_orders(orders: Iterable[PackedOrder], about: About, folder: Path) -> None:
    """Write the orders one by one as they come, so that no two have to be in memory.

    What estimation was allowed to take is no part of a model: the same bytes whatever it was.
    """
    progress = Progress(len(about.ngrams), "orders", "estimating and writing")
    with replacing_folder(folder) as temporary, progress:
        files, rows = [], []
        for n, order in enumerate(orders, start=1):
            path = temporary / f"order-{n}.arrow"
            columns = {name: getattr(order, name) for name in COLUMNS}
            present = {name: column for name, column in columns.items() if column is not None}
            write_table(path, pa.table({name: _as_list(c) for name, c in present.items()}))
            files.append(_described(path, present))
            rows.append(order.words.rows)
            progress.advance()
        content = {
            "format": FORMAT,
            "config": _config_of(about.config),
            "vocabulary": {
                "fingerprint": about.vocabulary.fingerprint,
                "ids": len(about.vocabulary),
            },
            "ngrams": held(about.ngrams, rows),
            "discounts": about.discounts,
            "files": files,
        }
        write_sealed(temporary / SUMMARY, content)


def load(folder: Path, vocabulary: Vocabulary) -> NgramModel:
    """Map a saved model. UserError naming what is missing, damaged or of another vocabulary."""
    summary = folder / SUMMARY
    content = read_sealed(summary, "format")
    if content["format"] != FORMAT:
        raise UserError(f"{summary} is no n-gram model of this version", next_step="dvc repro")
    with _described_wrongly(summary):
        _check_vocabulary(content["vocabulary"], vocabulary, folder)
        config = content["config"]
        if config.get("cutoffs") is not None:
            config["cutoffs"] = tuple(config["cutoffs"])
        return NgramModel(
            vocabulary,
            NgramConfig(**config),
            [_read_order(folder, file) for file in content["files"]],
            ngrams=tuple(content["ngrams"]),
            discounts=tuple(map(tuple, content["discounts"])),
        )


def _config_of(config: NgramConfig) -> dict[str, Any]:
    content = asdict(config)
    del content["memory_limit"]
    return content


@contextmanager
def _described_wrongly(summary: Path) -> Iterator[None]:
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
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


def _as_list(column: Column) -> pa.Array:
    return pa.LargeListArray.from_arrays(
        pa.array([0, len(column.data)], pa.int64()), pa.array(column.data)
    )


def _described(path: Path, columns: dict[str, Column]) -> dict[str, Any]:
    return {
        "name": path.name,
        "checksum": checksum(path),
        "columns": {
            name: {"rows": column.rows, "bits": column.bits, "codes": column.codes.tolist()}
            for name, column in columns.items()
        },
    }


def _read_order(folder: Path, file: dict[str, Any]) -> PackedOrder:
    path = folder / str(file["name"])
    if path.exists() and checksum(path) != file["checksum"]:
        raise _damaged(path, f"it is not the file that {folder / SUMMARY} describes")
    table = read_table(path)
    columns = {name: _column(table[name], about) for name, about in file["columns"].items()}
    return PackedOrder(
        columns["words"], columns["probabilities"], columns.get("backoffs"), columns.get("ends")
    )


def _column(stored: pa.ChunkedArray, about: dict[str, Any]) -> Column:
    rows, bits = int(about["rows"]), int(about["bits"])
    data = stored.chunk(0).values.to_numpy()
    if not (fits(data, rows) if bits == UNARY else len(data) >= _length(rows, bits)):
        raise ValueError(f"{rows} rows of {bits} bits do not fit into {len(data)} words")
    codes = np.array(about["codes"], np.float64) if about["codes"] else NO_CODES
    return Column(data, bits, rows, codes)


def _length(rows: int, bits: int) -> int:
    return rows if bits == DOUBLE else rows * bits // 64 + 2


def _damaged(path: Path, why: str) -> UserError:
    return UserError(
        f"{path} is damaged: {why}", next_step=f"delete {path.parent}, then: dvc repro"
    )
