"""Profiles: named lists of rules, and how a corpus's `cleaning` becomes rules that run.

`cleaning` is the name of a profile, or a list of which each item is

    plain                              a profile, whose rules are put in its place
    blank_lines                        a rule
    line_length: {max_characters: 500} a rule with parameters
    my_package.rules:drop_short        a rule of one's own, by import path, with or without them

The profiles themselves stand in params.yaml under `profiles:` and are such lists too; there are no
others. A rule of one's own is a function of a document's text (and of its parameters, by name), or
of a line where it is marked with `for_lines`. It answers None to keep, `Drop(reason)` to drop, or
the text in its place. It is imported when the stage runs, not when params.yaml is read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from textmill.base.errors import nearest
from textmill.text.steps import NORMAL_FORM, RULES, Step

_FIRST = "line_ends"
_ONE_SPACE = ("white_space", "english_letters")


class Profiles:
    """The profiles of params.yaml. Raises ValueError, beginning with the name of the wrong one."""

    def __init__(self, profiles: Mapping[str, Any]) -> None:
        self._profiles = profiles
        for name, items in profiles.items():
            self._check_name(name)
            if not isinstance(items, list | tuple) or not items:
                raise ValueError(
                    f"{name}: a profile is a list of rules and profiles, not {items!r}"
                )
            for _ in self._steps(items, name, (name,)):
                pass

    def __contains__(self, name: object) -> bool:
        return name in self._profiles

    def steps(self, cleaning: Any, normal_form: str = "NFC") -> list[Step]:
        """The steps of a corpus's `cleaning`. Raises ValueError, beginning with the field."""
        if isinstance(cleaning, str):
            if cleaning not in self:
                known = ", ".join(self._profiles)
                hint = nearest(cleaning, self._profiles)
                raise ValueError(f'cleaning: no profile "{cleaning}"{hint} (there are: {known})')
            cleaning = [cleaning]
        if not isinstance(cleaning, list | tuple) or not cleaning:
            raise ValueError("cleaning: needs the name of a profile, or a list of rules")
        steps = list(self._steps(cleaning, "cleaning", ()))
        if normal_form not in ("NFC", "none") and NORMAL_FORM not in [step.name for step in steps]:
            raise ValueError(
                f"normal_form: no rule {NORMAL_FORM} in the cleaning would make {normal_form}"
            )
        _check_order([step.name for step in steps])
        return [step for step in steps if normal_form != "none" or step.name != NORMAL_FORM]

    def _steps(self, items: Any, field: str, inside: tuple[str, ...]) -> Iterator[Step]:
        """field: what messages begin with. inside: the profiles that are being filled in."""
        for item in items:
            name, parameters = _name_and_parameters(item, field)
            if name in self._profiles and not parameters:
                if name in inside:
                    way = " -> ".join([*inside[inside.index(name) :], name])
                    raise ValueError(f"{field}: the profile {name} holds itself ({way})")
                yield from self._steps(self._profiles[name], field, (*inside, name))
                continue
            if name in self._profiles:
                raise ValueError(f"{field}: {name} is a profile and takes no parameters")
            if ":" not in name and name not in RULES:
                known = (*self._profiles, *RULES)
                hint = nearest(name, known)
                raise ValueError(
                    f'{field}: no rule or profile "{name}"{hint} (there are: {", ".join(known)})'
                )
            try:
                yield Step(name, parameters)
            except ValueError as error:
                raise ValueError(f"{field}: {error}") from None

    def _check_name(self, name: Any) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{name}: a profile's name has letters, digits and _ alone")
        if name in RULES:
            raise ValueError(f"{name}: is the name of a rule; give the profile another one")


def _name_and_parameters(item: Any, field: str) -> tuple[str, dict[str, Any]]:
    name: Any = item
    parameters: Any = {}
    if isinstance(item, Mapping) and len(item) == 1:
        name, parameters = next(iter(item.items()))
        parameters = {} if parameters is None else parameters
    if not isinstance(name, str) or not isinstance(parameters, Mapping):
        raise ValueError(f"{field}: {item!r} is neither a name nor `name: {{parameter: value}}`")
    return name, dict(parameters)


def _check_order(names: list[str]) -> None:
    """Every later stage relies on lines that LF ends and on single spaces between words."""
    if names[0] != _FIRST:
        raise ValueError(
            f"cleaning: the list must begin with {_FIRST}, or with a profile that does: all "
            f"rules look at lines (it begins with {names[0]})"
        )
    if not set(_ONE_SPACE) & set(names):
        raise ValueError("cleaning: white_space is missing, which leaves one space between words")
