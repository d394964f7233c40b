"""`textmill verify`: are the files on disk still those that the numbers were made from?

Every byte is hashed anew; DVC's remembered hashes are not believed. The links are looked at from
the source on, so the first broken one is the cause and not a consequence: the pin in params.yaml,
the raw files against `source.json`, then every output against dvc.lock, and whether what a stage
read is what the stage before it wrote; then what these stages wrote besides (metrics, histories),
the reports, and whether the leaderboard's numbers are those of the scores.

Without a model's name every declared stage is looked at, also tokenizers that no model uses. What
a pipeline that was stopped half-way has not made yet is no damage: it is listed as not made. Asked
about a model that needs it, the answer is no, but only where nothing that is there is broken.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

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
HANDED_ON = ("data/", "models/", "scores/")
"""Where outputs lie that other stages read; what else a stage writes is for people."""
PUBLISH = "publish"
"""The output of publish is not in the cache: a clone has none, so it may be missing."""
REPORTING = ("describe", "compare", PUBLISH)
NUMBERS = ("bits_per_byte", "bits_per_character", "perplexity", "word_perplexity", "unknown_rate")
FETCH = "dvc checkout {0}   (not in the cache: dvc pull {0}, or: dvc repro)"
BUILD = "dvc repro   (where DVC's remote has it: dvc pull)"


class Verdict(NamedTuple):
    """links: how many were looked at. broken: the first that does not hold.

    not_made: outputs whose stage has still to run, of which nothing is there. They are no damage;
    asked about a model that needs one, the verdict is a broken link.
    """

    links: int
    broken: Broken | None
    not_made: tuple[str, ...] = ()


def verify(name: str | None = None, root: Path = Path()) -> Verdict:
    """Hash anew what is there, sources first, up to the first link that is broken.

    name: a model and what stands behind it; None for every output of every declared stage, whether
    a model needs it or not. Raises UserError where the model has not been made, or nothing is here.
    """
    locked = last_runs(root)
    links = _links([_scores(name, locked, root)] if name else _handed_on(locked, root), locked)
    _check_any(links, root)
    waiting = _waiting(links, set(stale(list(read_stages(root)), locked, root)), root)
    not_made: tuple[str, ...] = ()
    if name is None:
        not_made = _not_made(waiting, locked, root)
        links = [link for link in links if link.path not in waiting]
    looked_at, unbuilt = 0, list[Broken]()
    for check in itertools.chain(_sources(waiting, root), _checks(links, waiting, locked, root)):
        looked_at += 1
        if (broken := check()) and not broken.unbuilt:
            return Verdict(looked_at, broken, not_made)
        unbuilt += [broken] if broken else []
    if unbuilt:
        return Verdict(looked_at, _first(unbuilt), not_made)
    for check in _reports(links, locked, root, name):
        looked_at += 1
        if broken := check():
            return Verdict(looked_at, broken, not_made)
    return Verdict(looked_at, None, not_made)


def in_words(broken: Broken) -> str:
    """What was expected, what was found, and what to type."""
    kind = "not built yet" if broken.unbuilt else "broken link"
    return (
        f"{kind}: {broken.link}\n  expected {broken.expected}\n  found    {broken.found}\n"
        f"  -> {broken.next_step}"
    )


def list_not_made(paths: Iterable[str]) -> str:
    """What was not made yet, a line each, and what to type; empty where all was made."""
    lines = "".join(f"\n  {path}" for path in paths)
    return f"not made yet (to make them: dvc repro){lines}" if lines else ""


def _first(unbuilt: list[Broken]) -> Broken:
    """The first of what is not built yet, and how many more there are."""
    first, others = unbuilt[0], len({one.link for one in unbuilt}) - 1
    return replace(first, found=f"{first.found} ({others:,} more)") if others else first


def _links(paths: Iterable[str], locked: Mapping[str, LockedStage]) -> list[Link]:
    """Every link behind these outputs, sources first, each once."""
    found: dict[str, Link] = {}
    for path in paths:
        for link in reversed(chain(path, locked)):
            found.setdefault(link.path, link)
    return list(found.values())


def _scores(name: str, locked: Mapping[str, LockedStage], root: Path) -> str:
    """Where a model's scores lie. Raises UserError where it has none."""
    check_model(name, root)
    path = str(layout.scores(name))
    if path not in _outs(locked):
        raise UserError(f"{name} has not been scored yet", where=str(LOCK), next_step="dvc repro")
    return path


def _handed_on(locked: Mapping[str, LockedStage], root: Path) -> list[str]:
    """What stages hand on and dvc.lock knows, in the order of dvc.yaml."""
    outs = _outs(locked)
    return [path for path in _declared(root) if path in outs and path.startswith(HANDED_ON)]


def _not_made(waiting: set[str], locked: Mapping[str, LockedStage], root: Path) -> tuple[str, ...]:
    """What waits for its stage, what dvc.lock knows nothing of, and reports that are missing."""
    outs = _outs(locked)

    def is_made(path: str) -> bool:
        is_there = path.startswith(HANDED_ON) or (root / path).exists()
        return path in outs and path not in waiting and is_there

    return tuple(path for path in _declared(root) if not is_made(path))


def _declared(root: Path) -> Iterator[str]:
    """What stages hand on, and the reports that DVC keeps."""
    for stage in read_stages(root):
        is_report = stage.name in REPORTING and stage.name != PUBLISH
        yield from (out for out in stage.outs if is_report or out.startswith(HANDED_ON))


def _outs(locked: Mapping[str, LockedStage]) -> set[str]:
    return {path for stage in locked.values() for path in stage.outs}


def _check_any(links: list[Link], root: Path) -> None:
    if not any((root / link.path).exists() for link in links):
        found = f"of {len(links):,} outputs in {LOCK} none is here" if links else f"{LOCK} has none"
        raise UserError(
            f"nothing was built here yet: {found}",
            next_step="make run   (or, from DVC's remote: dvc pull)",
        )


def _reports(
    links: list[Link], locked: Mapping[str, LockedStage], root: Path, name: str | None
) -> Iterator[Check]:
    """What else the links' stages wrote; without a name also the reports that are there, and of
    every model whose scores are there whether it is ranked with their numbers.
    """
    known = {link.path for link in links}
    for stage in dict.fromkeys(link.stage for link in links):
        for link in _outputs(locked[stage]):
            if link.path not in known:
                yield partial(_output, link, root)
    for stage in [one for one in REPORTING if one in locked and name is None]:
        for link in _outputs(locked[stage]):
            if (root / link.path).exists():
                yield partial(_output, link, root)
    for model in [name] if name else model_names(root):
        if str(layout.scores(model)) in known:
            yield partial(_ranked, model, root)


def _outputs(stage: LockedStage) -> list[Link]:
    """What a stage wrote; nobody's input is among it."""
    return [Link(one.path, one.md5, one.size, stage.name, {}, {}) for one in stage.outs.values()]


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


def _sources(waiting: set[str], root: Path) -> Iterator[Check]:
    """Nothing where the raw text has still to come."""
    if str(layout.RAW) not in waiting:
        yield from pins.checks(root)


def _checks(
    links: list[Link], waiting: set[str], locked: Mapping[str, LockedStage], root: Path
) -> Iterator[Check]:
    written = {path: file.md5 for stage in locked.values() for path, file in stage.outs.items()}
    for link in links:
        is_waiting = link.path in waiting
        yield partial(_output, link, root, unbuilt=is_waiting)
        for path, md5 in {} if is_waiting else link.inputs.items():
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
