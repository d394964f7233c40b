"""Names in params.yaml: safe as file and stage names, and every reference names something.

Names become folders, stage names, words of a command and parts of dotted paths in params.yaml, so
they are letters, digits, `_` and `-`. DVC does not notice a reference to an entry that was renamed
or removed while its old files are still there; so every step checks the whole file first.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError, nearest, shown
from textmill.repository import layout
from textmill.repository.stages import read_yaml

MODELS = ("ngrams", "networks", "adapted", "mixtures")
"""The groups of params.yaml whose entries are models, in the order in which they are made."""
GROUPS = ("corpora", "tokenizers", *MODELS)
SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def check_names(root: Path = Path()) -> None:
    """UserError naming the first entry with an unsafe name or a reference to no entry."""
    params = read_yaml(root / layout.PARAMS)
    for group in GROUPS:
        for name in _entries(params, group):
            if isinstance(name, int | float):
                raise UserError(
                    f"{name!r} is a number, and a name is text",
                    where=f"{layout.PARAMS}: {group}",
                    next_step=f'write it in quotes: "{name}"',
                )
            if not isinstance(name, str) or not SAFE.fullmatch(name):
                raise UserError(
                    f"{name!r} is no name: use letters, digits, _ and -, a letter or digit first",
                    where=f"{layout.PARAMS}: {group}",
                    next_step="rename it",
                )
    corpora = _entries(params, "corpora")
    chosen = params.get("corpus")
    if corpora and not (isinstance(chosen, str) and chosen in corpora):
        name = str(chosen)
        raise UserError(
            "corpus is empty"
            if chosen is None
            else f'there is no corpus "{name}"{nearest(name, corpora)}',
            where=str(layout.PARAMS),
            next_step=f"known: {', '.join(corpora)}",
        )
    networks = [*_entries(params, "networks")]
    models = [*_entries(params, "ngrams"), *networks, *_entries(params, "adapted")]
    for group in ("ngrams", "networks", "adapted"):
        _check_references(params, group, ("tokenizer",), [*_entries(params, "tokenizers")])
    _check_references(params, "adapted", ("model",), networks)
    _check_references(params, "mixtures", ("first", "second"), models)


def _entries(params: Mapping[str, Any], group: str) -> Mapping[str, Any]:
    entries = params.get(group) or {}
    if not isinstance(entries, Mapping):
        raise UserError(
            f"it must map names to entries, not be {shown(entries)}",
            where=f"{layout.PARAMS}: {group}",
            next_step=f"for none of them write: {group}: {{}}",
        )
    return entries


def _check_references(
    params: Mapping[str, Any], group: str, keys: tuple[str, ...], known: list[str]
) -> None:
    for name, entry in _entries(params, group).items():
        for key in keys:
            if isinstance(entry, Mapping) and key in entry and entry[key] not in known:
                hint = "" if entry[key] is None else nearest(str(entry[key]), known)
                raise UserError(
                    f"{key} is {shown(entry[key])}, which names no entry{hint}",
                    where=f"{layout.PARAMS}: {group}.{name}",
                    next_step=f"known: {', '.join(known) or 'none'}",
                )
