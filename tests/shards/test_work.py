"""The stage's work: any executor, any number of workers, killed at any moment, the same bytes."""

import os
import pickle
import signal
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from benchmarks import faults
from textmill.base.errors import UserError
from textmill.base.files import sha256_of
from textmill.repository import layout
from textmill.scoring.codec import load_codec
from textmill.shards import work
from textmill.shards.work import bind_to_parent, write_splits


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A cleaned text and its vocabulary, with the code beside it."""
    return faults.make_checkout(tmp_path_factory.mktemp("checkout"), n_lines=1000)


def write(checkout, folder, executor=None, load=load_codec, bytes_a_piece=faults.BYTES_A_PIECE):
    sources = {split: checkout / layout.clean_split(split) for split in ("train", "valid", "test")}
    vocabulary = checkout / layout.vocabulary(faults.TOKENIZER)
    return write_splits(sources, load, vocabulary, folder, executor, bytes_a_piece=bytes_a_piece)


def hashes(folder):
    return {path.name: sha256_of(path) for path in sorted(folder.iterdir())}


class Afar(Executor):
    """Works as a cluster's executor would: what it is given goes there and back as bytes."""

    sizes: list[int]

    def __init__(self):
        self.sizes = []

    def submit(self, fn, /, *args, **kwargs):
        sent = pickle.dumps((fn, args, kwargs))
        self.sizes.append(len(sent))
        there, arguments, named = pickle.loads(sent)
        future = Future()
        future.set_result(pickle.loads(pickle.dumps(there(*arguments, **named))))
        return future


def test_the_number_of_workers_never_changes_the_bytes(checkout, tmp_path, monkeypatch):
    expected = write(checkout, tmp_path / "alone")
    assert len(expected["train"]["shards"]) > 3
    with ThreadPoolExecutor(5) as threads:
        assert write(checkout, tmp_path / "five threads", threads) == expected
    monkeypatch.setattr(work, "BYTES_FOR_THREADS", 0)
    assert write(checkout, tmp_path / "threads") == expected
    monkeypatch.setattr(work, "BYTES_FOR_PROCESSES", 0)
    assert write(checkout, tmp_path / "pool") == expected
    monkeypatch.setattr(work, "WORKERS", 1)
    assert write(checkout, tmp_path / "one") == expected
    for name in ("five threads", "threads", "pool", "one"):
        assert hashes(tmp_path / name) == hashes(tmp_path / "alone"), name


def test_any_executor_may_work_and_is_sent_little(checkout, tmp_path):
    afar = Afar()
    expected = write(checkout, tmp_path / "alone")
    assert write(checkout, tmp_path / "afar", afar) == expected
    assert len(afar.sizes) == sum(len(entry["shards"]) for entry in expected.values())
    assert max(afar.sizes) < 2000


class Elsewhere(Afar):
    """Workers that stand in another folder than whoever sends them tasks."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def submit(self, fn, /, *args, **kwargs):
        here = os.getcwd()
        os.chdir(self.folder)
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            os.chdir(here)


def test_workers_may_stand_in_another_folder(checkout, tmp_path, monkeypatch):
    expected = write(checkout, tmp_path / "alone")
    monkeypatch.chdir(checkout)
    away = Path(os.path.relpath(tmp_path / "away", checkout))
    assert write(Path(), away, Elsewhere(tmp_path)) == expected
    assert hashes(away) == hashes(tmp_path / "alone")
    for record in away.glob("*.json"):
        assert str(tmp_path) not in record.read_text()


def test_a_small_text_pays_for_no_pool(checkout, tmp_path, monkeypatch):
    for pool in ("ProcessPoolExecutor", "ThreadPoolExecutor"):
        monkeypatch.setattr(work, pool, lambda *a, **k: pytest.fail("a pool"))
    assert write(checkout, tmp_path)["valid"]["lines"] == 100


def test_what_was_finished_is_taken_up_and_what_was_damaged_is_not(checkout, tmp_path, monkeypatch):
    expected = write(checkout, tmp_path / "whole")
    folder = tmp_path / "resumed"
    write(checkout, folder)
    cut, gone, torn, extra = sorted(folder.glob("train-*.arrow"))[:4]
    cut.write_bytes(cut.read_bytes()[:-64])
    gone.unlink()
    torn.with_suffix(".json").write_text("{")
    extra.with_suffix(".json").write_text("[]")
    done = []
    plain = work.write_shard
    monkeypatch.setattr(
        work,
        "write_shard",
        lambda lines, codec, path: done.append(path) or plain(lines, codec, path),
    )
    assert write(checkout, folder) == expected
    assert sorted(done) == [cut, gone, torn, extra]
    assert hashes(folder) == hashes(tmp_path / "whole")


def test_an_error_of_a_worker_is_one_message(checkout, tmp_path):
    (tmp_path / "empty").mkdir()
    with (
        ProcessPoolExecutor(1, initializer=bind_to_parent, mp_context=get_context("spawn")) as pool,
        pytest.raises(UserError, match=r"there is no .*tokenizer\.json") as caught,
    ):
        sources = {"train": checkout / layout.clean_split("train")}
        write_splits(sources, load_codec, tmp_path / "empty", tmp_path / "out", pool)
    assert caught.value.next_step == "dvc repro"


def die(_):
    """A `load` in whose midst the worker is killed, as for want of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_one_message(checkout, tmp_path, monkeypatch):
    monkeypatch.setattr(work, "BYTES_FOR_THREADS", 0)
    monkeypatch.setattr(work, "BYTES_FOR_PROCESSES", 0)
    with pytest.raises(UserError, match="worker process was killed"):
        write(checkout, tmp_path, load=die)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.slow
def test_killed_at_three_moments_the_stage_ends_in_an_undisturbed_runs_bytes(checkout):
    touches = faults.run_to_the_end(checkout)
    expected = faults.take_hashes(checkout)
    assert len(expected) > 5
    rng = np.random.default_rng(3)
    third = touches // 3
    for first in (1, 1 + third, 1 + 2 * third):
        assert faults.kill_at_touch(checkout, int(rng.integers(first, first + third)))
        assert faults.leftovers(checkout)
        faults.run_to_the_end(checkout)
        assert faults.take_hashes(checkout) == expected
        assert faults.leftovers(checkout) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.slow
def test_the_workers_of_a_killed_stage_die_with_it(checkout):
    faults.run_to_the_end(checkout)
    expected = faults.take_hashes(checkout)
    hit, alive = faults.kill_pool(checkout, 1)
    assert (hit, alive) == (True, 0)
    faults.run_to_the_end(checkout, "pool")
    assert faults.take_hashes(checkout) == expected


def test_a_vocabulary_written_anew_is_read_anew(checkout, tmp_path):
    seen: list[Path] = []
    vocabulary = checkout / layout.vocabulary(faults.TOKENIZER)

    def load(folder):
        seen.append(folder)
        return load_codec(folder)

    write(checkout, tmp_path / "a", load=load)
    write(checkout, tmp_path / "b", load=load)
    assert seen == [vocabulary]
    os.utime(vocabulary / "tokenizer.json", (2e9, 2e9))
    write(checkout, tmp_path / "c", load=load)
    assert seen == [vocabulary] * 2
