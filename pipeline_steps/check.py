"""Read the whole of params.yaml as the stages will, and name the first mistake. Runs nothing.

DVC fills in dvc.yaml before any step starts, so a group that is missing or an entry without its
tokenizer would otherwise end in DVC's words about a template; and a mistake in the last model
would be met after the first ones were trained.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from pipeline_steps import settings
from pipeline_steps.clean import check_cleaning, parse_profiles
from pipeline_steps.mix import MixtureConfig
from textmill.adapting.config import AdaptedConfig, check_tokenizer
from textmill.base.errors import UserError, nearest
from textmill.neural.config import NetworkConfig
from textmill.ngram.config import NgramConfig
from textmill.reports.leaderboard import declared_models
from textmill.repository import layout
from textmill.repository.names import check_names
from textmill.repository.stages import lookup, read_yaml
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


def _check_entries(params: Mapping[str, Any], group: str, config: Any) -> dict[str, Any]:
    """The entries of a group, parsed."""
    if not isinstance(params[group], Mapping):
        raise UserError(
            f"it must map names to entries, not be {params[group]!r}",
            where=f"{layout.PARAMS}: {group}",
            next_step=f"for none of them write: {group}: {{}}",
        )
    parsed = {}
    for name, entry in params[group].items():
        where = f"{layout.PARAMS}: {group}.{name}"
        if not isinstance(entry, Mapping):
            raise UserError(f"it must map names to values, not be {entry!r}", where=where)
        parsed[name] = settings.parse(config, entry, where)
    return parsed


def _check_adapted(params: Mapping[str, Any]) -> None:
    """An adapted model names its network's tokenizer."""
    for name, entry in params["adapted"].items():
        where = f"{layout.PARAMS}: adapted.{name}"
        config = settings.parse(AdaptedConfig, entry, where)
        check_tokenizer(config, params["networks"][config.model]["tokenizer"], where)


def _check_mixtures(params: Mapping[str, Any]) -> None:
    """A mixture's parts split text alike, as far as the parameters of their tokenizers tell."""
    models = {**params["ngrams"], **params["networks"], **params["adapted"]}
    for name, entry in params["mixtures"].items():
        first, second = (models[entry[part]]["tokenizer"] for part in ("first", "second"))
        if params["tokenizers"][first] != params["tokenizers"][second]:
            raise UserError(
                f"{entry['first']} is over {first} and {entry['second']} over {second} tokens, "
                "so they cannot be mixed",
                where=f"{layout.PARAMS}: mixtures.{name}",
                next_step="name two models with the same tokenizer",
            )
