"""Train a tokenizer by its configuration, save it to a folder and read it back.

The folder holds `tokenizer.json` (kind, configuration, how `<unk>` is learnt, fingerprint),
`vocabulary.arrow` (token and count, a row an id) and for subwords `subword.model`.
"""

from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from textmill.base.errors import UserError
from textmill.base.files import read_record, write_atomically, write_json
from textmill.tokenizers import characters, subwords, words
from textmill.tokenizers.characters import CharConfig, CharTokenizer
from textmill.tokenizers.subwords import SubwordConfig, SubwordTokenizer
from textmill.tokenizers.tokenizer import Tokenizer
from textmill.tokenizers.vocabulary import Vocabulary, load_table, save_table
from textmill.tokenizers.words import WordConfig, WordTokenizer

TokenizerConfig = WordConfig | CharConfig | SubwordConfig
FORMAT = 1
SCHEMES = {"word": words.SCHEME, "char": characters.SCHEME}


def train(
    lines: pa.Array, config: TokenizerConfig, name: str = "NAME"
) -> tuple[Tokenizer, list[str]]:
    """The tokenizer of a column of training lines and the types that it maps to `<unk>`.

    name: its entry in params.yaml, which messages name.
    """
    match config:
        case WordConfig():
            word_tokenizer, dropped = words.train_words(lines, config)
            return word_tokenizer, dropped.to_pylist()
        case CharConfig():
            char_tokenizer, dropped = characters.train_characters(lines, config)
            return char_tokenizer, dropped.to_pylist()
        case SubwordConfig():
            return subwords.train_subwords(lines, config, name), []


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
            "config": asdict(config),
            "size": len(vocabulary),
            "reserved": list(vocabulary.reserved),
            "unknown": vocabulary.unknown,
            "fingerprint": vocabulary.fingerprint,
        },
    )


def load(folder: Path) -> Tokenizer:
    """Read what `save` wrote. UserError where a file is missing, damaged or another's."""
    about = read_record(folder / "tokenizer.json", "format", "kind", "unknown", "fingerprint")
    if about["format"] != FORMAT or about["kind"] not in (*SCHEMES, "subword"):
        raise UserError(f"{folder} holds no tokenizer of this version", next_step="dvc repro")
    try:
        tokenizer = _load(folder, about)
    except (OSError, RuntimeError, ValueError) as error:
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


def _load(folder: Path, about: dict[str, str]) -> Tokenizer:
    if about["kind"] == "subword":
        model = (folder / "subword.model").read_bytes()
        vocabulary = _vocabulary(folder, about, subwords.scheme_of(model))
        return SubwordTokenizer(vocabulary, model)
    vocabulary = _vocabulary(folder, about, SCHEMES[about["kind"]])
    return WordTokenizer(vocabulary) if about["kind"] == "word" else CharTokenizer(vocabulary)


def _vocabulary(folder: Path, about: dict[str, str], scheme: str) -> Vocabulary:
    unknown = about["unknown"]
    if unknown not in ("learnt", "singletons", "unlearnt", "none"):
        raise UserError(f"{folder}/tokenizer.json says unknown: {unknown}", next_step="dvc repro")
    return load_table(folder / "vocabulary.arrow", scheme=scheme, unknown=unknown)  # type: ignore[arg-type]
