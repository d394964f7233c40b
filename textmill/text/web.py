"""`https://` and `http://`: one request, or the rest of a file by byte range.

What came of a file is gone on with only if the server says that it is still the same file: by its
ETag or its time of last change, sent along as If-Range (RFC 9110, section 13.1.5) and compared
with the answer's own. A server that ignores the range, or whose file changed, sends all of it.

One of WikiText's mirrors answers 403 to the standard library's own User-Agent, so requests
carry the project's.
"""

import email.utils
import http.client
import re
import string
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http import HTTPStatus

from textmill.text.partial import Asked, Partial, SourceError, Stand

_HEADERS = {"User-Agent": "textmill/0.1 (corpus download)", "Accept-Encoding": "identity"}
_BUSY = {408, 425, 429, 500, 502, 503, 504}
_ASCII = string.ascii_letters + string.digits + string.punctuation
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class _OtherFileError(SourceError):
    """The server has no rest of the file that came before."""


def from_web(url: str, partial: Partial, asked: Asked, seconds: float) -> bool:
    """Bring the file, or the rest of it. Whether it came in one piece. Raises SourceError."""
    stand = partial.stand()
    if stand and stand.done == stand.total:  # killed after the last byte
        return False
    if stand:
        try:
            return _rest(url, partial, asked, seconds, stand)
        except _OtherFileError:
            partial.drop()
    with _answer(url, {}, seconds) as response:
        return _all(response, url, partial, asked, seconds)


def _rest(url: str, partial: Partial, asked: Asked, seconds: float, stand: Stand) -> bool:
    wanted = {"Range": f"bytes={stand.done}-", "If-Range": stand.mark}
    with _answer(url, wanted, seconds) as response:
        if response.status != HTTPStatus.PARTIAL_CONTENT:
            return _all(response, url, partial, asked, seconds)
        total = _total_of_rest(response.headers, stand)
        partial.receive(_reader(response, seconds), asked, total, stand.done)
        return False


def _all(
    response: http.client.HTTPResponse, url: str, partial: Partial, asked: Asked, seconds: float
) -> bool:
    if response.status != HTTPStatus.OK:
        raise SourceError(f"HTTP {response.status} {response.reason}".rstrip())
    announced = response.headers.get("Content-Length", "")
    total = int(announced) if announced.isdecimal() else None
    partial.start(url, _mark(response.headers), total)
    partial.receive(_reader(response, seconds), asked, total)
    return True


def _total_of_rest(headers: Message, stand: Stand) -> int | None:
    """Bytes of the whole file, when the answer is the asked-for rest of the same file."""
    fits = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
    if not fits or int(fits[1]) != stand.done:
        raise _OtherFileError("another part than the one asked for")
    if (mark := _mark(headers)) and mark != stand.mark:
        raise _OtherFileError("the file has changed")
    total = stand.total if fits[2] == "*" else int(fits[2])
    if stand.total is not None and total != stand.total:
        raise _OtherFileError("the file has changed its size")
    return total


def _mark(headers: Message) -> str:
    """What If-Range takes: a strong ETag, else the time of last change, else nothing."""
    tag = headers.get("ETag", "").strip()
    mark = tag if tag.startswith('"') else headers.get("Last-Modified", "").strip()
    return mark if mark.isprintable() else ""  # a folded one could not be sent back


@contextmanager
def _answer(
    url: str, headers: dict[str, str], seconds: float
) -> Iterator[http.client.HTTPResponse]:
    with _in_words(seconds):
        # `bring` passes http and https addresses only.
        address = urllib.parse.quote(url, safe=_ASCII)
        request = urllib.request.Request(address, headers=_HEADERS | headers)  # noqa: S310
        response = urllib.request.urlopen(request, timeout=seconds)  # noqa: S310
    with response:
        yield response


def _reader(response: http.client.HTTPResponse, seconds: float) -> Callable[[int], bytes]:
    """Gives what has arrived and does not wait for more, so that a stall loses none of it."""

    def read(size: int) -> bytes:
        with _in_words(seconds):
            return response.read1(size)

    return read


@contextmanager
def _in_words(seconds: float) -> Iterator[None]:
    """Turn what the standard library raises into one error that says whether to try again."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise _OtherFileError(f"HTTP {error.code} {error.reason}") from None
        reason = f"HTTP {error.code} {error.reason}".rstrip()
        wait = _wait(error.headers.get("Retry-After", ""))
        raise SourceError(reason, again=error.code in _BUSY, wait=wait) from None
    except http.client.IncompleteRead as error:
        raise SourceError(f"the connection broke off ({error})", again=True) from None
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        again = isinstance(error, OSError | http.client.RemoteDisconnected)
        raise SourceError(_said(error, seconds), again=again) from None


def _wait(after: str) -> float:
    """Seconds that a Retry-After asks for: a number, or a date."""
    if after.isdecimal():
        return float(after)
    try:
        return max(email.utils.parsedate_to_datetime(after).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0


def _said(error: Exception, seconds: float) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no answer within {seconds:g} s"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__
