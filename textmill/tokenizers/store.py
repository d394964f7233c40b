"""Train a tokenizer by its configuration, save it to a folder and read it back.

The folder holds `tokenizer.json` (kind, configuration, how `<unk>` is learnt, fingerprint),
`vocabulary.arrow` (token and count, a row an id) and for subwords `subword.model`.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from textmill.base.errors import UserError
from textmill.base.files import read_record, write_atomically, write_json
from textmill.tokenizers import byte_values, characters, pieces, subwords, words
from textmill.tokenizers.byte_values import ByteConfig, ByteTokenizer
from textmill.tokenizers.characters import CharConfig, CharTokenizer
from textmill.tokenizers.counting import Text
from textmill.tokenizers.pieces import PieceTokenizer
from textmill.tokenizers.subwords import SubwordConfig, SubwordTokenizer
from textmill.tokenizers.tokenizer import Tokenizer
from textmill.tokenizers.vocabulary import Vocabulary, load_table, save_table
from textmill.tokenizers.words import WordConfig, WordTokenizer

TokenizerConfig = WordConfig | CharConfig | ByteConfig | SubwordConfig
FORMAT = 1
KINDS = ("word", "char", "byte", "subword")
_DEFAULTS = {"punctuation": "keep", "model": "bpe", "reserved": ()}
"""Options that came later: at their defaults they are not written, so that bytes stay."""


def train(text: Text, config: TokenizerConfig, name: str = "NAME") -> tuple[Tokenizer, list[str]]:
    """The tokenizer of a training text and the types that it maps to `<unk>`.

    name: its entry in params.yaml, which messages name.
    """
    match config:
        case WordConfig(punctuation="split"):
            piece_tokenizer, dropped = pieces.train_pieces(text, config)
            return piece_tokenizer, dropped.to_pylist()
        case WordConfig():
            word_tokenizer, dropped = words.train_words(text, config)
            return word_tokenizer, dropped.to_pylist()
        case CharConfig():
            char_tokenizer, dropped = characters.train_characters(text, config)
            return char_tokenizer, dropped.to_pylist()
        case ByteConfig():
            return byte_values.train_bytes(text, config), []
        case SubwordConfig():
            return subwords.train_subwords(text, config, name), []


def save(tokenizer: Tokenizer, config: TokenizerConfig, folder: Path) -> None:
    """Write the tokenizer's files into an existing folder."""
    vocabulary = tokenizer.vocabulary
    save_table(vocabulary, folder / "vocabulary.arrow")
    if isinstance(tokenizer, SubwordTokenizer):
        write_atomically(folder / "subword.model", tokenizer.model)
    write_json(
        folder / "tokenizer.json",
        {
            "format": FORMAT,
            "kind": tokenizer.kind,
            "config": _written(config),
            "size": len(vocabulary),
            "reserved": list(vocabulary.reserved),
            "unknown": vocabulary.unknown,
            "fingerprint": vocabulary.fingerprint,
        },
    )


def _written(config: TokenizerConfig) -> dict[str, Any]:
    options = asdict(config).items()
    defaults = _DEFAULTS | ({"maximum_size": None} if isinstance(config, CharConfig) else {})
    return {name: value for name, value in options if defaults.get(name, ...) != value}


def load(folder: Path) -> Tokenizer:
    """Read what `save` wrote. UserError where a file is missing, damaged or another's."""
    needed = ("format", "kind", "config", "reserved", "unknown", "fingerprint")
    about = read_record(folder / "tokenizer.json", *needed)
    if about["format"] != FORMAT or about["kind"] not in KINDS:
        raise UserError(f"{folder} holds no tokenizer of this version", next_step="dvc repro")
    try:
        tokenizer = _load(folder, about)
    except (AttributeError, IndexError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise UserError(
            f"the tokenizer in {folder} is damaged ({error})",
            next_step=f"delete {folder}, then: dvc repro",
        ) from None
    if tokenizer.vocabulary.fingerprint != about["fingerprint"]:
        raise UserError(
            f"{folder} holds another vocabulary than its tokenizer.json names",
            next_step=f"delete {folder}, then: dvc repro",
        )
    return tokenizer


def _load(folder: Path, about: dict[str, Any]) -> Tokenizer:
    match about["kind"]:
        case "subword":
            model = (folder / "subword.model").read_bytes()
            if not model:
                raise ValueError("subword.model is empty")
            scheme = subwords.scheme_of(model)
            merges = about["config"].get("model", _DEFAULTS["model"])
            return SubwordTokenizer(_vocabulary(folder, about, scheme), model, merges)
        case "byte":
            return ByteTokenizer(_vocabulary(folder, about, byte_values.SCHEME))
        case "char":
            return CharTokenizer(_vocabulary(folder, about, characters.SCHEME))
    if about["config"].get("punctuation") == "split":
        return PieceTokenizer(_vocabulary(folder, about, pieces.SCHEME))
    return WordTokenizer(_vocabulary(folder, about, words.SCHEME))


def _vocabulary(folder: Path, about: dict[str, Any], scheme: str) -> Vocabulary:
    unknown: Any = about["unknown"]
    if unknown not in ("learnt", "singletons", "unlearnt", "none"):
        raise UserError(f"{folder}/tokenizer.json says unknown: {unknown}", next_step="dvc repro")
    path, reserved = folder / "vocabulary.arrow", tuple(about["reserved"])
    return load_table(path, scheme=scheme, unknown=unknown, reserved=reserved)
