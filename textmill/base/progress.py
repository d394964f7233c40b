"""Progress of long work: a live line on a terminal, a log line now and then elsewhere."""

import logging
import sys
import time
from types import TracebackType
from typing import Self

_log = logging.getLogger(__name__)
SECONDS_BETWEEN_LINES = {True: 0.2, False: 15.0}


class Progress:
    """Counts `unit`s up to `total` (None: unknown) and reports rate and time left.

    Usage: `with Progress(100, "steps", "training") as progress: progress.advance(1, loss=2.5)`.
    """

    def __init__(self, total: int | None, unit: str, label: str) -> None:
        self._total = total
        self._unit = unit
        self._label = label
        self._live = sys.stderr.isatty()
        self._done = 0
        self._done_at_start = 0

    def __enter__(self) -> Self:
        self._start = self._last = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
        if kind is None and time.monotonic() - self._start >= 1.0:
            _log.info("%s", self._line({}))

    def resume(self, done: int) -> None:
        """Start the count at `done` without counting it in the rate."""
        self._done = self._done_at_start = done

    def advance(self, n: int = 1, **facts: float | str) -> None:
        """Count `n` more; `facts` (loss=2.31) are shown beside the rate."""
        self._done += n
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES[self._live]:
            return
        self._last = now
        if self._live:
            sys.stderr.write("\r\x1b[2K" + self._line(facts)[:160])
            sys.stderr.flush()
        else:
            _log.info("%s", self._line(facts))

    def _line(self, facts: dict[str, float | str]) -> str:
        seconds = max(time.monotonic() - self._start, 1e-9)
        rate = (self._done - self._done_at_start) / seconds
        total = f"/{self._total:,}" if self._total else ""
        shown = [f"{self._label}: {self._done:,}{total} {self._unit}"]
        shown += [f"{name} {_short(value)}" for name, value in facts.items()]
        shown.append(f"{rate:,.0f} {self._unit}/s" if rate >= 10 else f"{rate:.2g} {self._unit}/s")
        if self._total and rate > 0 and self._done < self._total:
            shown.append(f"{_clock((self._total - self._done) / rate)} left")
        return ", ".join(shown)


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"
