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
from textmill.text.local import pin_text

LOCAL = "local"


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
    """Make a text of one's own the corpus: write its path and digest; returns what was written."""
    if not text.strip():
        raise UserError("the path is empty", next_step="textmill pin PATH")
    lookup(read_yaml(root / layout.PARAMS), f"corpora.{LOCAL}")
    pinned = pin_text(text, relative_to=root)
    values = {f"corpora.{LOCAL}.{name}": value for name, value in pinned.items()}
    _edit(root / layout.PARAMS, {"corpus": LOCAL, **values})
    return pinned


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
