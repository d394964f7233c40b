"""`textmill verify`: are the files on disk still those that the numbers were made from?

Every byte is hashed anew; DVC's remembered hashes are not believed. The links are looked at from
the source on, so the first broken one is the cause and not a consequence: the pin in params.yaml,
the raw files against `source.json`, then every output against dvc.lock, and whether what a stage
read is what the stage before it wrote; then what these stages wrote besides (metrics, histories),
the reports, and whether the leaderboard's numbers are those of the scores.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.base.files import read_record, sha256_of
from textmill.lineage.chain import Link, chain, check_model, model_names, source
from textmill.lineage.hashes import dvc_md5
from textmill.lineage.lock import LOCK, LockedStage, last_runs
from textmill.reports.records import from_json
from textmill.repository import layout
from textmill.repository.stages import lookup, read_yaml
from textmill.text import local, raw

FILES = layout.RAW / "files"
SOURCE = layout.RAW / "source.json"
COMPARE = "dvc repro compare"
PUBLISH = "publish"
"""Its output is not in the cache: a clone has none until the stage runs, so it may be missing."""
REPORTING = ("describe", "compare", PUBLISH)
NUMBERS = ("bits_per_byte", "bits_per_character", "perplexity", "word_perplexity", "unknown_rate")
RESTORE = "rm -r {0}; dvc checkout {0}   (not in the cache: dvc repro)"
FETCH = "dvc checkout {0}   (not in the cache: dvc pull {0}, or: dvc repro)"
RESTORE_RAW = RESTORE.format(layout.RAW)


@dataclass(frozen=True, slots=True)
class Broken:
    """A link that does not hold."""

    link: str
    expected: str
    found: str
    next_step: str


Check = Callable[[], Broken | None]


def verify(name: str | None = None, root: Path = Path()) -> tuple[int, Broken | None]:
    """How many links were looked at, and the first that is broken.

    name: a model; None for every declared one. Raises UserError where a model has not been made,
    or nothing of what dvc.lock records is here.
    """
    names = model_names(root) if name is None else (name,)
    locked = last_runs(root)
    links = _links(names, locked, root)
    if links and not any((root / link.path).exists() for link in links):
        raise UserError(
            f"nothing was built here yet: of {len(links):,} outputs in {LOCK} none is here",
            next_step="make run   (or, from DVC's remote: dvc pull)",
        )
    beside = _beside(links, locked, root, whole=name is None)
    looked_at = 0
    for check in itertools.chain(_checks(links, root), _reports(names, beside, root)):
        looked_at += 1
        if broken := check():
            return looked_at, broken
    return looked_at, None


def in_words(broken: Broken) -> str:
    """What was expected, what was found, and what to type."""
    return (
        f"broken link: {broken.link}\n  expected {broken.expected}\n  found    {broken.found}\n"
        f"  -> {broken.next_step}"
    )


def _links(names: Iterable[str], locked: Mapping[str, LockedStage], root: Path) -> list[Link]:
    """Every link behind the models' scores, sources first, each once."""
    outs = {path for stage in locked.values() for path in stage.outs}
    found: dict[str, Link] = {}
    for name in names:
        check_model(name, root)
        path = str(layout.scores(name))
        if path not in outs:
            raise UserError(
                f"{name} has not been scored yet", where=str(LOCK), next_step="dvc repro"
            )
        for link in reversed(chain(path, locked)):
            found.setdefault(link.path, link)
    return list(found.values())


def _beside(
    links: list[Link], locked: Mapping[str, LockedStage], root: Path, *, whole: bool
) -> list[Link]:
    """What else the links' stages wrote. whole: also the reports; nobody's input is among them."""
    known = {link.path for link in links}
    stages = {link.stage: locked[link.stage] for link in links}
    if whole:
        stages |= {name: locked[name] for name in REPORTING if name in locked}
    return [
        Link(file.path, file.md5, file.size, stage.name, {}, {})
        for stage in stages.values()
        for file in stage.outs.values()
        if file.path not in known and (stage.name != PUBLISH or (root / file.path).exists())
    ]


def _reports(names: Iterable[str], beside: Iterable[Link], root: Path) -> Iterator[Check]:
    for link in beside:
        yield partial(_output, link, root)
    for name in names:
        yield partial(_ranked, name, root)


def _ranked(name: str, root: Path) -> Broken | None:
    """Whether the leaderboard has the numbers of the model's scores, where it ranks the model."""
    path = root / layout.LEADERBOARD
    if not path.exists():
        return None
    try:
        summary = read_record(root / layout.summary(name), "valid", "test")
        board = from_json(path.read_text(encoding="utf-8", errors="replace"), str(path))
    except UserError as error:
        return Broken(str(layout.LEADERBOARD), "a leaderboard", error.what, COMPARE)
    entry = next((one for one in board.models if one.name == name), None)
    if entry is None:
        return None
    scored = {f"{number} of test": summary["test"].get(number) for number in NUMBERS}
    scored["bits_per_byte of valid"] = summary["valid"].get("bits_per_byte")
    ranked = {f"{number} of test": getattr(entry, number) for number in NUMBERS}
    ranked["bits_per_byte of valid"] = entry.bits_per_byte_valid
    for number, value in scored.items():
        if ranked[number] != value:
            where = f"{layout.LEADERBOARD}, {name}"
            return Broken(where, f"{number} {value}", f"{number} {ranked[number]}", COMPARE)
    return None


def _checks(links: list[Link], root: Path) -> Iterator[Check]:
    if links:
        yield partial(_record, root)
        yield partial(_pin, root)
        yield partial(_own_text, root)
        for file in source(root)["files"]:
            yield partial(_raw_file, file, root)
    written = {link.path: link.md5 for link in links}
    for link in links:
        yield partial(_output, link, root)
        for path, md5 in link.inputs.items():
            yield partial(_read, link, path, md5, written[path])


def _record(root: Path) -> Broken | None:
    """Whether `source.json` can be read at all."""
    try:
        source(root)
    except UserError as error:
        return Broken(str(SOURCE), "a record of the raw files", error.what, RESTORE_RAW)
    return None


def _output(link: Link, root: Path) -> Broken | None:
    try:
        found = dvc_md5(Path(link.path), root)
    except UserError:
        fetch = FETCH.format(link.path)
        return Broken(link.path, f"md5 {link.md5}", "nothing there", fetch)
    if found == link.md5:
        return None
    restore = "dvc repro publish" if link.stage == PUBLISH else RESTORE.format(link.path)
    return Broken(link.path, f"md5 {link.md5}", f"md5 {found}", restore)


def _read(link: Link, path: str, read: str, written: str) -> Broken | None:
    """Whether the stage read what is written there now."""
    if written == read:
        return None
    where = f"{link.path}, made by {link.stage} from {path}"
    return Broken(where, f"{path} with md5 {written}", f"md5 {read}", "dvc repro")


def _raw_file(file: Mapping[str, Any], root: Path) -> Broken | None:
    path = FILES / file["name"]
    if not (root / path).is_file():
        return Broken(str(path), f"sha256 {file['sha256']}", "nothing there", RESTORE_RAW)
    found = sha256_of(root / path)
    if found == file["sha256"]:
        return None
    return Broken(str(path), f"sha256 {file['sha256']}", f"sha256 {found}", RESTORE_RAW)


def _pin(root: Path) -> Broken | None:
    """Whether `source.json` tells of what params.yaml pins."""
    params = read_yaml(root / layout.PARAMS)
    recorded = source(root)
    if recorded["corpus"] != params["corpus"]:
        return _not_pinned(f"corpus {params['corpus']}", f"corpus {recorded['corpus']}")
    entry = lookup(params, f"corpora.{params['corpus']}")
    for wanted, found in _pinned(entry, recorded, root):
        if wanted != found:
            return _not_pinned(wanted, found)
    return None


def _own_text(root: Path) -> Broken | None:
    """Whether a text of one's own is still what was pinned, where it lies on this machine."""
    params = read_yaml(root / layout.PARAMS)
    entry = lookup(params, f"corpora.{params['corpus']}")
    if not entry.get("path"):
        return None
    try:
        _, found = local.digest(str(root / entry["path"]), entry.get("documents", "file"))
    except UserError:  # elsewhere: what was read of it is in data/raw, and pinned as well
        return None
    if found == entry["digest"]:
        return None
    where = f"{entry['path']}, against its pin in {layout.PARAMS}"
    again = f"{local.pin_command(entry['path'])}, then: dvc repro"
    return Broken(where, f"digest {entry['digest']}", f"digest {found}", again)


def _pinned(
    entry: Mapping[str, Any], recorded: Mapping[str, Any], root: Path
) -> Iterator[tuple[str, str]]:
    """What is pinned beside what `source.json` and the raw files say."""
    files = {file["name"]: file["sha256"] for file in recorded["files"]}
    if entry.get("path"):
        lines = "".join(f"{name}\0{sha256}\n" for name, sha256 in sorted(files.items()))
        found = hashlib.sha256(lines.encode()).hexdigest()
        yield f"digest {entry.get('digest')}", f"digest {found}"
    if entry.get("sha256"):
        said = (recorded.get("download") or {}).get("sha256")
        yield f"sha256 {entry['sha256']}", f"sha256 {said}"
    if entry.get("sha1") and raw.is_download(recorded):
        (name,) = files
        yield f"sha1 {entry['sha1']}", f"sha1 {_sha1(root / FILES / name)}"
    for member, sha256 in (entry.get("members") or {}).items():
        ours = next((name for name in files if member.endswith(f"/{name}") or member == name), "")
        yield f"{member} sha256 {sha256}", f"{member} sha256 {files.get(ours)}"


def _not_pinned(expected: str, found: str) -> Broken:
    where = f"{layout.RAW}/source.json, against the pin in {layout.PARAMS}"
    return Broken(where, expected, found, "dvc repro download")


def _sha1(path: Path) -> str:
    if not path.is_file():
        return "of nothing: the file is not there"
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.sha1(usedforsecurity=False)).hexdigest()
