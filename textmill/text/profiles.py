"""Profiles: named lists of rules, and how a corpus's `cleaning` becomes rules that run.

`cleaning` is the name of a profile, or a list of which each item is

    plain                              a profile, whose rules are put in its place
    blank_lines                        a rule
    line_length: {max_characters: 500} a rule with parameters
    my_package.rules:drop_short        a rule of one's own, by import path, with or without them

A rule of one's own is a function of a document's text (and of its parameters, by name), or of a
line where it is marked with `for_lines`. It answers None to keep, `Drop(reason)` to drop, or the
text in its place. It is imported when the stage runs, not when params.yaml is read.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from textmill.base.errors import nearest
from textmill.text import rules
from textmill.text.duplicates import DuplicateDocuments, DuplicateLines, NearDuplicates
from textmill.text.gutenberg import gutenberg_licence
from textmill.text.language import Language
from textmill.text.limits import CharacterShare, DocumentLength, LineLength, RepeatedLines
from textmill.text.own_rules import own_rule
from textmill.text.rules import Rule, UnicodeForm

NORMAL_FORM = "normal_form"
_CANONICAL = ("line_ends", "control_characters", NORMAL_FORM, "white_space")
_PLAIN = ("line_ends", "byte_order_marks", *_CANONICAL[1:], "blank_lines")

PROFILES: dict[str, tuple[str, ...]] = {
    "plain": _PLAIN,
    "sotu": (*_PLAIN, "footnote_digits"),
    "gutenberg": ("line_ends", "gutenberg_licence", *_PLAIN[1:]),
    "d2l": ("line_ends", "english_letters"),
    # Blank lines stay, since published perplexities count their line ends, and so does U+FEFF,
    # which 36 of WikiText-2's words hold.
    "wikitext": _CANONICAL,
}

_SIMPLE: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        rules.line_ends,
        rules.byte_order_marks,
        rules.control_characters,
        rules.normal_form,
        rules.white_space,
        rules.blank_lines,
        rules.footnote_digits,
        rules.english_letters,
        gutenberg_licence,
    )
}
_WITH_PARAMETERS: dict[str, Any] = {
    "document_length": DocumentLength,
    "line_length": LineLength,
    "character_share": CharacterShare,
    "repeated_lines": RepeatedLines,
    "duplicate_lines": DuplicateLines,
    "duplicate_documents": DuplicateDocuments,
    "near_duplicates": NearDuplicates,
    "language": Language,
}
RULES = (*_SIMPLE, *_WITH_PARAMETERS)


@dataclass(frozen=True, slots=True)
class Step:
    """A rule of a cleaning by its name, with the parameters that params.yaml gives it."""

    name: str
    parameters: Mapping[str, Any]

    @property
    def label(self) -> str:
        """As the books call it: `line length (max_characters 500)`."""
        given = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        name = self.name if ":" in self.name else self.name.replace("_", " ")
        return f"{name} ({given})" if given else name

    def start(self, normal_form: str) -> Rule:
        """The rule, ready for the first document. Raises UserError for one's own that fails."""
        if ":" in self.name:
            return own_rule(self.name, self.parameters)
        if self.name == NORMAL_FORM:
            return partial(rules.normal_form, form=_form(normal_form))
        if self.name in _SIMPLE:
            return _SIMPLE[self.name]
        made = _made(self.name, self.parameters)
        return made.start() if hasattr(made, "start") else made


def steps_of(cleaning: Any, normal_form: str = "NFC") -> list[Step]:
    """The steps of a corpus's `cleaning`. Raises ValueError, beginning with the field's name."""
    if isinstance(cleaning, str):
        if cleaning not in PROFILES:
            known = ", ".join(PROFILES)
            hint = nearest(cleaning, PROFILES)
            raise ValueError(f'cleaning: no profile "{cleaning}"{hint} (there are: {known})')
        cleaning = [cleaning]
    if not isinstance(cleaning, list | tuple) or not cleaning:
        raise ValueError("cleaning: needs the name of a profile, or a list of rules")
    steps = [step for item in cleaning for step in _steps(item)]
    if normal_form not in ("NFC", "none") and NORMAL_FORM not in [step.name for step in steps]:
        raise ValueError(
            f"normal_form: no rule {NORMAL_FORM} in the cleaning would make {normal_form}"
        )
    _check_order([step.name for step in steps])
    return [step for step in steps if normal_form != "none" or step.name != NORMAL_FORM]


def _check_order(names: list[str]) -> None:
    """Every later stage relies on lines that LF ends and on single spaces between words."""
    if names[0] != "line_ends":
        raise ValueError(
            "cleaning: the list must begin with line_ends, or with a profile, which does: all "
            f"rules look at lines (it begins with {names[0]})"
        )
    if not {"white_space", "english_letters"} & set(names):
        raise ValueError("cleaning: white_space is missing, which leaves one space between words")


def _steps(item: Any) -> list[Step]:
    name: Any = item
    parameters: Any = {}
    if isinstance(item, Mapping) and len(item) == 1:
        name, parameters = next(iter(item.items()))
        parameters = {} if parameters is None else parameters
    if not isinstance(name, str) or not isinstance(parameters, Mapping):
        raise ValueError(f"cleaning: {item!r} is neither a name nor `name: {{parameter: value}}`")
    if name in PROFILES and not parameters:
        return [Step(rule, {}) for rule in PROFILES[name]]
    if ":" not in name:
        _check(name, parameters)
    elif not all(part.isidentifier() for part in name.replace(":", ".", 1).split(".")):
        raise ValueError(
            f'cleaning: "{name}" is no import path of the form package.module:function'
        )
    return [Step(name, dict(parameters))]


def _check(name: str, parameters: Mapping[str, Any]) -> None:
    if name not in RULES:
        known = ", ".join((*PROFILES, *RULES))
        hint = nearest(name, (*PROFILES, *RULES))
        raise ValueError(f'cleaning: no rule or profile "{name}"{hint} (there are: {known})')
    if name in _WITH_PARAMETERS:
        _made(name, parameters)
    elif parameters:
        raise ValueError(f"cleaning: {name} takes no parameters")


def _made(name: str, parameters: Mapping[str, Any]) -> Any:
    """The rule's frozen parameters, checked."""
    config = _WITH_PARAMETERS[name]
    known = [field.name for field in fields(config)]
    for given in parameters:
        if given not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            hint = nearest(str(given), known)
            raise ValueError(f'cleaning: {name} has no parameter "{given}"{hint} ({takes})')
    try:
        content = json.dumps(parameters, default=str)
        return TypeAdapter(config).validate_json(content, strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join([name, *map(str, problem["loc"])])
        message = str(problem["msg"]).removeprefix("Value error, ")
        raise ValueError(f"cleaning: {place}: {message}") from None


def _form(name: str) -> UnicodeForm:
    return next(form for form in get_args(UnicodeForm) if form == name)
