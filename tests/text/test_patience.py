"""What a download may cost: size, waiting, a full disk; and what it says meanwhile."""

import email.utils
import logging
import resource
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.text.ranges import RangeFile
from textmill.base import progress
from textmill.base.errors import UserError
from textmill.text.catalogue import Corpus
from textmill.text.fetch import fetch
from textmill.text.mirrors import Patience

TEXT = bytes(range(256)) * 4000
ONCE = Patience(seconds=5, pauses=())
MakeCorpus = Callable[..., Corpus]


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that are made, without making them."""
    pauses: list[float] = []
    monkeypatch.setattr("textmill.text.mirrors.time.sleep", pauses.append)
    return pauses


def refusal(corpus: Corpus, downloads: Path, patience: Patience = ONCE) -> str:
    with pytest.raises(UserError) as caught:
        fetch("tale", corpus, downloads, patience)
    return str(caught.value)


def test_the_second_pause_is_longer_than_the_first(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path, slept: list[float]
) -> None:
    """A server that is down gets more time with each try, and the third failure is the last."""
    message = refusal(corpus_of(TEXT, web.page("/t", (503, b""))), tmp_path / "d", Patience())
    assert slept == [1.0, 4.0]
    assert web.asked == ["/t"] * 3
    assert "(3 tries)" in message


def test_the_third_try_may_succeed(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path, slept: list[float]
) -> None:
    source = web.page("/t", (503, b""), (500, b""), (200, TEXT))
    assert fetch("tale", corpus_of(TEXT, source), tmp_path, Patience()).read_bytes() == TEXT
    assert slept == [1.0, 4.0]


def test_a_file_over_the_limit_is_refused_before_it_is_read(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    def huge(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "5000000000000")
        handler.end_headers()

    (tmp_path / "here").write_bytes(TEXT)
    sources = (web.script("/t", huge), str(tmp_path / "here"))
    message = refusal(corpus_of(TEXT, *sources, limit=len(TEXT) - 1), tmp_path / "d")
    assert "/t: 5,000,000,000,000 bytes or more, and limit is 1,023,999" in message
    assert "/here: 1,024,000 bytes or more, and limit is 1,023,999" in message
    assert list((tmp_path / "d").iterdir()) == []
    enough = corpus_of(TEXT, str(tmp_path / "here"), limit=len(TEXT))
    assert fetch("tale", enough, tmp_path / "d", ONCE).read_bytes() == TEXT


def test_a_file_that_does_not_say_its_size_is_refused_while_it_is_read(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    sent: list[int] = []

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("ETag", '"one"')
        handler.end_headers()
        try:
            while sum(sent) < 200_000_000:
                sent.append(handler.wfile.write(bytes(1 << 16)))
        except OSError:
            return

    message = refusal(corpus_of(TEXT, web.script("/t", endless), limit=100_000), tmp_path)
    assert "bytes or more, and limit is 100,000" in message
    assert sum(sent) < 100_000_000
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("after", "pause"),
    [("7", 7.0), ("0", 1.0), ("soon", 1.0), ("", 1.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 1.0)],
)
def test_a_server_that_says_when_to_come_back_is_obeyed(
    after: str, pause: float, web: Any, corpus_of: MakeCorpus, tmp_path: Path, slept: list[float]
) -> None:
    file = RangeFile(TEXT)

    def busy(handler: BaseHTTPRequestHandler) -> None:
        if slept:
            file(handler)
            return
        handler.send_response(429)
        handler.send_header("Retry-After", after)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    corpus = corpus_of(TEXT, web.script("/t", busy))
    assert fetch("tale", corpus, tmp_path, Patience(pauses=(1.0, 4.0))).read_bytes() == TEXT
    assert slept == [pause]


def test_a_date_to_come_back_at_is_as_far_as_it_is(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path, slept: list[float]
) -> None:
    def busy(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(503)
        at = email.utils.formatdate(time.time() + 40, usegmt=True)
        handler.send_header("Retry-After", at)
        handler.end_headers()

    message = refusal(
        corpus_of(TEXT, web.script("/t", busy)), tmp_path, Patience(pauses=(1.0, 4.0))
    )
    assert "HTTP 503 Service Unavailable (3 tries)" in message
    assert [35 < pause <= 41 for pause in slept] == [True, True]


def test_a_server_that_asks_for_an_hour_gives_way_to_the_next_mirror(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path, slept: list[float], caplog: Any
) -> None:
    def busy(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(429)
        handler.send_header("Retry-After", "3600")
        handler.end_headers()

    sources = [web.script("/busy", busy), web.page("/t", (200, TEXT))]
    assert fetch("tale", corpus_of(TEXT, *sources), tmp_path, Patience()).read_bytes() == TEXT
    assert "HTTP 429 Too Many Requests; it asks to wait for 3,600 s" in caplog.text
    assert slept == []


def test_progress_tells_the_rate_and_the_time_left_and_counts_what_was_there(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path, caplog: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", {True: 0.0, False: 0.0})
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    corpus = corpus_of(TEXT, web.script("/t", RangeFile(TEXT, breaks=[600_000])))
    refusal(corpus, tmp_path)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        fetch("tale", corpus, tmp_path, ONCE)
    lines = [line for line in caplog.messages if line.startswith("text.txt: ")]
    done = [int(line.split()[1].split("/")[0].replace(",", "")) for line in lines]
    assert all("/1,024,000 bytes, " in line and " bytes/s" in line for line in lines)
    assert all(" left" in line for line in lines[:-1])
    assert done == sorted(done)
    assert done[0] > 600_000
    assert done[-1] == 1_024_000


@pytest.fixture
def small_files() -> Iterator[None]:
    """The system refuses to write a file of more than 100,000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_takes_no_more_ends_it_without_asking_other_mirrors(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path, small_files: None
) -> None:
    sources = [web.page("/1", (200, TEXT)), web.page("/2", (200, TEXT))]
    message = refusal(corpus_of(TEXT, *sources), tmp_path, Patience(pauses=(0.0,)))
    assert "body: File too large\n  -> make room or give access there, then: dvc repro" in message
    assert web.asked == ["/1"]
    assert not (tmp_path / "text.txt").exists()
