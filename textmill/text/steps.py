"""A step of a cleaning: a rule by its name, with its parameters, checked."""

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

_FOR_LINES: dict[str, Rule] = {
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
    )
}
"""What these give for documents of whole lines, one after the other, is what they give for each."""
_SIMPLE: dict[str, Rule] = {**_FOR_LINES, gutenberg_licence.__name__: gutenberg_licence}
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
    """A rule of a cleaning by its name, one of RULES or an import path, with the parameters that
    params.yaml gives it. Raises ValueError for parameters that the rule does not take.
    """

    name: str
    parameters: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.is_own:
            _check_path(self.name)
        elif self.name in _WITH_PARAMETERS:
            _made(self.name, self.parameters)
        elif self.parameters:
            raise ValueError(f"{self.name} takes no parameters")

    @property
    def label(self) -> str:
        """As the books call it: `line length (max_characters 500)`."""
        given = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        name = self.name if self.is_own else self.name.replace("_", " ")
        return f"{name} ({given})" if given else name

    @property
    def is_own(self) -> bool:
        """Whether it is a rule of one's own, by import path."""
        return ":" in self.name

    @property
    def is_for_lines(self) -> bool:
        """Whether the rule may be given several documents as one text."""
        return self.name in _FOR_LINES

    @property
    def counts_documents(self) -> bool:
        """Whether such a rule counts a change once a document, however many lines it changed."""
        return self.name == NORMAL_FORM

    def start(self, normal_form: str) -> Rule:
        """The rule, ready for the first document. Raises UserError for one's own that fails."""
        if self.is_own:
            return own_rule(self.name, self.parameters)
        if self.name == NORMAL_FORM:
            return partial(rules.normal_form, form=_form(normal_form))
        if self.name in _SIMPLE:
            return _SIMPLE[self.name]
        made = _made(self.name, self.parameters)
        return made.start() if hasattr(made, "start") else made


def _check_path(name: str) -> None:
    if not all(part.isidentifier() for part in name.replace(":", ".", 1).split(".")):
        raise ValueError(f'"{name}" is no import path of the form package.module:function')


def _made(name: str, parameters: Mapping[str, Any]) -> Any:
    """The rule's frozen parameters, checked."""
    config = _WITH_PARAMETERS[name]
    known = [field.name for field in fields(config)]
    for given in parameters:
        if given not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            hint = nearest(str(given), known)
            raise ValueError(f'{name} has no parameter "{given}"{hint} ({takes})')
    try:
        content = json.dumps(parameters, default=str)
        return TypeAdapter(config).validate_json(content, strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join([name, *map(str, problem["loc"])])
        message = str(problem["msg"]).removeprefix("Value error, ")
        raise ValueError(f"{place}: {message}") from None


def _form(name: str) -> UnicodeForm:
    return next(form for form in get_args(UnicodeForm) if form == name)
