"""`textmill trace`: where a model came from, from its files to the address of the raw text."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from textmill.lineage.chain import Link, known_facts, model_chain, source
from textmill.text.profiles import taken

NOT_RECORDED = "not recorded on this machine"
FILES_SHOWN = 3
UNITS = ("bytes", "kB", "MB", "GB", "TB")


def trace(name: str, root: Path = Path()) -> dict[str, Any]:
    """The chain of a model as plain values. Raises UserError."""
    links = [_as_dict(link, root) for link in model_chain(name, root)]
    return {"model": name, "links": links, "source": _source(source(root))}


def render(traced: Mapping[str, Any]) -> str:
    """The chain as text, a paragraph a link, the model first; nothing is said twice."""
    lines = itertools.chain.from_iterable(map(_link_lines, traced["links"]))
    return "\n".join(dict.fromkeys([*lines, *_source_lines(traced["source"])]))


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
