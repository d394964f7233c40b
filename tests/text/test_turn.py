"""Downloads of several processes into one folder: real ones, and one that is killed."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.text.conftest import Web, sha256
from textmill.text.turn import turn

DATA = b"a tale\n" * 300_000
FETCH = """
import logging, sys
from pathlib import Path
from typing import Any
from textmill.text.catalogue import Corpus, ShareSplits
from textmill.text.fetch import fetch
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
folder, address, pin = sys.argv[1:]
corpus = Corpus(
    title="t", licence="l", splits=ShareSplits(by="share"), cleaning="plain",
    sources=(address,), filename="tale.txt", sha256=pin,
)
fetch("tale", corpus, Path(folder), None)
"""


@pytest.fixture
def start(web: Web, tmp_path: Path, root: Path) -> Callable[[str], "subprocess.Popen[str]"]:
    """Start a process that fetches the tale from an address into the shared folder."""

    def make(address: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", FETCH, str(tmp_path / "downloads"), address, sha256(DATA)],
            env=os.environ | {"PYTHONPATH": str(root)},
            stderr=subprocess.PIPE,
            text=True,
        )

    return make


def slowly(go_on: threading.Event) -> Callable[[BaseHTTPRequestHandler], None]:
    """Half of the tale, and the rest when it may go on."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(DATA)))
        handler.end_headers()
        handler.wfile.write(DATA[: len(DATA) // 2])
        go_on.wait(60)
        try:
            handler.wfile.write(DATA[len(DATA) // 2 :])
        except OSError:
            pass

    return answer


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_of_several_processes_one_downloads_and_the_others_wait_for_it(
    web: Web, start: Callable[[str], "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    go_on = threading.Event()
    address = web.script("/tale.txt", slowly(go_on))
    first = start(address)
    wait_for(lambda: bool(web.asked))
    others = [start(address) for _ in range(2)]
    said = [""] * 2
    for index, one in enumerate(others):
        assert one.stderr is not None
        while "waiting for" not in said[index]:
            said[index] += one.stderr.readline()
    go_on.set()
    for one in (first, *others):
        assert one.communicate(timeout=60)[1] is not None
        assert one.returncode == 0
    assert all(f"tale: waiting for process {first.pid} on " in text for text in said)
    assert web.asked == ["/tale.txt"], "it was brought once"
    downloads = tmp_path / "downloads"
    assert [path.name for path in downloads.iterdir()] == ["tale.txt"]
    assert (downloads / "tale.txt").read_bytes() == DATA


def test_a_killed_holder_blocks_nobody(
    web: Web, start: Callable[[str], "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    go_on = threading.Event()
    address = web.script("/tale.txt", slowly(go_on))
    first = start(address)
    wait_for(lambda: bool(web.asked))
    second = start(web.page("/other.txt", (200, DATA)))
    assert second.stderr is not None
    said = ""
    while "waiting for" not in said:
        said += second.stderr.readline()
    first.kill()
    first.communicate(timeout=60)
    second.communicate(timeout=60)
    go_on.set()
    assert second.returncode == 0
    assert (tmp_path / "downloads/tale.txt").read_bytes() == DATA
    third = start(address)  # the lock file of the killed one does not matter either
    third.communicate(timeout=60)
    assert third.returncode == 0


def test_a_folder_that_another_removes_while_it_is_made_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There when it is to be made, gone when `mkdir` looks whether it is a folder."""
    made = Path.mkdir
    refusals = [FileExistsError(17, "File exists")]

    def gone_in_between(self: Path, *args: Any, **options: Any) -> None:
        if refusals:
            raise refusals.pop()
        made(self, *args, **options)

    monkeypatch.setattr(Path, "mkdir", gone_in_between)
    with turn(tmp_path / "partial/a.lock", "a"):
        assert (tmp_path / "partial/a.lock").exists()
    assert refusals == []


def test_a_file_where_the_folder_belongs_is_no_endless_wait(tmp_path: Path) -> None:
    (tmp_path / "partial").write_text("")
    with pytest.raises(FileExistsError), turn(tmp_path / "partial/a.lock", "a"):
        pass
