"""What is wrong with an entry of parameters, in words: the first problem of pydantic's list.

An entry is a dataclass or a union of dataclasses that one key tells apart (`kind`, `by`). A key
that only other members of the union have is no slip of the pen, so no near name is offered for it:
the message says whose it is.
"""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import ValidationError

from textmill.base.errors import nearest, shown

_QUOTED = re.compile(r"'([^']+)'")


def dataclasses_in(annotation: Any) -> Iterator[Any]:
    """Every dataclass type reachable from an annotation."""
    if is_dataclass(annotation) and isinstance(annotation, type):
        yield annotation
        for hint in get_type_hints(annotation).values():
            yield from dataclasses_in(hint)
    for part in get_args(annotation):
        yield from dataclasses_in(part)


def first_problem(error: ValidationError, config: Any) -> str:
    """The first problem in words, with the nearest known name for an unknown key or value."""
    problems = error.errors(include_url=False)
    # A misspelt key is also a missing one: the misspelling is what helps.
    problem = min(problems, key=lambda found: found["type"] != "unexpected_keyword_argument")
    place = _without_tags(config, problem["loc"])
    path = ".".join(str(part) for part in place)
    given = problem["input"]
    match problem["type"]:
        case "unexpected_keyword_argument":
            return _unknown_key(config, problem["loc"], path)
        case "missing":
            return f'"{path}" is missing'
        case "union_tag_not_found":
            return f'"{_inside(path, problem)}" is missing'
        case "union_tag_invalid":
            known = _QUOTED.findall(problem["ctx"]["expected_tags"])
            tag = given[problem["ctx"]["discriminator"].strip("'")]
            return _not_one_of(_inside(path, problem), tag, known)
        case "literal_error":
            known = _QUOTED.findall(problem["ctx"]["expected"])
            return _not_one_of(path, given, known)
    message = str(problem["msg"]).removeprefix("Value error, ")
    is_ = "" if not path or isinstance(given, dict) else f" (it is {shown(given)})"
    return f'"{path}": {message}{is_}' if path else message


def _unknown_key(config: Any, place: tuple[Any, ...], path: str) -> str:
    """Where a key that other entries have belongs; else the nearest that this one has."""
    key, (owner, union) = str(place[-1]), _owner(config, place[:-1])
    known = _names(owner)
    if union is not None:
        by, members = union
        tag = next(tag for tag, member in members.items() if member is owner)
        if others := [other for other, member in members.items() if key in _names(member)]:
            return (
                f'"{path}" does not belong to {by}: {tag} but to {by}: {" or ".join(others)} '
                f"({by}: {tag} takes {', '.join(name for name in known if name != by)})"
            )
    above = path.rpartition(".")[0]
    homes = {home for home, member in _homes(config, "") if home != above and key in _names(member)}
    if homes:
        home = min(homes, key=len)
        under = f'under "{home}"' if home else "to the entry itself"
        return f'"{path}" does not belong there but {under}'
    return f'unknown key "{path}"{nearest(key, known)}'


def _owner(annotation: Any, place: tuple[Any, ...]) -> tuple[Any, Any]:
    """The dataclass at a place of pydantic's, and its union: the key that tells members apart, and
    the members by their tags. None where it is in no union.
    """
    if get_origin(annotation) is Annotated:
        by, members = _union(annotation)
        owner = members[place[0]]
        return _owner(owner, place[1:]) if place[1:] else (owner, (by, members))
    if not place:
        return annotation, None
    return _owner(_hints(annotation)[place[0]], place[1:])


def _union(annotation: Any) -> tuple[str, dict[str, Any]]:
    """The discriminating key of an annotated union, and its members by their tags."""
    members, field = get_args(annotation)
    by = str(field.discriminator)
    return by, {
        tag: member for member in get_args(members) for tag in get_args(get_type_hints(member)[by])
    }


def _homes(annotation: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every dataclass of an entry with the dotted place where it stands."""
    if get_origin(annotation) is Annotated:
        for member in _union(annotation)[1].values():
            yield from _homes(member, path)
    elif is_dataclass(annotation):
        yield path, annotation
        for name, hint in _hints(annotation).items():
            yield from _homes(hint, f"{path}.{name}" if path else name)


def _hints(dataclass: Any) -> dict[str, Any]:
    """The annotation of each field, without the `| None` of one that may be left out."""
    found = {}
    for name, hint in get_type_hints(dataclass, include_extras=True).items():
        given = [one for one in get_args(hint) if one is not NoneType]
        is_optional = get_origin(hint) is UnionType and len(given) == 1
        found[name] = given[0] if is_optional else hint
    return found


def _names(dataclass: Any) -> list[str]:
    return [field.name for field in fields(dataclass)]


def _without_tags(annotation: Any, place: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keys as they stand in params.yaml: pydantic puts a union's tag between them."""
    if not place:
        return ()
    if is_dataclass(annotation):
        hint = _hints(annotation).get(str(place[0]))
        return (place[0], *_without_tags(hint, place[1:]))
    if get_origin(annotation) is Annotated:
        return _without_tags(_union(annotation)[1].get(str(place[0])), place[1:])
    return place


def _inside(path: str, problem: Any) -> str:
    """The key that tells the members of a union apart, `splits.by` say."""
    key = problem["ctx"]["discriminator"].strip("'")
    return f"{path}.{key}" if path else key


def _not_one_of(path: str, given: Any, known: list[str]) -> str:
    hint = "" if given is None else nearest(str(given), known)
    return f'"{path}" is {shown(given)}, not one of {", ".join(known)}{hint}'
