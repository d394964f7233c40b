"""`textmill trace`: where a model came from, from its files to the address of the raw text."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from textmill.base.files import read_record
from textmill.lineage.chain import Link, chain, known_facts, model_chain, source
from textmill.lineage.lock import last_runs
from textmill.reports import wording
from textmill.repository import layout
from textmill.text.profiles import taken

NOT_RECORDED = "not recorded on this machine for today's inputs"
FILES_SHOWN = 3
UNITS = ("bytes", "kB", "MB", "GB", "TB")


def trace(name: str, root: Path = Path()) -> dict[str, Any]:
    """The chain of a model as plain values. Raises UserError."""
    links = [_as_dict(link, root) for link in model_chain(name, root)]
    scores = _scores(name, root)
    return {"model": name, "scores": scores, "links": links, "source": _source(source(root))}


def render(traced: Mapping[str, Any]) -> str:
    """The chain as text, a paragraph a link, the model first; nothing is said twice."""
    lines = itertools.chain.from_iterable(map(_link_lines, traced["links"]))
    return "\n".join(
        dict.fromkeys([*_score_lines(traced), *lines, *_source_lines(traced["source"])])
    )


def _scores(name: str, root: Path) -> dict[str, Any] | None:
    """The link of a model's scores, and its bits per byte; None where it was not scored."""
    path, locked = layout.scores(name), last_runs(root)
    if not any(str(path) in stage.outs for stage in locked.values()):
        return None
    found = _as_dict(chain(str(path), locked)[0], root)
    if not (root / layout.summary(name)).exists():
        return found
    summary = read_record(root / layout.summary(name), "test", "why_not")
    return found | {
        "bits_per_byte": summary["test"]["bits_per_byte"],
        "why_not": summary["why_not"],
    }


def _score_lines(traced: Mapping[str, Any]) -> Iterator[str]:
    """The number of the leaderboard, where there is one, and what it stands in."""
    scores = traced["scores"]
    if scores is None:
        return
    if scores.get("bits_per_byte") is not None:
        yield f"{traced['model']}: {wording.bits(scores['bits_per_byte'])} bits per byte on test"
    if scores["path"] != traced["links"][0]["path"]:  # else the model is its scores
        yield from itertools.islice(_link_lines(scores), 2)


def _as_dict(link: Link, root: Path) -> dict[str, Any]:
    known = known_facts(link, root)
    return {
        "path": link.path,
        "md5": link.md5,
        "bytes": link.size,
        "stage": link.stage,
        "params": _params(link.params),
        "made_of": dict(link.inputs),
        "commit": known.get("commit"),
        "dirty": known.get("dirty"),
        "versions": known.get("versions"),
        "seconds": known.get("seconds"),
    }


def _params(declared: Mapping[str, Any]) -> dict[str, Any]:
    """What the stage took of its parameters: of the profiles, those of its corpus alone."""
    entry = declared.get(f"corpora.{declared.get('corpus')}")
    if "profiles" not in declared or not isinstance(entry, Mapping):
        return dict(declared)
    profiles = taken(entry["cleaning"], declared["profiles"])
    others = {name: value for name, value in declared.items() if name != "profiles"}
    return others | ({"profiles": profiles} if profiles else {})


def _source(found: Mapping[str, Any]) -> dict[str, Any]:
    download = found.get("download")
    asked = found["asked"]
    return {
        "corpus": found["corpus"],
        "title": found.get("title"),
        "licence": found["licence"],
        "urls": list(asked.get("sources", ())) or [asked.get("path", "")],
        "files": ([download] if download else []) + list(found["files"]),
    }


def _link_lines(link: Mapping[str, Any]) -> Iterator[str]:
    yield f"{link['path']}  {_size(link['bytes'])}  md5 {link['md5']}"
    yield f"    stage {link['stage']}"
    for name, value in link["params"].items():
        yield f"    {name}: {_short(value)}"
    yield f"    commit: {_commit(link)}"
    versions = link["versions"] or {}
    shown = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield f"    libraries: {shown or NOT_RECORDED}"


def _commit(link: Mapping[str, Any]) -> str:
    if not link["commit"]:
        return NOT_RECORDED
    return link["commit"] + (" with uncommitted changes" if link["dirty"] else "")


def _source_lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"{found['corpus']}: {found['title']}"
    for url in found["urls"]:
        yield f"    from {url}"
    for file in found["files"][:FILES_SHOWN]:
        yield f"    {file['name']}  sha256 {file.get('sha256') or 'not pinned: its members are'}"
        if packed := file.get("packed"):
            yield f"        out of {packed['name']}  sha256 {packed['sha256']}"
    hidden = len(found["files"]) - FILES_SHOWN
    if hidden > 0:
        yield f"    and {hidden:,} more (--json shows all)"
    yield f"    licence: {found['licence']}"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_short(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(map(_short, value)) + "]"
    return str(value)


def _size(count: float) -> str:
    for unit in UNITS:
        if count < 1000 or unit == UNITS[-1]:
            return f"{count:,.3g} {unit}"
        count /= 1000
    raise AssertionError("the last unit returns")
