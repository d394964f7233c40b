"""Any other address, through fsspec: `s3://`, `gs://`, `hf://`, `sftp://` and what else it knows.

fsspec and the package of a file system are imported only when such a source is asked; credentials
and settings are the user's own, as that package reads them. A broken download goes on by seeking,
when the file system's own mark of the file (from its ETag, or size and time) is still the same.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from textmill.text.partial import Asked, Partial, SourceError


def from_remote(url: str, partial: Partial, asked: Asked) -> bool:
    """Bring the file, or the rest of it. Whether it came in one piece. Raises SourceError."""
    with _in_words(url):
        files, path = _file_system(url)
        about = files.info(path)
        mark, total = str(files.ukey(path)), about.get("size")
    if about.get("type") == "directory":
        raise SourceError("is a folder, and a source is one file")
    stand = partial.stand()
    if not stand or (stand.mark, stand.total) != (mark, total):
        partial.start(url, mark, total)
    done = partial.done
    if done and done == total:  # killed after the last byte
        return False
    with _in_words(url):
        stream = files.open(path, "rb")
        stream.seek(done)
    with stream:
        partial.receive(_reader(url, stream), asked, total, done)
    return done == 0


def _file_system(url: str) -> tuple[Any, str]:
    # Half of a second, which no step should pay that asks no such source.
    import fsspec.core  # noqa: PLC0415

    files, path = fsspec.core.url_to_fs(url)
    return files, str(path)


def _reader(url: str, stream: Any) -> Callable[[int], bytes]:
    def read(size: int) -> bytes:
        with _in_words(url):
            return bytes(stream.read(size))

    return read


@contextmanager
def _in_words(url: str) -> Iterator[None]:
    """Every file system raises its own errors, so all are taken: the source gave no file."""
    try:
        yield
    except ImportError as error:
        # fsspec words the error anew, and only the first one holds the name.
        name = error.name or getattr(error.__cause__, "name", None) or "fsspec"
        package = name.partition(".")[0]
        said = f"needs a package that is not installed: pip install {package}"
        raise SourceError(said) from None
    except (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError) as error:
        raise SourceError(_said(error)) from None
    except Exception as error:
        again = isinstance(error, OSError)
        raise SourceError(f"{url.partition(':')[0]}: {_said(error)}", again=again) from None


def _said(error: Exception) -> str:
    strerror = error.strerror if isinstance(error, OSError) else ""
    if isinstance(error, FileNotFoundError):
        strerror = "No such file or directory"
    return strerror or str(error) or type(error).__name__
