"""The tasks, without a server: how a stage's end becomes a state, and what Prefect is shown."""

import logging
import os
import time

import pytest
from prefect.cache_policies import NO_CACHE
from prefect.logging import disable_run_logger

from flows import artifacts, lineage
from flows.reproduce import RETRIES, reproduce, run_stage, set_aside
from flows.stages import Ending, StageFailed, StageStopped, cause_of


class Pretend:
    """Stages that end as they are told to."""

    def __init__(self, end):
        self.end = end

    def run(self, stage, on_line):
        on_line(f"Running stage '{stage}':")
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


@pytest.fixture
def attempt(monkeypatch):
    """Run the task as its first, second ... try."""

    def run(stage, end, tries=1):
        monkeypatch.setenv("PREFECT__RUNTIME__TASK_RUN__RUN_COUNT", str(tries))
        with disable_run_logger():
            return run_stage.fn(stage, Pretend(end))

    return run


@pytest.mark.parametrize("ending", list(Ending))
def test_a_good_end_names_the_state(attempt, ending):
    state = attempt("clean", ending)
    assert (state.type.value, state.name) == ("COMPLETED", ending)


def test_prefect_keeps_no_result_and_caches_none():
    """What is up to date is DVC's to say."""
    for one in (run_stage, set_aside):
        assert (one.cache_policy, one.persist_result) == (NO_CACHE, False)
    assert reproduce.persist_result is False


def test_a_failure_is_a_state_with_the_words_of_the_step(attempt):
    state = attempt("clean", StageFailed("textmill: no"))
    assert (state.type.value, state.message) == ("FAILED", "textmill: no")
    state = attempt("clean", StageStopped("clean"))
    assert (state.type.value, state.name) == ("CANCELLED", "Cancelled")
    state = set_aside.fn("mix", "train")
    assert (state.type.value, state.name) == ("FAILED", "NotRun")


def test_only_the_download_is_tried_again(attempt):
    """Prefect tries again what raises; the last try is a state like any other failure's."""
    assert set(RETRIES) == {"download"}
    last = len(RETRIES["download"]) + 1
    for tries in range(1, last):
        with pytest.raises(StageFailed):
            attempt("download", StageFailed("no network"), tries)
    assert attempt("download", StageFailed("no network"), last).type.value == "FAILED"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (
            "textmill: params.yaml: k: no\n  -> rename it\nERROR: failed to reproduce 'x'",
            "params.yaml: k: no",
        ),
        ("textmill: one\ntextmill: two\n", "two"),
        (
            "ERROR: failed to reproduce 'x': missing data",
            "ERROR: failed to reproduce 'x': missing data",
        ),
        ("dvc repro ended with exit code 9", "dvc repro ended with exit code 9"),
        ("", "it did not say why"),
    ],
)
def test_a_cause_is_one_line(message, cause):
    assert cause_of(message) == cause


def test_a_failure_without_an_exception_has_no_traceback_in_the_log(caplog, monkeypatch):
    """Prefect asks for the traceback of the exception that is being handled; there may be none."""
    log = logging.getLogger("prefect.task_runs")
    monkeypatch.setattr(log, "handlers", [caplog.handler])
    log.error("failed with a state", exc_info=True)
    try:
        raise StageFailed("a bug")
    except StageFailed:
        log.error("failed with a bug", exc_info=True)
    assert "NoneType" not in caplog.text
    assert "StageFailed: a bug" in caplog.text


def test_mlflow_that_hangs_is_a_warning_and_is_ended(monkeypatch, tmp_path, caplog):
    monkeypatch.setattr(lineage, "PATIENCE", 0.5)
    monkeypatch.setattr(lineage, "environment", lambda: {**os.environ, "PYTHONPATH": str(tmp_path)})
    (tmp_path / "textmill").mkdir()
    (tmp_path / "textmill/__init__.py").touch()
    (tmp_path / "textmill/cli.py").write_text("import time; time.sleep(60)")
    before = time.monotonic()
    with caplog.at_level(logging.WARNING):
        lineage.publish(tmp_path, logging.getLogger("test"))
    assert time.monotonic() - before < 15.0
    assert "longer than 0.5 s; type: textmill publish" in caplog.text


def test_progress_is_made_once_and_updated_seldom(monkeypatch):
    made, updated = [], []
    monkeypatch.setattr(artifacts, "create_progress_artifact", lambda *args: made.append(args) or 7)
    monkeypatch.setattr(artifacts, "update_progress_artifact", lambda *args: updated.append(args))
    progress = artifacts.Progress("train@lstm_word")
    lines = [f"training: {done}/1,000 tokens, loss 2" for done in (250, 500, 750, "1,000")]
    for line in ["training in float32 on cpu", *lines]:
        progress.hear(line)
    assert made == [(25.0, "train-lstm-word-training", f"train@lstm_word: {lines[0]}")]
    assert updated == [(7, 100.0, f"train@lstm_word: {lines[3]}")]
