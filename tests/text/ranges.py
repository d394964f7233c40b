"""A file on a server that knows byte ranges, or pretends to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler


@dataclass
class RangeFile:
    """Answers as RFC 9110 has it; the fields make it break off, change or misbehave.

    breaks: bytes after which the first answers break off. knows_ranges, checks_mark: whether Range
    and If-Range are heeded. shift: how far the part that is sent lies beside the one asked for.
    asked: (Range, If-Range) of every request.
    """

    data: bytes
    marks: dict[str, str] = field(default_factory=lambda: {"ETag": '"one"'})
    breaks: Sequence[int] = ()
    knows_ranges: bool = True
    checks_mark: bool = True
    shift: int = 0
    asked: list[tuple[str | None, str | None]] = field(default_factory=list)

    def __call__(self, handler: BaseHTTPRequestHandler) -> None:
        wanted, mark = handler.headers["Range"], handler.headers["If-Range"]
        self.asked.append((wanted, mark))
        fresh = not self.checks_mark or mark in self.marks.values()
        start = int(wanted[6:-1]) + self.shift if wanted and self.knows_ranges and fresh else None
        size = len(self.data)
        if start is not None and start >= size:
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{size}")
            handler.end_headers()
            return
        body = self.data[start or 0 :]
        handler.send_response(200 if start is None else 206)
        for name, value in self.marks.items():
            handler.send_header(name, value)
        if start is not None:
            handler.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        number = len(self.asked)
        handler.wfile.write(body[: self.breaks[number - 1]] if number <= len(self.breaks) else body)
