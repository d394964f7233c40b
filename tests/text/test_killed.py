"""Downloads whose run, or whose server, dies in the middle."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.text.ranges import RangeFile
from textmill.base.errors import UserError
from textmill.text.catalogue import Corpus
from textmill.text.fetch import fetch
from textmill.text.mirrors import Patience

TEXT = bytes(range(256)) * 100
ONCE = Patience(seconds=5, pauses=())
MakeCorpus = Callable[..., Corpus]


def begin_and_stall(handler: BaseHTTPRequestHandler, over: threading.Event) -> None:
    """Announce the text, send 5,001 bytes of it, and say no more."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(TEXT)))
    handler.send_header("ETag", '"one"')
    handler.end_headers()
    handler.wfile.write(TEXT[:5001])
    handler.wfile.flush()
    over.wait(60)


def bodies(downloads: Path) -> list[bytes]:
    return [path.read_bytes() for path in (downloads / ".partial").glob("*/*/body")]


CHILD = """
import sys
from pathlib import Path
from textmill.text.catalogue import Corpus, ShareSplits
from textmill.text.fetch import fetch
source, sha256, downloads = sys.argv[1:]
fetch("tale", Corpus(title="a text", licence="l", splits=ShareSplits(by="share"), cleaning="plain",
      sources=(source,), filename="text.txt", sha256=sha256), Path(downloads))
"""


def test_a_killed_run_loses_nothing_that_had_come(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path, root: Path
) -> None:
    file, over = RangeFile(TEXT), threading.Event()

    def stall(handler: BaseHTTPRequestHandler) -> None:
        if over.is_set():
            file(handler)
            return
        begin_and_stall(handler, over)

    corpus = corpus_of(TEXT, web.script("/t", stall))
    command = [sys.executable, "-c", CHILD, corpus.sources[0], corpus.sha256, str(tmp_path)]
    child = subprocess.Popen(command, cwd=root, env=os.environ | {"no_proxy": "127.0.0.1"})
    try:
        deadline = time.monotonic() + 60
        while bodies(tmp_path) != [TEXT[:5001]] and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        over.set()
    assert bodies(tmp_path) == [TEXT[:5001]]
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
    assert file.asked == [("bytes=5001-", '"one"')]
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_an_answer_in_chunks_that_breaks_off_is_gone_on_with(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    file = RangeFile(TEXT)

    def chunks(handler: BaseHTTPRequestHandler) -> None:
        if handler.headers["Range"]:
            file(handler)
            return
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.send_header("ETag", '"one"')
        handler.end_headers()
        handler.wfile.write(b"1000\r\n" + TEXT[:0x1000] + b"\r\n1000\r\n" + TEXT[0x1000:0x1100])

    corpus = corpus_of(TEXT, web.script("/t", chunks))
    with pytest.raises(UserError, match=r"/t: the connection broke off \(IncompleteRead"):
        fetch("tale", corpus, tmp_path, ONCE)
    assert bodies(tmp_path) == [TEXT[:0x1100]]
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
    assert file.asked == [(f"bytes={0x1100}-", '"one"')]


def test_a_server_that_falls_silent_is_asked_for_the_rest(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    file, over = RangeFile(TEXT), threading.Event()

    def silent(handler: BaseHTTPRequestHandler) -> None:
        if handler.headers["Range"]:
            file(handler)
            return
        begin_and_stall(handler, over)

    corpus = corpus_of(TEXT, web.script("/t", silent))
    try:
        patience = Patience(seconds=0.3, pauses=(0.0,))
        assert fetch("tale", corpus, tmp_path, patience).read_bytes() == TEXT
    finally:
        over.set()
    assert file.asked == [("bytes=5001-", '"one"')]
