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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import pyarrow as pa
import sentencepiece as spm

from textmill.base.errors import UserError
from textmill.tokenizers.chunks import ChunkEncoder, escape, unescape
from textmill.tokenizers.counting import Text, blocks_of_text, by_threads
from textmill.tokenizers.tokenizer import Encoded
from textmill.tokenizers.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Vocabulary, with_reserved

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

    def __init__(
        self, vocabulary: Vocabulary, model: bytes, merges: Literal["bpe", "unigram"]
    ) -> None:
        self.vocabulary = vocabulary
        self.model = model
        self._encoder = ChunkEncoder(model, whole_lines=merges != "bpe")
        self._processor = self._encoder.processor
        pieces = self._processor.piece_to_id(vocabulary.tokens.to_pylist())
        # A further reserved id has no piece; it decodes as `<s>` does, to nothing.
        further = [BEGIN] * (len(vocabulary.reserved) - len(RESERVED))
        self._piece_of = np.array([*range(len(RESERVED)), *further, *pieces], dtype=np.int64)
        self._id_of = np.arange(len(self._processor)).astype(vocabulary.dtype)
        self._id_of[pieces] = np.arange(len(vocabulary.reserved), len(vocabulary))

    def encode(self, lines: pa.Array) -> Encoded:
        """See `Tokenizer.encode`."""
        pieces, offsets, lossy_lines = self._encoder.encode(lines)
        return Encoded(self._id_of[pieces], offsets, pa.array([], pa.string()), lossy_lines)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a piece sequence; reserved ids give nothing."""
        pieces = self._piece_of[np.asarray(ids, dtype=np.int64)]
        return unescape(self._processor.decode(pieces.tolist()))


def train_subwords(text: Text, config: SubwordConfig, name: str = "NAME") -> SubwordTokenizer:
    """Learn the merges from a training text.

    UserError where it cannot give `pieces`; name: the tokenizer's entry, which the message names.
    """
    model = _train_model(text, config, name)
    encoder = ChunkEncoder(model, whole_lines=config.model != "bpe")
    processor = encoder.processor
    counts = np.sum(by_threads(text, partial(_count, encoder)), axis=0)
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
    return SubwordTokenizer(vocabulary, model, config.model)


def _count(encoder: ChunkEncoder, pieces: Iterator[pa.Array]) -> np.ndarray:
    counts = np.zeros(len(encoder.processor), np.int64)
    for lines in pieces:
        counts += np.bincount(encoder.encode(lines)[0], minlength=len(counts))
    return counts


def scheme_of(model: bytes) -> str:
    """What names this splitting in the fingerprint: the merges themselves."""
    return f"subword: sentencepiece {hashlib.sha256(model).hexdigest()}"


def _train_model(text: Text, config: SubwordConfig, name: str) -> bytes:
    pieces = config.pieces - len(config.reserved)
    writer = io.BytesIO()
    try:
        spm.SentencePieceTrainer.train(
            sentence_iterator=(escape(line) for line in _lines(text) if line),
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
            str(error),
            config.pieces,
            name,
            empty=not any(_lines(text)),
            further=len(config.reserved),
        )
        raise UserError(what, where=f"params.yaml: tokenizers.{name}", next_step=help_) from None
    return writer.getvalue()


def _lines(text: Text) -> Iterator[str]:
    return (line for block in blocks_of_text(text) for line in block.to_pylist())


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
