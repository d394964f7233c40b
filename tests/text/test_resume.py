"""Downloads that broke off: gone on with, or begun anew, and right in the end."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.text.ranges import RangeFile
from textmill.base.errors import UserError
from textmill.text.catalogue import Corpus
from textmill.text.fetch import fetch
from textmill.text.mirrors import Patience
from textmill.text.partial import Partial

TEXT = bytes(range(256)) * 100
ONCE = Patience(seconds=5, pauses=())
MakeCorpus = Callable[..., Corpus]


def break_off(corpus: Corpus, downloads: Path, name: str = "tale") -> str:
    with pytest.raises(UserError) as caught:
        fetch(name, corpus, downloads, ONCE)
    return str(caught.value)


def bodies(downloads: Path) -> list[bytes]:
    return [path.read_bytes() for path in (downloads / ".partial").glob("*/*/body")]


def test_the_next_run_asks_for_the_rest_and_leaves_nothing_behind(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    file = RangeFile(TEXT, breaks=[5000, 700])
    corpus = corpus_of(TEXT, web.script("/t", file))
    message = break_off(corpus, tmp_path)
    broke = "/t: the connection broke off after 5,000 of 25,600 bytes; what came is kept, and dvc"
    assert broke in message
    assert bodies(tmp_path) == [TEXT[:5000]]
    assert "after 5,700 of 25,600 bytes" in break_off(corpus, tmp_path)
    assert bodies(tmp_path) == [TEXT[:5700]]
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
    assert file.asked == [(None, None), ("bytes=5000-", '"one"'), ("bytes=5700-", '"one"')]
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_a_further_try_of_one_run_asks_for_the_rest(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    file = RangeFile(TEXT, breaks=[5000])
    corpus = corpus_of(TEXT, web.script("/t", file))
    patience = Patience(seconds=5, pauses=(0.0,))
    assert fetch("tale", corpus, tmp_path, patience).read_bytes() == TEXT
    assert file.asked == [(None, None), ("bytes=5000-", '"one"')]


@pytest.mark.parametrize("brought", [1 << 20, 5000])
def test_a_try_that_brought_much_is_none_of_the_failed_ones(
    brought: int, web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    text = TEXT * 200
    file = RangeFile(text, breaks=[brought] * 4)
    corpus = corpus_of(text, web.script("/t", file))
    patience = Patience(seconds=5, pauses=(0.0,))
    if brought == 1 << 20:
        assert fetch("tale", corpus, tmp_path, patience).read_bytes() == text
    else:
        with pytest.raises(UserError, match=r"after 10,000 of 5,120,000 bytes \(2 tries\)"):
            fetch("tale", corpus, tmp_path, patience)
    assert len(file.asked) == (5 if brought == 1 << 20 else 2)


@pytest.mark.parametrize(
    ("change", "requests"),
    [
        ({"data": TEXT[::-1], "marks": {"ETag": '"two"'}}, 1),
        ({"knows_ranges": False}, 1),
        ({"data": TEXT[::-1], "marks": {"ETag": '"two"'}, "checks_mark": False}, 2),
        ({"data": TEXT + b"more", "checks_mark": False}, 2),
        ({"data": TEXT[:4000], "checks_mark": False}, 2),
        ({"shift": 7}, 2),
        ({"data": TEXT[::-1]}, 2),
    ],
    ids=["changed", "no ranges", "If-Range ignored", "longer", "416", "other part", "same mark"],
)
def test_what_is_not_the_rest_of_the_same_file_makes_it_begin_anew(
    change: dict[str, Any], requests: int, web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    """The pin is of the file as it is now; what came before is of another one."""
    file = RangeFile(TEXT, breaks=[5000])
    source = web.script("/t", file)
    corpus = corpus_of(change.get("data", TEXT), source)
    break_off(corpus, tmp_path)
    for name, value in change.items():
        setattr(file, name, value)
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == file.data
    assert file.asked[1:] == [("bytes=5000-", '"one"'), (None, None)][:requests]
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    breaks=st.lists(st.integers(0, 3000), max_size=6),
    changes=st.lists(st.booleans(), min_size=7, max_size=7),
    knows_ranges=st.booleans(),
    checks_mark=st.booleans(),
    shift=st.sampled_from([0, 0, 0, 1]),
)
def test_wherever_it_breaks_and_whatever_the_server_does_the_pinned_bytes_come_in_the_end(
    breaks: list[int], changes: list[bool], knows_ranges: bool, checks_mark: bool, shift: int,
    web: Any, corpus_of: MakeCorpus, tmp_path: Path,
) -> None:  # fmt: skip
    text = TEXT[:3000]
    file = RangeFile(
        text, breaks=breaks, knows_ranges=knows_ranges, checks_mark=checks_mark, shift=shift
    )
    corpus = corpus_of(text, web.script("/t", file))
    for changed in changes:
        file.data, file.marks = (
            (text[::-1], {"ETag": '"two"'}) if changed else (text, {"ETag": '"one"'})
        )
        with suppress(UserError):
            assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == text
    file.breaks = ()
    file.data, file.marks = text, {"ETag": '"one"'}
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == text
    (tmp_path / "text.txt").unlink()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("marks", "sent"),
    [
        ({"ETag": 'W/"one"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"},
         "Wed, 21 Oct 2015 07:28:00 GMT"),
        ({"ETag": '"one"', "Last-Modified": "Wed, 21 Oct 2015 07:28:00 GMT"}, '"one"'),
        ({"ETag": 'W/"one"'}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_only_a_strong_mark_is_gone_on_with(
    marks: dict[str, str], sent: str | None, web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    file = RangeFile(TEXT, marks, breaks=[5000])
    corpus = corpus_of(TEXT, web.script("/t", file))
    message = break_off(corpus, tmp_path)
    assert ("what came is kept" in message) == (sent is not None)
    assert (tmp_path / ".partial").exists() == (sent is not None)
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
    assert file.asked[1] == ("bytes=5000-" if sent else None, sent)


def test_corpora_pins_and_mirrors_do_not_mix(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    one, two = RangeFile(TEXT, breaks=[5000]), RangeFile(TEXT, breaks=[600, 0])
    sources = [web.script("/1", one), web.script("/2", two)]
    break_off(corpus_of(TEXT, *sources), tmp_path)
    assert sorted(bodies(tmp_path)) == sorted([TEXT[:5000], TEXT[:600]])
    other = corpus_of(TEXT, *sources, filename="other.txt")
    assert fetch("other", other, tmp_path, ONCE).read_bytes() == TEXT
    again = corpus_of(b"another pin", *sources)
    break_off(again, tmp_path)
    assert [wanted for wanted, _ in one.asked] == [None] * 3
    assert sorted(bodies(tmp_path)) == sorted([TEXT[:5000], TEXT[:600]])
    assert fetch("tale", corpus_of(TEXT, *sources), tmp_path, ONCE).read_bytes() == TEXT
    assert one.asked[-1] == ("bytes=5000-", '"one"')


def test_a_body_that_was_whole_when_the_run_was_killed_is_taken_without_asking(
    web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    file = RangeFile(TEXT, breaks=[5000])
    corpus = corpus_of(TEXT, web.script("/t", file))
    break_off(corpus, tmp_path)
    (body,) = (tmp_path / ".partial").glob("*/*/body")
    body.write_bytes(TEXT)
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
    assert len(file.asked) == 1


@pytest.mark.parametrize("damage", ["about", "body", "mark"])
def test_a_damaged_partial_file_is_begun_anew(
    damage: str, web: Any, corpus_of: MakeCorpus, tmp_path: Path
) -> None:
    corpus = corpus_of(TEXT, web.script("/t", RangeFile(TEXT, breaks=[5000])))
    break_off(corpus, tmp_path)
    (body,) = (tmp_path / ".partial").glob("*/*/body")
    if damage == "about":
        (body.parent / "from.json").write_bytes(b'{"mark"')
        assert Partial(body.parent).stand() is None
    if damage == "mark":
        (body.parent / "from.json").write_bytes(b"[]")
    if damage == "body":
        body.write_bytes(bytes(5000))
    assert fetch("tale", corpus, tmp_path, ONCE).read_bytes() == TEXT
