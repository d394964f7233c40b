"""The tasks, without a server: how a stage's end becomes a state, and what Prefect is shown."""

import pytest
from prefect.logging import disable_run_logger

from flows import artifacts
from flows.reproduce import RETRIES, run_stage, set_aside
from flows.stages import Ending, StageFailed, StageStopped


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
