"""`s3://` against a server of that protocol on this machine; skipped where the packages are not."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from textmill.base.errors import UserError
from textmill.text.catalogue import Corpus
from textmill.text.fetch import fetch
from textmill.text.partial import Partial, SourceError

NEEDED = "pip install 'moto[server]' s3fs"
boto3 = pytest.importorskip("boto3", reason=NEEDED)
s3fs = pytest.importorskip("s3fs", reason=NEEDED)
server = pytest.importorskip("moto.server", reason=NEEDED)
pytestmark = pytest.mark.filterwarnings("ignore")  # those packages' own
DATA = b"a tale\n" * 1_000_000


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a bucket that holds books/tale.txt."""
    for name, value in (("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "y")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    s3fs.S3FileSystem.clear_instance_cache()  # which knows the server of the test before
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*running.get_host_and_port()))
    client = boto3.client("s3")
    client.create_bucket(Bucket="texts")
    client.put_object(Bucket="texts", Key="books/tale.txt", Body=DATA)
    yield "s3://texts"
    running.stop()


def test_a_text_is_brought_and_what_is_none_is_named(
    bucket: str, corpus_of: Callable[..., Corpus], tmp_path: Path
) -> None:
    wrong = [f"{bucket}/none.txt", "s3://nobody/tale.txt", f"{bucket}/books"]
    with pytest.raises(UserError) as caught:
        fetch("tale", corpus_of(DATA, *wrong), tmp_path)
    for address in wrong[:2]:
        assert f"{address}: No such file or directory\n" in str(caught.value)
    assert f"{wrong[2]}: is a folder, and a source is one file\n" in str(caught.value)
    kept = fetch("tale", corpus_of(DATA, *wrong, f"{bucket}/books/tale.txt"), tmp_path)
    assert kept.read_bytes() == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_a_download_that_broke_off_goes_on(
    bucket: str,
    corpus_of: Callable[..., Corpus],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corpus = corpus_of(DATA, f"{bucket}/books/tale.txt")
    receive, begun = Partial.receive, list[int]()

    def cut(self: Partial, read: Any, asked: Any, total: int, done: int = 0) -> None:
        def some(left: list[int], size: int) -> bytes:
            if not left:
                raise SourceError("cut")
            left.pop()
            return bytes(read(size))

        begun.append(done)
        receive(self, functools.partial(some, [0] * 5) if not done else read, asked, total, done)

    monkeypatch.setattr(Partial, "receive", cut)
    with pytest.raises(UserError, match="what came is kept"):
        fetch("tale", corpus, tmp_path)
    assert fetch("tale", corpus, tmp_path).read_bytes() == DATA
    assert begun == [0, 5 << 18]
