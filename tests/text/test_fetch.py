import hashlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from textmill.base.errors import UserError
from textmill.text.catalogue import Corpus
from textmill.text.fetch import fetch
from textmill.text.mirrors import Patience, bring
from textmill.text.partial import Asked, SourceError

TEXT = "Grüße aus dem Netz\n".encode() * 1000
ONCE = Patience(seconds=5, pauses=())
MakeCorpus = Callable[..., Corpus]


def refusal(corpus: Corpus, downloads: Path, patience: Patience = ONCE) -> str:
    with pytest.raises(UserError) as caught:
        fetch("tale", corpus, downloads, patience)
    return str(caught.value)


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_file_from_the_web_gets_its_name_and_is_not_asked_for_again(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    corpus = corpus_of(TEXT, web.page("/t", (200, TEXT)))
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
    assert fetch("tale", corpus, tmp_path, ONCE) == tmp_path / "text.txt"
    assert web.asked == ["/t"]
    assert web.agents == ["textmill/0.1 (corpus download)"]
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_mirrors_are_tried_in_order_until_one_fits(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    sources = [
        web.page("/gone", (404, b"no")),
        web.page("/other", (200, b"another text")),
        web.page("/short", (200, TEXT[:500], len(TEXT))),
        web.page("/good", (200, TEXT)),
        web.page("/never", (200, TEXT)),
    ]
    assert fetch("tale", corpus_of(TEXT, *sources), tmp_path, ONCE).read_bytes() == TEXT
    assert web.asked == ["/gone", "/other", "/short", "/good"]


def test_one_message_says_all_that_was_tried_and_where_the_file_goes_by_hand(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    port = closed_port()
    corpus = corpus_of(
        TEXT,
        web.page("/gone", (404, b"no")),
        web.page("/other", (200, b"another text")),
        web.page("/short", (200, TEXT[:500], len(TEXT))),
        f"http://127.0.0.1:{port}/refused",
        "file:/nowhere/at/all.txt",
    )
    message = refusal(corpus, tmp_path)
    lines = message.splitlines()
    assert lines[0] == "corpus tale: no source gave the text. Tried, in this order:"
    assert lines[1] == f"  {tmp_path}/text.txt: not there"
    assert lines[2] == f"  {web.address}/gone: HTTP 404 Not Found"
    other = hashlib.sha256(b"another text").hexdigest()
    assert lines[3] == (
        f"  {web.address}/other: 12 bytes whose sha256 is {other}, not the pinned {corpus.sha256}"
    )
    assert lines[4].endswith("/short: the connection broke off after 500 of 21,000 bytes")
    assert lines[5] == f"  http://127.0.0.1:{port}/refused: Connection refused"
    assert lines[6] == "  file:/nowhere/at/all.txt: No such file or directory"
    assert f"put the file by hand at {tmp_path}/text.txt (sha256 {corpus.sha256})" in lines[-1]
    assert list(tmp_path.iterdir()) == [], "nothing half-downloaded stays"


def test_a_busy_server_is_tried_again_and_a_missing_file_is_not(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    twice = Patience(seconds=5, pauses=(0.0, 0.0))
    busy = web.page("/busy", (503, b""), (200, TEXT[:9], len(TEXT)), (200, TEXT))
    assert fetch("tale", corpus_of(TEXT, busy), tmp_path / "a", twice).read_bytes() == TEXT
    assert web.asked == ["/busy"] * 3
    gone = corpus_of(TEXT, web.page("/gone", (404, b"")), web.page("/down", (500, b"")))
    message = refusal(gone, tmp_path / "b", twice)
    assert web.asked[3:] == ["/gone", "/down", "/down", "/down"]
    assert "/down: HTTP 500 Internal Server Error (3 tries)" in message


def test_letters_beyond_ascii_in_an_address_are_sent_as_browsers_do(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    web.page("/B%C3%BCcher/100%25.txt?a=%20b", (200, TEXT))
    corpus = corpus_of(TEXT, f"{web.address}/Bücher/100%25.txt?a=%20b")
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT


@pytest.mark.parametrize("status", [204, 206, 416])
def test_an_answer_that_nobody_asked_for_is_named(
    status: int, web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    message = refusal(corpus_of(TEXT, web.page("/t", (status, b""))), tmp_path)
    assert f"/t: HTTP {status} " in message
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_does_not_answer_ends_in_words(corpus_of: MakeCorpus, tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        source = f"http://127.0.0.1:{silent.getsockname()[1]}/t"
        message = refusal(corpus_of(TEXT, source), tmp_path, Patience(seconds=0.2, pauses=()))
    assert f"{source}: no answer within 0.2 s" in message


def test_a_copy_by_hand_is_taken_first_and_a_damaged_one_is_replaced(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    corpus = corpus_of(TEXT, web.page("/t", (200, TEXT)))
    kept = tmp_path / "text.txt"
    kept.write_bytes(TEXT)
    assert fetch("tale", corpus, tmp_path, ONCE) == kept
    assert web.asked == []
    kept.write_bytes(TEXT[:-1])
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
    assert web.asked == ["/t"]


def test_a_damaged_copy_by_hand_is_named_in_the_message(
    corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_bytes(TEXT[:-1])
    assert "text.txt: 20,999 bytes whose sha256 is" in refusal(corpus_of(TEXT), tmp_path)
    assert (tmp_path / "text.txt").read_bytes() == TEXT[:-1], "it is the user's, and stays"


@pytest.mark.parametrize(
    "form", ["{}", "file:{}", "file://{}", "file://localhost{}", "file://LOCALHOST{}"]
)
def test_paths_and_file_addresses_work(form: str, corpus_of: MakeCorpus, tmp_path: Path) -> None:
    source = tmp_path / "a text.txt"
    source.write_bytes(TEXT)
    corpus = corpus_of(TEXT, form.format(source))
    assert fetch("tale", corpus, tmp_path / "downloads", ONCE).read_bytes() == TEXT


@pytest.mark.parametrize("name", ["localhost/a.txt", "localhost.txt"])
def test_a_path_may_be_called_like_this_machine(
    name: str, corpus_of: MakeCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_bytes(TEXT)
    corpus = corpus_of(TEXT, f"file:{name}")
    assert fetch("tale", corpus, tmp_path / "downloads", ONCE).read_bytes() == TEXT


def test_sha1_pins_as_well(corpus_of: MakeCorpus, tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    known = "a9993e364706816aba3e25717850c26c9cd0d89d"  # FIPS 180-4's example
    corpus = corpus_of(b"", str(tmp_path / "abc"), sha1=known)
    assert fetch("tale", corpus, tmp_path / "d", ONCE).read_bytes() == b"abc"
    other = corpus_of(b"", str(tmp_path / "abc"), sha1="0" * 40)
    assert f"3 bytes whose sha1 is {known}, not the pinned 000" in refusal(other, tmp_path / "e")


def test_a_folder_where_the_file_belongs_is_named(corpus_of: MakeCorpus, tmp_path: Path) -> None:
    (tmp_path / "text.txt").mkdir()
    assert refusal(corpus_of(TEXT), tmp_path) == (
        f"corpus tale: {tmp_path}/text.txt is a folder, and the file of the corpus belongs there\n"
        "  -> move it away, then: dvc repro"
    )


def test_a_file_where_the_downloads_belong_is_named(corpus_of: MakeCorpus, tmp_path: Path) -> None:
    (tmp_path / "downloads").write_bytes(b"")
    message = refusal(corpus_of(TEXT), tmp_path / "downloads")
    assert f"{tmp_path}/downloads is not a folder" in message


def test_a_home_folder_of_nobody_and_an_address_that_cannot_be_read_end_in_words(
    corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    message = refusal(corpus_of(TEXT, "~no-such-user/t.txt"), tmp_path)
    assert "~no-such-user/t.txt: Could not determine home directory" in message
    with pytest.raises(SourceError, match="Invalid IPv6 URL"):
        bring("https://[::1", tmp_path / "x", ONCE, Asked("t", 9))
