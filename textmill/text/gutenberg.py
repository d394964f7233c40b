"""Project Gutenberg's licence: the header and footer around a book.

Its files begin with a header and end with the licence; the words have changed since 1991 and are
recognised by the lines that public cleaners look for (c-w/gutenberg and those that followed it):

    *** START OF THE PROJECT GUTENBERG EBOOK ...      *** END OF THE PROJECT GUTENBERG EBOOK ...
    *** START OF THIS PROJECT GUTENBERG EBOOK ...     ***END OF THIS PROJECT GUTENBERG EBOOK ...
    *END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS    End of the Project Gutenberg EBook of ...
    *END THE SMALL PRINT! ...                         End of Project Gutenberg's ...

Those cleaners also cut lines such as "Produced by ...", which stand where the book has begun and
may be the author's own words; here they stay. A file of several books keeps each of them. A file
with none of these lines is left as it is.
"""

import re

from textmill.text.rules import Cleaned, Loss

_START = re.compile(
    r"^[ \t]*(?:"
    r"\*{3} ?START OF (?:THE|THIS) (?:COPYRIGHTED )?PROJECT GUTENBERG"
    r"|\*END ?\*? ?THE SMALL PRINT"
    r").*(?:\n[^\S\n]*\S.*){0,2}?(?:(?<=\*)[ \t]*$|(?=\n[ \t]*\n)|\Z)",
    re.MULTILINE | re.IGNORECASE,
)
_END = re.compile(
    r"^[ \t]*(?:"
    r"\*{3} ?END OF (?:THE|THIS) (?:COPYRIGHTED )?PROJECT GUTENBERG"
    r"|\*{3} ?START: FULL LICENSE"
    r"|End of (?:the |this )?Project Gutenberg(?:['\N{RIGHT SINGLE QUOTATION MARK}]s)?[ \t,]"
    r"|Ende? (?:dieses|dieser|des) Projekt Gutenberg"
    r"|\**This file should be named \S+\.(?:txt|zip)"
    r").*",
    re.MULTILINE | re.IGNORECASE,
)
_HEADER, _FOOTER = "licence header", "licence footer"


def gutenberg_licence(text: str) -> Cleaned:
    """The lines before, after and between books are dropped, the marks themselves included."""
    starts = [match.span() for match in _START.finditer(text)]
    ends = [match.start() for match in _END.finditer(text)]
    if starts and ends:
        # In the oldest files the name of the file stands in the header, before the small print.
        ends = [end for end in ends if end > starts[0][0]]
    if not starts and not ends:
        return Cleaned(text)
    bodies = _bodies(starts or [(0, 0)], ends, len(text))
    return _without_rest(text, bodies)


def _bodies(starts: list[tuple[int, int]], ends: list[int], size: int) -> list[tuple[int, int]]:
    """Where books lie: each from a mark of the beginning to the next mark of either kind."""
    bodies = []
    for index, (_, begin) in enumerate(starts):
        following = starts[index + 1][0] if index + 1 < len(starts) else size
        end = next((end for end in ends if end >= begin), size)
        bodies.append((begin, min(end, following)))
    return bodies


def _without_rest(text: str, bodies: list[tuple[int, int]]) -> Cleaned:
    """Keep the bodies, by whole lines; what lies before the last of them is header."""
    kept: list[str] = []
    losses: list[Loss] = []
    at = 0
    for after_mark, end in bodies:
        # A mark's own line end goes with it.
        begin = after_mark + (text.startswith("\n", after_mark) and after_mark > 0)
        losses.append(_loss(_HEADER, text, at, begin))
        kept.append(text[begin:end])
        at = max(begin, end)
    losses.append(_loss(_FOOTER, text, at, len(text)))
    return Cleaned("".join(kept), tuple(loss for loss in losses if loss.count))


def _loss(reason: str, text: str, start: int, end: int) -> Loss:
    gone = text[start:end]
    lines = gone.count("\n") + (bool(gone) and not gone.endswith("\n"))
    first = next((line.strip() for line in gone.split("\n") if line.strip()), "")
    return Loss(reason, "lines", lines, (first[:80],) if lines else ())
