"""Rules of one's own: a function or class by its import path, made into a rule that keeps books.

    # my_package/rules.py
    from textmill.text.own_rules import Drop, for_lines

    def drop_short(text, words=50):          # a document's text
        if len(text.split()) < words:
            return Drop(f"fewer than {words} words")
        return None                          # keep

    @for_lines
    def no_page_numbers(line):               # one line after the other, without its end
        return Drop("page number") if line.isdigit() else None

    class NamesOfAList:                      # made once, of the parameters; then called with texts
        def __init__(self, path):
            self.names = set(Path(path).read_text().split())

        def __call__(self, text):
            return Drop("a name of the list") if self.names & set(text.split()) else None

A function that answers a text has rewritten: a document's must end with a line end, a line's has
none. A function of lines is called once for each, which Python does for a million in a second.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from textmill.base.errors import UserError, nearest
from textmill.text import examples
from textmill.text.examples import EXAMPLES, SHOWN
from textmill.text.rules import Cleaned, Loss, Rule

_MARK = "textmill_for_lines"
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Drop:
    """A rule's answer: this document (or line) falls, for this reason."""

    reason: str

    def __post_init__(self) -> None:
        if not isinstance(self.reason, str) or not self.reason.strip():
            raise ValueError(f"Drop needs a reason in words, not {self.reason!r}")


def for_lines(function: Function) -> Function:
    """Mark a function (or a class, or its `__call__`) as one of lines: it is asked about each of a
    document's.
    """
    setattr(function, _MARK, True)
    return function


def own_rule(path: str, parameters: Mapping[str, Any]) -> Rule:
    """The rule behind `package.module:function`, or of a class. UserError where there is none."""
    found: Any = _imported(path)
    function: Callable[..., Any]
    if isinstance(found, type):
        function = _made(path, found, parameters)
        _check_parameters(path, function, {}, [""])
    else:
        _check_parameters(path, found, parameters, [""])
        function = partial(found, **parameters)

    def asked(text: str) -> Any:
        try:
            answer = function(text)
            if isinstance(answer, str):
                _check_characters(answer)
            return answer
        except Exception as error:
            raise UserError(
                f"the rule failed with {type(error).__name__}: {error}",
                where=f"cleaning: {path}",
                next_step=f"mend the function, or its parameters ({dict(parameters)}); it was "
                f"given {text[:SHOWN]!r}",
            ) from error

    is_for_lines = any(getattr(one, _MARK, False) for one in (found, found.__call__))
    return _of_lines(path, asked) if is_for_lines else _of_text(path, asked)


def _check_characters(text: str) -> None:
    """Line ends are one LF already, and the text will be UTF-8."""
    if "\r" in text:
        raise ValueError("its answer holds a carriage return, U+000D")
    text.encode()


def _imported(path: str) -> Callable[..., Any]:
    module_name, _, name = path.partition(":")
    where = f"cleaning: {path}"
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise UserError(
            f"the module {module_name} cannot be imported ({type(error).__name__}: {error})",
            where=where,
            next_step="install the package into the environment, or set PYTHONPATH to its folder",
        ) from None
    function = getattr(module, name, None)
    if not callable(function):
        there = [key for key, value in vars(module).items() if callable(value)]
        raise UserError(
            f"{module_name} has no function {name}{nearest(name, there)}",
            where=where,
            next_step=f"look into {getattr(module, '__file__', module_name)}",
        )
    return function


def _made(path: str, rule: type, parameters: Mapping[str, Any]) -> Callable[..., Any]:
    """The one object of a class that is asked about every text of a run."""
    where = f"cleaning: {path}"
    _check_parameters(path, rule, parameters, [])
    try:
        made = rule(**parameters)
    except Exception as error:
        raise UserError(
            f"the rule cannot be made ({type(error).__name__}: {error})",
            where=where,
            next_step=f"mend the class, or its parameters ({dict(parameters)})",
        ) from error
    if not callable(made):
        raise UserError(
            "the class has no __call__, so it cannot be asked about a text",
            where=where,
            next_step="write: def __call__(self, text), which answers None, Drop(reason) or a text",
        )
    return made


def _check_parameters(
    path: str, function: Callable[..., Any], parameters: Mapping[str, Any], given: Sequence[str]
) -> None:
    """Refuse what the function could not be called with, as far as it says what it takes. given:
    what stands before the parameters.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled ones do not say
        return
    try:
        signature.bind(*given, **parameters)
    except TypeError as error:
        called = "called with a text and" if given else "made with"
        raise UserError(
            f"the rule cannot be {called} {dict(parameters)} ({error})",
            where=f"cleaning: {path}",
            next_step=f"it takes {signature}: give it these parameters in params.yaml",
        ) from None


def _of_text(path: str, asked: Callable[[str], Any]) -> Rule:
    def rule(text: str) -> Cleaned:
        answer = asked(text)
        if answer is None or answer == text:
            return Cleaned(text)
        if isinstance(answer, Drop):
            return Cleaned(text, drop=answer.reason, example=text[:SHOWN].replace("\n", " "))
        if not isinstance(answer, str):
            raise _no_answer(path, answer)
        lines = text.count("\n") - answer.count("\n")
        if lines < 0 or (answer and not answer.endswith("\n")):
            raise UserError(
                "a rewritten document has more lines than before, or does not end with a line end",
                where=f"cleaning: {path}",
                next_step="return whole lines, at most as many as there were",
            )
        losses = [
            Loss("rewritten", "changes", 1, examples.of_rewriting(text, answer)),
            Loss("left out", "lines", lines, examples.of_lines_left_out(text, answer)),
        ]
        return Cleaned(answer, tuple(loss for loss in losses if loss.count))

    return rule


def _of_lines(path: str, asked: Callable[[str], Any]) -> Rule:
    def rule(text: str) -> Cleaned:
        kept: list[str] = []
        found: dict[str, list[str]] = {}
        rewritten: list[str] = []
        for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], 1):
            answer = asked(line)
            if isinstance(answer, Drop):
                found.setdefault(answer.reason, []).append(f"line {number}: {line[:SHOWN]}")
                continue
            if answer is not None and (not isinstance(answer, str) or "\n" in answer):
                raise _no_answer(path, answer)
            if answer is not None and answer != line:
                rewritten.append(f"line {number}: {line[:SHOWN]}")
            kept.append(line if answer is None else answer)
        losses = [
            Loss(reason, "lines", len(lines), tuple(lines[:EXAMPLES]))
            for reason, lines in found.items()
        ]
        if rewritten:
            first = tuple(rewritten[:EXAMPLES])
            losses.append(Loss("rewritten", "changes", len(rewritten), first))
        return Cleaned("".join(line + "\n" for line in kept), tuple(losses))

    return rule


def _no_answer(path: str, answer: Any) -> UserError:
    return UserError(
        f"a rule answers None (keep), Drop(reason) or a text in place of what it was given, not "
        f"{answer!r}",
        where=f"cleaning: {path}",
        next_step="from textmill.text.own_rules import Drop",
    )
