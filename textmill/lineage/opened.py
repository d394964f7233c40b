"""A model that a command asks: one of params.yaml by its name, or an ARPA file by its path.

A name of params.yaml has neither dots nor slashes, so whatever has is a path. The words of an ARPA
file are what stands between spaces, and no model spells those that it does not know.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from textmill.base.errors import UserError
from textmill.base.files import read_record
from textmill.lineage.chain import check_model
from textmill.ngram.arpa_read import read_arpa
from textmill.ngram.model import NgramModel
from textmill.ngram.storage import load as load_ngram
from textmill.repository import layout
from textmill.repository.layout import find_root
from textmill.repository.names import MODELS, SAFE
from textmill.repository.stages import read_yaml
from textmill.scoring.codec import load_codec
from textmill.scoring.mixed_models import LinearMixture
from textmill.scoring.protocol import LanguageModel
from textmill.shards.writer import Codec
from textmill.tokenizers import store
from textmill.tokenizers.tokenizer import Tokenizer
from textmill.tokenizers.words import WordTokenizer


@dataclass(frozen=True, slots=True)
class Opened:
    """A model and what turns text into its ids.

    kind: what it is, in words. codec: its tokenizer and the bill for unknown units; spells: whether
    that is one. learnt_unknown, gives_probabilities, is_rounded: as `scoring.text_scores` takes
    them.
    """

    name: str
    kind: str
    model: LanguageModel
    codec: Codec
    spells: bool = True
    learnt_unknown: bool = True
    gives_probabilities: bool = True
    is_rounded: bool = False

    @property
    def tokenizer(self) -> Tokenizer:
        """What splits text into the model's tokens."""
        return self.codec.tokenizer


def open_model(name: str) -> Opened:
    """The model of a name or a path. UserError for one that is not there or cannot be asked."""
    if not SAFE.fullmatch(name):
        return _of_arpa(name)
    root = find_root()
    group, entry = declared(name, root)
    if group == "adapted":
        raise UserError(
            f"{name} learns from the text that it is scored on, so it is scored by its stage alone",
            next_step=f"name its network: {entry['model']}",
        )
    if group == "mixtures":
        return _mixture(name, entry, root)
    codec = load_codec(root / layout.vocabulary(entry["tokenizer"]))
    return _ngram(name, codec, root) if group == "ngrams" else _network(name, codec, root)


def open_ngram(name: str) -> tuple[NgramModel, str]:
    """An n-gram model of params.yaml or an ARPA file, and its tokenizer's entry (of a file: none).

    UserError for a model of another group.
    """
    if not SAFE.fullmatch(name):
        return read_arpa(Path(name)), ""
    root = find_root()
    group, entry = declared(name, root)
    if group != "ngrams":
        known = ", ".join(read_yaml(root / layout.PARAMS)["ngrams"]) or "none"
        raise UserError(f"{name} is no n-gram model", next_step=f"n-gram models: {known}")
    vocabulary = store.load(root / layout.vocabulary(entry["tokenizer"])).vocabulary
    return load_ngram(root / layout.model(name), vocabulary), entry["tokenizer"]


def declared(name: str, root: Path) -> tuple[str, Mapping[str, Any]]:
    """Group and entry of a model of params.yaml. UserError with the nearest name."""
    check_model(name, root)
    params = read_yaml(root / layout.PARAMS)
    group = next(group for group in MODELS if name in (params.get(group) or {}))
    return group, params[group][name]


def _of_arpa(path: str) -> Opened:
    model = read_arpa(Path(path))
    codec = Codec(WordTokenizer(model.vocabulary), lambda texts: np.zeros(len(texts)))
    return Opened(path, model.describe(), model, codec, spells=False)


def _ngram(name: str, codec: Codec, root: Path) -> Opened:
    model = load_ngram(root / layout.model(name), codec.tokenizer.vocabulary)
    return Opened(
        name,
        model.describe(),
        model,
        codec,
        gives_probabilities=model.gives_probabilities,
        is_rounded=model.config.is_rounded,
    )


def _network(name: str, codec: Codec, root: Path) -> Opened:
    from textmill.neural.model import load  # noqa: PLC0415  # torch takes seconds to load
    from textmill.neural.model_files import load_model  # noqa: PLC0415

    folder, vocabulary = root / layout.model(name), codec.tokenizer.vocabulary
    config, _ = load_model(folder, vocabulary)
    model = load(folder, vocabulary, threads=config.threads, device=config.device)
    learnt = vocabulary.unknown in ("learnt", "singletons")
    return Opened(name, config.describe(), model, codec, learnt_unknown=learnt)


def _mixture(name: str, entry: Mapping[str, Any], root: Path) -> Opened:
    """Of its parts as they are, with the weight that its stage fitted."""
    summary = read_record(root / layout.summary(name), "kind", "weight", "parts")
    if summary["parts"] != [entry["first"], entry["second"]]:
        raise UserError(
            f"{name} was made of other models than params.yaml names", next_step="dvc repro"
        )
    first, second = (open_model(entry[part]) for part in ("first", "second"))
    return Opened(
        name,
        summary["kind"],
        LinearMixture(first.model, second.model, summary["weight"]),
        first.codec,
        learnt_unknown=first.learnt_unknown and second.learnt_unknown,
        gives_probabilities=first.gives_probabilities and second.gives_probabilities,
        is_rounded=first.is_rounded or second.is_rounded,
    )
