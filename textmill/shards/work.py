"""Turn cleaned splits into shards, piece by piece, by any number of workers.

Each piece is one task: small, picklable, and known by the file that it writes. Any
`concurrent.futures.Executor` may work on the tasks, a cluster's too, as long as its workers see
the same folders under the same absolute paths. What a task writes depends on nothing but its piece,
so the number of workers and the order in which they finish never change a byte.

A finished shard has a record beside it. A run that was killed is started again with the same
folder: what is recorded there, and still has the hash that the record names, is not done again.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from textmill.base.errors import UserError
from textmill.base.files import read_json, read_table, sha256_of, write_json
from textmill.base.progress import Progress
from textmill.shards.lines import lines_of
from textmill.shards.pieces import BYTES_A_PIECE, Piece, cut, plan_pieces
from textmill.shards.writer import COUNTS, Codec, Shard, split_entry, write_shard

WORKERS = 2
"""Workers of the default pool: pinned, as thread counts are, not the machine's cores."""
BYTES_FOR_THREADS = 1 << 20
BYTES_FOR_PROCESSES = 1 << 29
"""Threads share one start and one tokenizer, and the loops hold no lock; processes take a second or
two each to start, and 200 MB."""

LoadCodec = Callable[[Path], Codec]
"""Reads a tokenizer's folder; a function at the top of a module, so that it can be pickled."""


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of one split, and the file to write.

    stamp: when the vocabulary was last written, so that no worker goes on with one of before.
    """

    split: str
    documents: Path
    piece: Piece
    shard: Path
    load: LoadCodec
    vocabulary: Path
    stamp: int


def write_splits(
    splits: Mapping[str, Path],
    load: LoadCodec,
    vocabulary: Path,
    folder: Path,
    executor: Executor | None = None,
    *,
    bytes_a_piece: int = BYTES_A_PIECE,
) -> dict[str, dict[str, Any]]:
    """Write the shards of cleaned splits (name -> file) into `folder`; an entry a split.

    folder: kept by the caller until all is done, under a name that no other input has.
    executor: who works; if None a pool of `WORKERS` processes, of as many threads for a text of
    middle size, and nobody else for a small one.
    """
    # A worker elsewhere stands in another folder; shards, records and manifest hold names alone.
    splits = {split: path.absolute() for split, path in splits.items()}
    vocabulary, folder = vocabulary.absolute(), folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    plans = {split: _plan(path, bytes_a_piece) for split, path in splits.items()}
    stamp = max((file.stat().st_mtime_ns for file in vocabulary.rglob("*")), default=0)
    tasks = [
        Task(split, path, piece, folder / f"{split}-{number:05d}.arrow", load, vocabulary, stamp)
        for split, path in splits.items()
        for number, piece in enumerate(plans[split][1])
    ]
    size = sum(path.stat().st_size for path in splits.values())
    alone = executor is None and size < BYTES_FOR_THREADS
    worked_on = map(work, tasks) if alone else _worked_on(tasks, executor, size)
    shards = zip(tasks, worked_on, strict=True)
    by_split = {
        split: [shard for _, shard in done] for split, done in groupby(shards, lambda x: x[0].split)
    }
    return {split: split_entry(plans[split][0], by_split[split]) for split in splits}


def _plan(path: Path, bytes_a_piece: int) -> tuple[int, list[Piece]]:
    """Documents and pieces of a split; its file is let go of, since what was looked at counts."""
    documents = read_table(path)
    return len(documents), plan_pieces(documents, bytes_a_piece)


def work(task: Task) -> Shard:
    """Write a task's shard and its record, or take up what a killed run has finished."""
    record = task.shard.with_suffix(".json")
    if shard := _finished(task.shard, record):
        return shard
    texts = cut(read_table(task.documents), task.piece)
    _check_line_ends(texts, task)
    with _loading:
        codec = _codec(task.load, task.vocabulary, task.stamp)
    shard = write_shard(lines_of(texts, task.piece.first), codec, task.shard)
    write_json(record, asdict(shard))
    return shard


def _check_line_ends(texts: pa.Table, task: Task) -> None:
    """What stands behind a text's last line end would be lost in silence."""
    is_whole = pc.or_(pc.ends_with(texts["text"], "\n"), pc.equal(texts["text"], ""))
    if not pc.all(is_whole, min_count=0).as_py():
        row = task.piece.first + pc.index(is_whole, False).as_py()
        raise UserError(
            f"the text of document {row:,} does not end with a line end",
            where=str(task.documents),
            next_step=f"delete {task.documents}, then: dvc repro",
        )


def _worked_on(tasks: list[Task], executor: Executor | None, size: int) -> Iterator[Shard]:
    with Progress(len(tasks), "shards", "shard") as progress, _pool(executor, size) as pool:
        try:
            for shard in pool.map(work, tasks):
                progress.advance()
                yield shard
        except BrokenProcessPool:
            raise UserError(
                "a worker process was killed, perhaps for want of memory",
                next_step="make room, then type the command again: finished shards are kept",
            ) from None


@contextmanager
def _pool(executor: Executor | None, size: int) -> Iterator[Executor]:
    """The executor that was given, which its owner ends, or a pool that ends here.

    Processes are spawned, not forked: Arrow's threads do not survive a fork.
    """
    if executor is not None:
        yield executor
        return
    if size < BYTES_FOR_PROCESSES:
        with ThreadPoolExecutor(WORKERS) as threads:
            yield threads
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, context, initializer=bind_to_parent) as pool:
        yield pool


def bind_to_parent() -> None:
    """Leave Ctrl-C to the parent, and end at once when it has died, however it died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)


_loading = threading.Lock()


@lru_cache(maxsize=1)
def _codec(load: LoadCodec, vocabulary: Path, stamp: int) -> Codec:  # noqa: ARG001
    """A worker reads a tokenizer once, and anew when it has been written anew."""
    return load(vocabulary)


def _finished(path: Path, record: Path) -> Shard | None:
    """The shard that the record names, if it is there and whole."""
    if not (path.is_file() and record.is_file()):
        return None
    try:
        found = read_json(record)
        shard = Shard(**{**found, "counts": tuple(found["counts"])})
    except (UserError, TypeError, KeyError):
        return None
    whole = len(shard.counts) == len(COUNTS) and sha256_of(path) == shard.sha256
    return shard if whole else None
