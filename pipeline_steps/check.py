"""Read the whole of params.yaml as the stages will, and name the first mistake. Runs nothing.

DVC fills in dvc.yaml before any step starts, so a group that is missing or an entry without its
tokenizer would otherwise end in DVC's words about a template; and a mistake in the last model
would be met after the first ones were trained.
"""

import glob
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from pipeline_steps import settings
from pipeline_steps.clean import check_cleaning, parse_profiles
from pipeline_steps.mix import MixtureConfig, of_scores
from textmill.adapting.config import AdaptedConfig, check_tokenizer
from textmill.base.errors import UserError, nearest, shown
from textmill.neural.config import NetworkConfig
from textmill.ngram.config import NgramConfig
from textmill.reports.leaderboard import declared_models
from textmill.repository import layout
from textmill.repository.names import check_names
from textmill.repository.stages import lookup, read_yaml
from textmill.text import local
from textmill.text.catalogue import Corpus
from textmill.tokenizers.store import TokenizerConfig

GROUPS: Mapping[str, Any] = {
    "tokenizers": Annotated[TokenizerConfig, Field(discriminator="kind")],
    "ngrams": NgramConfig,
    "networks": NetworkConfig,
    "adapted": AdaptedConfig,
    "mixtures": MixtureConfig,
}
KNOWN = ("corpus", "corpora", "profiles", *GROUPS)


def check(root: Path = Path()) -> dict[str, int]:
    """How many entries each group has; UserError for the first mistake."""
    params = read_yaml(root / layout.PARAMS)
    for name in params:
        if name not in KNOWN:
            raise UserError(
                f'unknown name "{name}"{nearest(str(name), KNOWN)}',
                where=str(layout.PARAMS),
                next_step=f"known: {', '.join(KNOWN)}",
            )
    for name in KNOWN:
        lookup(params, name)
    profiles = parse_profiles(params["profiles"])
    for name, corpus in _check_entries(params, "corpora", Corpus).items():
        check_cleaning(corpus, profiles, f"{layout.PARAMS}: corpora.{name}")
    for group, config in GROUPS.items():
        _check_entries(params, group, config)
    check_names(root)
    _check_adapted(params)
    _check_mixtures(params)
    models = [group for group in GROUPS if group != "tokenizers"]
    declared_models({group: params[group] for group in models})
    return {group: len(params[group]) for group in GROUPS}


def check_chosen(root: Path = Path()) -> None:
    """What the chosen corpus needs of this machine is here: its own rules, as the stage will import
    them, and of a text of one's own the pin. UserError for the first that is not; nothing runs.
    """
    params = read_yaml(root / layout.PARAMS)
    name = params["corpus"]
    where = f"{layout.PARAMS}: corpora.{name}"
    corpus = settings.parse(Corpus, params["corpora"][name], where)
    if corpus.is_local:
        _check_own_text(root, corpus, where)
    with _importing_from(root):
        steps = check_cleaning(corpus, parse_profiles(params["profiles"]), where)
        try:
            for step in steps:
                step.start(corpus.normal_form)
        except UserError as error:
            at = f"{where}: {error.where}"
            raise UserError(error.what, where=at, next_step=error.next_step) from None


def _check_own_text(root: Path, corpus: Corpus, where: str) -> None:
    """A text that lies elsewhere is none of the mistakes: DVC may have kept what was read of it."""
    if not corpus.path:
        raise UserError("no text is pinned yet", where=where, next_step="textmill pin PATH")
    text = root / local.expanded(corpus.path)
    if text.exists() or glob.has_magic(corpus.path):
        local.find(str(text), corpus.documents)


@contextmanager
def _importing_from(root: Path) -> Iterator[None]:
    """Modules are looked for in the repository first, as where a stage runs."""
    before = sys.path[:]
    sys.path.insert(0, str(root.resolve()))
    try:
        yield
    finally:
        sys.path[:] = before


def _check_entries(params: Mapping[str, Any], group: str, config: Any) -> dict[str, Any]:
    """The entries of a group, parsed."""
    if not isinstance(params[group], Mapping):
        raise UserError(
            f"it must map names to entries, not be {shown(params[group])}",
            where=f"{layout.PARAMS}: {group}",
            next_step=f"for none of them write: {group}: {{}}",
        )
    parsed = {}
    for name, entry in params[group].items():
        where = f"{layout.PARAMS}: {group}.{name}"
        if not isinstance(entry, Mapping):
            raise UserError(
                f"it must map names to values, not be {shown(entry)}",
                where=where,
                next_step=settings.CORRECT,
            )
        parsed[name] = _parsed(group, config, entry, where)
    return parsed


def _parsed(group: str, config: Any, entry: Mapping[str, Any], where: str) -> Any:
    """An entry; one that would be sound in another group is named as such."""
    try:
        return settings.parse(config, entry, where)
    except UserError:
        others = [other for other, its in GROUPS.items() if _is_sound(its, entry)]
        if not others:
            raise
        raise UserError(
            f"this is an entry of {others[0]}, not of {group}",
            where=where,
            next_step=f"move it below {others[0]}: in {layout.PARAMS}",
        ) from None


def _is_sound(config: Any, entry: Mapping[str, Any]) -> bool:
    try:
        settings.parse(config, entry, "")
    except UserError:
        return False
    return True


def _check_adapted(params: Mapping[str, Any]) -> None:
    """An adapted model names its network's tokenizer."""
    for name, entry in params["adapted"].items():
        where = f"{layout.PARAMS}: adapted.{name}"
        config = settings.parse(AdaptedConfig, entry, where)
        check_tokenizer(config, params["networks"][config.model]["tokenizer"], where)


def _check_mixtures(params: Mapping[str, Any]) -> None:
    """A mixture's parts give probabilities and split text alike, as far as parameters tell."""
    models = {**params["ngrams"], **params["networks"], **params["adapted"]}
    for name, entry in params["mixtures"].items():
        where = f"{layout.PARAMS}: mixtures.{name}"
        for part in (entry["first"], entry["second"]):
            ngram = params["ngrams"].get(part)
            if ngram and not settings.parse(NgramConfig, ngram, where).gives_probabilities:
                raise of_scores(part, where)
        first, second = (models[entry[part]]["tokenizer"] for part in ("first", "second"))
        if params["tokenizers"][first] != params["tokenizers"][second]:
            raise UserError(
                f"{entry['first']} is over {first} and {entry['second']} over {second} tokens, "
                "so they cannot be mixed",
                where=where,
                next_step="name two models with the same tokenizer",
            )
