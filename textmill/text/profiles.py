"""Profiles: named lists of rules, and how a corpus's `cleaning` becomes rules that run.

`cleaning` is the name of a profile, or a list of which each item is

    plain                              a profile, whose rules are put in its place
    blank_lines                        a rule
    line_length: {max_characters: 500} a rule with parameters
    my_package.rules:drop_short        a rule of one's own, by import path, with or without them

The profiles themselves stand in params.yaml under `profiles:` and are such lists too; there are no
others. A rule of one's own is a function of a document's text (and of its parameters, by name), or
of a line where it is marked with `for_lines`. It answers None to keep, `Drop(reason)` to drop, or
the text in its place. It is imported when the steps are started, not when they are read.
"""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from textmill.base.errors import UserError, nearest, shown
from textmill.text.steps import NORMAL_FORM, RULES, Step

_FIRST = "line_ends"
_ONE_SPACE = ("white_space", "english_letters")
_MOST_RULES = 1_000
"""Of a profile with all that it holds: two profiles twice in each other's list double with each."""
_SHOWN = 6
Item = tuple[str, dict[str, Any]]
"""A rule or profile by its name, with its parameters."""


class Profiles:
    """The profiles of params.yaml. Raises UserError, beginning with the name of the wrong one."""

    def __init__(self, profiles: Mapping[str, Any]) -> None:
        self._lists = {name: _items_of(name, items) for name, items in profiles.items()}
        self._steps_of: dict[str, list[Step]] = {}
        for name in _inner_first(self._lists):
            self._steps_of[name] = self._filled_in(self._lists[name], name)

    def __contains__(self, name: object) -> bool:
        return name in self._lists

    def steps(self, cleaning: Any, normal_form: str = "NFC") -> list[Step]:
        """The steps of a corpus's `cleaning`. Raises UserError, beginning with the field."""
        if isinstance(cleaning, str):
            if cleaning not in self:
                raise self._no_profile(cleaning)
            cleaning = [cleaning]
        if not isinstance(cleaning, list | tuple) or not cleaning:
            raise UserError(
                "cleaning: needs the name of a profile, or a list of rules, "
                f"and is {shown(cleaning)}",
                next_step=f"cleaning: {next(iter(self._lists), f'[{_FIRST}, white_space]')}",
            )
        items = [_name_and_parameters(item, "cleaning") for item in cleaning]
        steps = self._filled_in(items, "cleaning")
        names = [step.name for step in steps]
        if normal_form not in ("NFC", "none") and NORMAL_FORM not in names:
            raise UserError(
                f"normal_form: no rule {NORMAL_FORM} in the cleaning would make {normal_form}",
                next_step=f"add {NORMAL_FORM} to the list, or leave the field out",
            )
        _check_order(names)
        return [step for step in steps if normal_form != "none" or step.name != NORMAL_FORM]

    def _filled_in(self, items: Sequence[Item], field: str) -> list[Step]:
        """Profiles replaced by their rules. field: what messages begin with."""
        steps: list[Step] = []
        for name, parameters in items:
            if name in self and parameters:
                raise UserError(f"{field}: {name} is a profile and takes no parameters")
            steps += self._steps_of[name] if name in self else [self._step(name, parameters, field)]
            if len(steps) > _MOST_RULES:
                raise UserError(
                    f"{field}: with the profiles in it, it has more than {_MOST_RULES:,} rules",
                    next_step="hold each profile once",
                )
        return steps

    def _step(self, name: str, parameters: dict[str, Any], field: str) -> Step:
        if ":" not in name and name not in RULES:
            known = (*self._lists, *RULES)
            own = _with_a_colon(name)
            hint = "" if own else nearest(name, known)
            raise UserError(
                f'{field}: no rule or profile "{name}"{hint} (there are: {", ".join(known)})',
                next_step=own and f"a rule of one's own has a colon before the function: {own}",
            )
        try:
            return Step(name, parameters)
        except ValueError as error:
            raise UserError(f"{field}: {error}") from None

    def _no_profile(self, name: str) -> UserError:
        """Refuse a single name, which may be a rule's that needs a list around it."""
        rule = name if ":" in name or name in RULES else _with_a_colon(name)
        if rule:
            shown_rule = f'"{rule}"' if ":" in rule else rule
            first = next(iter(self._lists), f"{_FIRST}, white_space")
            return UserError(
                f'cleaning: "{name}" is no profile; a rule stands in a list',
                next_step=f"cleaning: [{first}, {shown_rule}]",
            )
        known = ", ".join(self._lists)
        hint = nearest(name, self._lists)
        return UserError(f'cleaning: no profile "{name}"{hint} (there are: {known})')


def taken(cleaning: Any, profiles: Mapping[str, Any]) -> dict[str, Any]:
    """Of the profiles as params.yaml has them, those that a corpus's `cleaning` takes.

    Profiles that are held by those are among them.
    """
    named = [cleaning] if isinstance(cleaning, str) else list(cleaning)
    found: dict[str, Any] = {}
    while named:
        name, _ = _name_and_parameters(named.pop(), "cleaning")
        if name in profiles and name not in found:
            found[name] = profiles[name]
            named += found[name]
    return {name: items for name, items in profiles.items() if name in found}


def _items_of(name: Any, items: Any) -> list[Item]:
    """The list of a profile, each item as a name with parameters."""
    if not isinstance(name, str) or not name.isidentifier():
        raise UserError(
            f"{name}: a profile's name has letters, digits and _ alone, a letter first",
            next_step="rename it, where it is used as well",
        )
    if name in RULES:
        raise UserError(
            f"{name}: is the name of a rule",
            next_step=f"give the profile another one: my_{name}",
        )
    if not isinstance(items, list | tuple) or not items:
        raise UserError(
            f"{name}: a profile is a list of rules and profiles, not {shown(items)}",
            next_step=f"{name}: [{_FIRST}, white_space]",
        )
    return [_name_and_parameters(item, name) for item in items]


def _inner_first(lists: Mapping[str, Sequence[Item]]) -> list[str]:
    """The profiles so that each comes after those that it holds, however deep they nest."""
    held = {name: [item for item, _ in items if item in lists] for name, items in lists.items()}
    try:
        return list(TopologicalSorter(held).static_order())
    except CycleError as error:
        circle = error.args[1][:0:-1]
        first = min(map(list(lists).index, circle))
        name = list(lists)[first]
        at = circle.index(name)
        way = [*circle[at:], *circle[:at], name]
        if len(way) > _SHOWN + 1:
            way = [*way[: _SHOWN - 1], f"{len(way) - _SHOWN} more", name]
        raise UserError(
            f"{name}: the profile {name} holds itself ({' -> '.join(way)})",
            next_step="take one of them out of the other's list",
        ) from None


def _name_and_parameters(item: Any, field: str) -> Item:
    name: Any = item
    parameters: Any = {}
    if isinstance(item, Mapping) and len(item) == 1:
        name, parameters = next(iter(item.items()))
        parameters = {} if parameters is None else parameters
    if not isinstance(name, str) or not isinstance(parameters, Mapping):
        raise UserError(
            f"{field}: {shown(item)} is neither a name nor `name: {{parameter: value}}`",
            next_step="for a rule with parameters: - line_length: {max_characters: 500}",
        )
    return name, dict(parameters)


def _with_a_colon(name: str) -> str:
    """`my_rules.drop` as the import path it was meant to be; empty where it is none."""
    module, dot, function = name.rpartition(".")
    is_path = dot and all(part.isidentifier() for part in name.split("."))
    return f"{module}:{function}" if is_path else ""


def _check_order(names: list[str]) -> None:
    """Every later stage relies on lines that LF ends and on single spaces between words."""
    if names[0] != _FIRST:
        raise UserError(
            f"cleaning: the list must begin with {_FIRST}, or with a profile that does: all "
            f"rules look at lines (it begins with {names[0]})",
            next_step=f"put {_FIRST} before {names[0]}",
        )
    if not set(_ONE_SPACE) & set(names):
        raise UserError(
            "cleaning: white_space is missing, which leaves one space between words",
            next_step="add white_space to the list",
        )
