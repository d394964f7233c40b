"""`textmill verify`: are the files on disk still those that the numbers were made from?

Every byte is hashed anew; DVC's remembered hashes are not believed. The links are looked at from
the source on, so the first broken one is the cause and not a consequence: the pin in params.yaml,
the raw files against `source.json`, then every output against dvc.lock, and whether what a stage
read is what the stage before it wrote; then what these stages wrote besides (metrics, histories),
the reports, and whether the leaderboard's numbers are those of the scores.

What a pipeline that was stopped half-way has not made yet is no damage: it is named as such, and
only where nothing that is there is broken.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from textmill.base.errors import UserError
from textmill.base.files import read_record
from textmill.lineage import pins
from textmill.lineage.broken import RESTORE, Broken, Check
from textmill.lineage.chain import Link, chain, check_model, model_names
from textmill.lineage.hashes import dvc_md5
from textmill.lineage.lock import LOCK, LockedStage, last_runs, stale
from textmill.reports.records import from_json
from textmill.repository import layout
from textmill.repository.stages import read_stages

COMPARE = "dvc repro compare"
DOWNLOAD, PUBLISH = "download", "publish"
"""The output of publish is not in the cache: a clone has none, so it may be missing."""
REPORTING = ("describe", "compare", PUBLISH)
NUMBERS = ("bits_per_byte", "bits_per_character", "perplexity", "word_perplexity", "unknown_rate")
FETCH = "dvc checkout {0}   (not in the cache: dvc pull {0}, or: dvc repro)"
BUILD = "dvc repro   (where DVC's remote has it: dvc pull)"


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
    to_run = set(stale(list(read_stages(root)), locked, root))
    looked_at, unbuilt = 0, list[Broken]()
    for check in itertools.chain(_sources(links, to_run, root), _checks(links, to_run, root)):
        looked_at += 1
        if (broken := check()) and not broken.unbuilt:
            return looked_at, broken
        unbuilt += [broken] if broken else []
    if unbuilt:
        return looked_at, _first(unbuilt)
    for check in _reports(names, beside, root):
        looked_at += 1
        if broken := check():
            return looked_at, broken
    return looked_at, None


def in_words(broken: Broken) -> str:
    """What was expected, what was found, and what to type."""
    kind = "not built yet" if broken.unbuilt else "broken link"
    return (
        f"{kind}: {broken.link}\n  expected {broken.expected}\n  found    {broken.found}\n"
        f"  -> {broken.next_step}"
    )


def _first(unbuilt: list[Broken]) -> Broken:
    """The first of what is not built yet, and how many more there are."""
    first, others = unbuilt[0], len({one.link for one in unbuilt}) - 1
    return replace(first, found=f"{first.found} ({others:,} more)") if others else first


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


def _sources(links: list[Link], to_run: set[str], root: Path) -> Iterator[Check]:
    """Nothing where there is no model, or the raw text has still to come: its output is missing."""
    if links and (DOWNLOAD not in to_run or (root / layout.RAW).exists()):
        yield from pins.checks(root)


def _checks(links: list[Link], to_run: set[str], root: Path) -> Iterator[Check]:
    waiting = _waiting(links, to_run, root)
    written = {link.path: link.md5 for link in links}
    for link in links:
        yield partial(_output, link, root, unbuilt=link.path in waiting)
        for path, md5 in link.inputs.items():
            yield partial(_read, link, path, md5, written[path])


def _waiting(links: list[Link], to_run: set[str], root: Path) -> set[str]:
    """Outputs that are missing because their stage has still to run.

    Its last run was of other inputs; or whatever was made of the output is missing as well, where
    one that somebody removed leaves them behind.
    """
    missing = {link.path for link in links if not (root / link.path).exists()}
    used = {path for link in links if link.path not in missing for path in link.inputs}
    return {
        link.path
        for link in links
        if link.path in missing and (link.stage in to_run or link.path not in used)
    }


def _output(link: Link, root: Path, *, unbuilt: bool = False) -> Broken | None:
    try:
        found = dvc_md5(Path(link.path), root)
    except UserError:
        fetch = BUILD if unbuilt else FETCH.format(link.path)
        return Broken(link.path, f"md5 {link.md5}", "nothing there", fetch, unbuilt)
    if found == link.md5:
        return None
    restore = "dvc repro publish" if link.stage == PUBLISH else RESTORE.format(link.path)
    return Broken(link.path, f"md5 {link.md5}", f"md5 {found}", restore)


def _read(link: Link, path: str, read: str, written: str) -> Broken | None:
    """Whether the stage read what is written there now."""
    if written == read:
        return None
    where = f"{link.path}, made by {link.stage} from {path}"
    expected = f"{path} with md5 {written}"
    return Broken(where, expected, f"md5 {read}", "dvc repro", unbuilt=True)
