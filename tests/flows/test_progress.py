"""Progress lines are those that `textmill.base.progress` writes."""

import logging

import pytest

from flows.progress import Step, parse
from textmill.base import progress


def test_a_line_of_a_step_is_understood(caplog, monkeypatch):
    monkeypatch.setitem(progress.SECONDS_BETWEEN_LINES, False, 0.0)
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: False, raising=False)
    with caplog.at_level(logging.INFO), progress.Progress(40_000, "tokens", "training") as run:
        run.advance(10_000, loss=2.5)
    step = parse(caplog.messages[0])
    assert (step.label, step.percent, step.text) == ("training", 25.0, caplog.messages[0])


@pytest.mark.parametrize(
    ("line", "percent"),
    [("training: 12,345/24,690 tokens, loss 2.1", 50.0), ("validation look: 7/7 lines", 100.0)],
)
def test_percent(line, percent):
    assert parse(line) == Step(line.split(":")[0], percent, line)


@pytest.mark.parametrize(
    "line",
    ["", "Running stage 'train@x':", "training: 12,345 tokens", "> exec python", "a: 0/0 lines",
     "textmill: models/a: 3/4 of it"],
)  # fmt: skip
def test_other_lines_are_no_progress(line):
    assert parse(line) is None
