"""Subwords: sentencepiece's byte-pair encoding or unigram model, set up so that no byte is lost.

Sentencepiece's defaults lose text (they normalise, collapse spaces and skip long lines in
silence). Here: identity normalisation, no dummy prefix, white space kept, byte fallback, a line
limit that no line reaches, and two signs of its own escaped: U+2581, which it uses for the space,
and U+2585, whose lines it would leave out of training in silence. The model
is trained through an iterator and a writer with a pinned thread count, since paths and threads
would otherwise end up in its bytes.
"""

import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
import pyarrow as pa
import sentencepiece as spm

from textmill.base.errors import UserError
from textmill.tokenizers.strings import offsets_of
from textmill.tokenizers.tokenizer import Encoded
from textmill.tokenizers.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Vocabulary, with_reserved

SPACE_MARK = "\u2581"
ESCAPE = "\ue000"
UNKNOWN_MARK = "\u2585"
THREADS = 2
LONGEST_LINE = 1 << 30
FEWEST_PIECES, MOST_PIECES = 300, 1_000_000


@dataclass(frozen=True, slots=True)
class SubwordConfig:
    """`pieces` ids in all, 256 of them bytes, 3 and those of `reserved` reserved.

    model: `bpe` joins the most frequent pairs (Sennrich et al. 2016); `unigram` keeps the pieces
    that make the text most probable (Kudo 2018).
    """

    kind: Literal["subword"]
    pieces: int = 4000
    model: Literal["bpe", "unigram"] = "bpe"
    reserved: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        with_reserved(self.reserved)
        if not FEWEST_PIECES <= self.pieces <= MOST_PIECES:
            raise ValueError(
                f"pieces must lie between {FEWEST_PIECES} (256 bytes and 3 reserved ids "
                f"among them) and {MOST_PIECES:,}"
            )


class SubwordTokenizer:
    """A sentencepiece model under ids by falling frequency."""

    kind = "subword"
    unit = "subword"

    def __init__(self, vocabulary: Vocabulary, model: bytes) -> None:
        self.vocabulary = vocabulary
        self.model = model
        self._processor = spm.SentencePieceProcessor(model_proto=model)
        pieces = self._processor.piece_to_id(vocabulary.tokens.to_pylist())
        # A further reserved id has no piece; it decodes as `<s>` does, to nothing.
        further = [BEGIN] * (len(vocabulary.reserved) - len(RESERVED))
        self._piece_of = np.array([*range(len(RESERVED)), *further, *pieces], dtype=np.int64)
        self._id_of = np.arange(len(self._processor)).astype(vocabulary.dtype)
        self._id_of[pieces] = np.arange(len(vocabulary.reserved), len(vocabulary))

    def encode(self, lines: pa.Array) -> Encoded:
        """See `Tokenizer.encode`."""
        texts = lines.to_pylist()
        pieces, offsets = _encode(self._processor, texts)
        ids = self._id_of[pieces]
        decoded = self._processor.decode(_rows(pieces, offsets), num_threads=THREADS)
        lossy = sum(unescape(back) != text for back, text in zip(decoded, texts, strict=True))
        return Encoded(ids, offsets, pa.array([], pa.string()), lossy)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a piece sequence; reserved ids give nothing."""
        pieces = self._piece_of[np.asarray(ids, dtype=np.int64)]
        return unescape(self._processor.decode(pieces.tolist()))


def train_subwords(lines: pa.Array, config: SubwordConfig, name: str = "NAME") -> SubwordTokenizer:
    """Learn the merges from a training text.

    UserError where it cannot give `pieces`; name: the tokenizer's entry, which the message names.
    """
    texts = lines.to_pylist()
    model = _train_model(texts, config, name)
    processor = spm.SentencePieceProcessor(model_proto=model)
    pieces, _ = _encode(processor, texts)
    counts = np.bincount(pieces, minlength=len(processor))
    names = processor.id_to_piece(list(range(len(RESERVED), len(processor))))
    order = sorted(range(len(names)), key=lambda i: (-counts[len(RESERVED) + i], names[i]))
    reserved = with_reserved(config.reserved)
    none = np.zeros(len(reserved), np.int64)
    vocabulary = Vocabulary(
        pa.array([names[i] for i in order], pa.string()),
        np.concatenate([none, counts[len(RESERVED) :][order]]),
        scheme=scheme_of(model),
        unknown="none",
        reserved=reserved,
    )
    return SubwordTokenizer(vocabulary, model)


def scheme_of(model: bytes) -> str:
    """What names this splitting in the fingerprint: the merges themselves."""
    return f"subword: sentencepiece {hashlib.sha256(model).hexdigest()}"


def _train_model(texts: list[str], config: SubwordConfig, name: str) -> bytes:
    pieces = config.pieces - len(config.reserved)
    writer = io.BytesIO()
    try:
        spm.SentencePieceTrainer.train(
            sentence_iterator=(escape(text) for text in texts if text),
            model_writer=writer,
            model_type=config.model,
            vocab_size=pieces,
            character_coverage=1.0,
            byte_fallback=True,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            max_sentence_length=LONGEST_LINE,
            num_threads=THREADS,
            unk_id=UNKNOWN,
            bos_id=BEGIN,
            eos_id=END,
            pad_id=-1,
            minloglevel=3,
        )
    except (RuntimeError, OSError) as error:
        what, help_ = _explained(
            str(error), config.pieces, name, empty=not any(texts), further=len(config.reserved)
        )
        raise UserError(what, where=f"params.yaml: tokenizers.{name}", next_step=help_) from None
    return writer.getvalue()


def _explained(
    message: str, pieces: int, name: str, *, empty: bool, further: int
) -> tuple[str, str]:
    """What sentencepiece's message means and what helps; its own text, C++ in part, is not shown.

    Its two numbers are exact: the most pieces that the merges give, and the fewest that hold the
    bytes, the reserved ids and every character.
    """
    key = f"tokenizers.{name}.pieces"
    if empty:
        return "the training text is empty", "use a text with words"
    if most := re.search(r"value <= (\d+)", message):
        return _too_many(pieces, int(most[1]) + further, name)
    if fewest := re.search(r"required_chars\D*\d+ vs (\d+)", message):
        needed = int(fewest[1]) + further
        what = f"{pieces:,} pieces cannot hold every character of the training text"
        return f"{what}, {needed:,} or more can", f"set {key} to {needed} or more in params.yaml"
    what = f"sentencepiece could not learn {pieces:,} pieces from the training text"
    return what, f"try another number for {key} in params.yaml, or more text"


def _too_many(pieces: int, most: int, name: str) -> tuple[str, str]:
    what = f"the training text cannot give {pieces:,} pieces, at most {most:,}"
    if most >= FEWEST_PIECES:
        return what, f"set tokenizers.{name}.pieces to {most} or less in params.yaml"
    remove = f"remove tokenizers.{name} and the models over it from params.yaml"
    return f"{what}, and {FEWEST_PIECES} is the least", f"use more text, or {remove}"


def _encode(
    processor: spm.SentencePieceProcessor, texts: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    rows = processor.encode([escape(text) for text in texts], out_type=int, num_threads=THREADS)
    offsets = offsets_of(np.fromiter(map(len, rows), np.int64, count=len(rows)))
    flat = np.fromiter(chain.from_iterable(rows), np.int64, count=int(offsets[-1]))
    return flat, offsets


def _rows(flat: np.ndarray, offsets: np.ndarray) -> list[list[int]]:
    values = flat.tolist()
    return [values[a:b] for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]


_ESCAPES = {ESCAPE: ESCAPE + "0", SPACE_MARK: ESCAPE + "1", UNKNOWN_MARK: ESCAPE + "2"}


def escape(text: str) -> str:
    """Write sentencepiece's own signs (and the escape sign U+E000 itself) in ones that it keeps."""
    for sign, escaped in _ESCAPES.items():
        if sign in text:
            text = text.replace(sign, escaped)
    return text


def unescape(text: str) -> str:
    """Undo `escape`."""
    if ESCAPE in text:
        for sign, escaped in reversed(_ESCAPES.items()):
            text = text.replace(escaped, sign)
    return text
