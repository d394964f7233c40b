import hashlib
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from textmill.text.catalogue import Corpus, ShareSplits


class Web:
    """A server on 127.0.0.1: `pages` holds (status, body, announced length) by path."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.pages: dict[str, list[tuple[int, bytes, int | None]]] = {}
        self.scripts: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.asked: list[str] = []
        self.agents: list[str] = []

    def page(self, path: str, *answers: tuple[int, bytes] | tuple[int, bytes, int]) -> str:
        """Answer `path` with these, one after the other, the last one for ever."""
        self.pages[path] = [(*answer, None)[:3] for answer in answers]
        return self.address + path

    def script(self, path: str, answer: Callable[[BaseHTTPRequestHandler], None]) -> str:
        """Leave the whole answer to a function."""
        self.scripts[path] = answer
        return self.address + path


@pytest.fixture
def web() -> Iterator[Web]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            site.agents.append(self.headers["User-Agent"])
            if self.path in site.scripts:
                site.scripts[self.path](self)
                return
            answers = site.pages.get(self.path, [(404, b"", None)])
            status, body, length = answers.pop(0) if len(answers) > 1 else answers[0]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body) if length is None else length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Web(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def corpus_of() -> Callable[..., Corpus]:
    """A catalogue entry for a text file with these bytes, or as the keywords say."""

    def make(data: bytes = b"", *sources: str, **other: Any) -> Corpus:
        entry: dict[str, Any] = {
            "title": "a text",
            "licence": "public domain",
            "splits": ShareSplits(by="share"),
            "cleaning": "plain",
            "sources": sources or ("nowhere.txt",),
            "filename": "text.txt",
        }
        if not {"sha1", "members", "sha256"} & set(other):
            entry["sha256"] = sha256(data)
        return Corpus(**(entry | other))

    return make


@pytest.fixture
def zip_of(tmp_path: Path) -> Callable[..., Path]:
    """A zip with these members (name -> bytes) in the test's folder."""

    def make(members: dict[str, bytes], name: str = "made.zip") -> Path:
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in members.items():
                archive.writestr(member, data)
        return path

    return make


@pytest.fixture
def catalogue(root: Path) -> dict[str, Any]:
    """The section `corpora` of the project's params.yaml."""
    corpora = YAML(typ="safe").load((root / "params.yaml").read_text(encoding="utf-8"))["corpora"]
    assert isinstance(corpora, dict)
    return corpora
