"""Edit params.yaml as a person would: the named values change, every comment and line stays."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from textmill.base.errors import UserError, nearest
from textmill.base.files import write_atomically
from textmill.repository import layout
from textmill.repository.stages import lookup, read_yaml
from textmill.text import kinds, local
from textmill.text.documents import DocumentKind
from textmill.text.readable import check_text

LOCAL = "local"
DEFAULT_TITLE = "a text of one's own"
"""The title in the template; `pin` puts the text's name in its place."""

OWN_FOLDERS = ("data", "models", "scores", ".git", ".dvc", ".textmill", ".venv")
"""What git, DVC and the stages keep in the repository, and may delete before a stage reads it."""


def choose_corpus(name: str, root: Path = Path()) -> None:
    """Make `name` the corpus; UserError with the nearest entry of the catalogue."""
    known = lookup(read_yaml(root / layout.PARAMS), "corpora")
    if name not in known:
        raise UserError(
            f'there is no corpus "{name}"{nearest(name, known)}',
            where=str(layout.PARAMS),
            next_step=f"known: {', '.join(known)}",
        )
    _edit(root / layout.PARAMS, {"corpus": name})


def pin(text: str, root: Path = Path()) -> Mapping[str, Any]:
    """Make a text of one's own the corpus; returns what was written: path, digest, title, …

    The title stays as it is where the user has given one. Raises UserError where there is no text,
    or a file is none.
    """
    if not text.strip():
        raise UserError("the path is empty", next_step="textmill pin PATH")
    entry = lookup(read_yaml(root / layout.PARAMS), f"corpora.{LOCAL}")
    _check_place(text, root.resolve(), entry.get("documents", "file"))
    kind = entry.get("documents", "file")
    pinned: dict[str, Any] = local.pin_text(text, relative_to=root, kind=kind)
    _check_text(text, entry)
    if entry.get("title") in [DEFAULT_TITLE, *_titles_of_pin(entry.get("path"), root)]:
        pinned["title"] = local.title_of(text)
    values = {f"corpora.{LOCAL}.{name}": value for name, value in pinned.items()}
    _edit(root / layout.PARAMS, {"corpus": LOCAL, **values})
    return pinned


def taken_and_left_out(text: str, root: Path = Path()) -> str:
    """Of a folder: `3 .jsonl taken, 2 .md left out`; empty where nothing was left out."""
    entry = lookup(read_yaml(root / layout.PARAMS), f"corpora.{LOCAL}")
    kind = entry.get("documents", "file")
    if not (others := local.left_out(text, kind)):
        return ""
    taken = kinds.tally(file.name for file in local.find(text, kind))
    return f"{taken} taken, {kinds.tally(others)} left out"


def _titles_of_pin(path: str | None, root: Path) -> list[str]:
    """What `pin` may have called the text pinned before; whether it was a folder can be lost."""
    if not path:
        return []
    title = local.title_of(str(root / path)).removesuffix("/")
    return [title, f"{title}/"]


def _check_place(text: str, root: Path, kind: DocumentKind) -> None:
    """Refuse the repository, a folder around it, and what lies in its own folders."""
    path = local.expanded(text)
    if path.is_dir() and root.is_relative_to(path.resolve()):
        holds = "is" if root == path.resolve() else "holds"
        raise UserError(
            f"the folder {text} {holds} this repository, with {layout.RAW} and all that DVC keeps",
            next_step="name the folder of the text alone, for example: textmill pin essays/",
        )
    for file in local.find(text, kind):
        for own in OWN_FOLDERS:
            if file.path.resolve().is_relative_to(root / own):
                raise UserError(
                    f"{file.path} lies in {own}/, which belongs to the pipeline",
                    next_step="name what lies outside it, or copy the text elsewhere",
                )


def _check_text(text: str, entry: Mapping[str, Any]) -> None:
    """Refuse files that are no text; packed rows and Parquet are read when they are unpacked.

    Rows that are to be read as plain text are refused too: their keys would be learnt as words.
    """
    kind = entry.get("documents", "file")
    for file in local.find(text, kind):
        if kind != "row" and kinds.is_wanted(file.name, "row"):
            raise UserError(
                f"{file.name} holds rows, and `documents: {kind}` reads it as plain text",
                where=f"{layout.PARAMS}: corpora.{LOCAL}",
                next_step="write `documents: row` and `text_column: NAME` there and pin again; "
                "or give a text that is none of rows another ending",
            )
        if kind != "row" or kinds.is_plain_text(file.name):
            check_text(
                file,
                entry.get("encoding", "utf-8"),
                entry.get("decoding_errors", "strict"),
                f"corpora.{LOCAL}",
            )


def _edit(path: Path, values: Mapping[str, Any]) -> None:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1 << 16
    yaml.indent(mapping=2, sequence=4, offset=2)
    content = yaml.load(path.read_text(encoding="utf-8"))
    for dotted, value in values.items():
        *parents, last = dotted.split(".")
        target = content
        for part in parents:
            target = target[part]
        target[last] = value
    buffer = io.StringIO()
    yaml.dump(content, buffer)
    write_atomically(path, buffer.getvalue())
