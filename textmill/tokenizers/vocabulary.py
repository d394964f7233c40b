"""The vocabulary: which id stands for which token, with the counts of the training split.

Reserved ids come first (`<unk>` 0, `<s>` 1, `</s>` 2 by default), then tokens by falling
frequency, ties by text. No text can produce a reserved id: a literal `<unk>` in a corpus such as
WikiText-2 is an ordinary token with an id of its own, so looking up text never sees the reserved
rows. The fingerprint names the tokenization: two perplexities a token may be compared only under
one fingerprint.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa

from textmill.base.errors import UserError, nearest
from textmill.base.files import read_table, write_table
from textmill.tokenizers.counting import count_types
from textmill.tokenizers.lookup import TokenTable, table_of
from textmill.tokenizers.nested import map_leaves
from textmill.tokenizers.strings import Units, as_column, flat_bytes, units_of

UNKNOWN, BEGIN, END = 0, 1, 2
RESERVED = ("<unk>", "<s>", "</s>")


def with_reserved(extra: Sequence[str]) -> tuple[str, ...]:
    """All reserved names: the three of every vocabulary, then `extra` ones (padding, a mask).

    ValueError for a name that is empty or not new.
    """
    names = (*RESERVED, *extra)
    if "" in names or len(set(names)) < len(names):
        raise ValueError(f"reserved names must be new and not empty ({', '.join(RESERVED)} exist)")
    return names


UnknownLearning = Literal["learnt", "singletons", "unlearnt", "none"]
"""How a model can have learnt the probability of `<unk>`.

learnt: training maps some types to it. singletons: it maps none, so a network sees tokens of
count one as `<unk>` half of the time. unlearnt: neither exists in the training text. none: no
text can produce it (byte fallback).
"""


class Vocabulary:
    """An ordered set of tokens; ids are positions.

    tokens: the ordinary tokens in id order, without the reserved ones.
    counts: int64 per id, reserved ids included (`<unk>` holds what training maps to it).
    scheme: names how text is split, for the fingerprint.
    """

    def __init__(
        self,
        tokens: pa.StringArray,
        counts: np.ndarray,
        *,
        scheme: str,
        unknown: UnknownLearning = "learnt",
        reserved: Sequence[str] = RESERVED,
    ) -> None:
        if len(counts) != len(reserved) + len(tokens):
            raise ValueError("counts must hold one number per id")
        self.tokens = tokens
        self.counts = np.asarray(counts, dtype=np.int64)
        self.scheme = scheme
        self.unknown: UnknownLearning = unknown
        self.reserved = tuple(reserved)
        self.fingerprint = self._fingerprint()

    def __len__(self) -> int:
        return len(self.reserved) + len(self.tokens)

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger]:
        """The smallest of uint16 and uint32 that holds every id."""
        return np.dtype(np.uint16 if len(self) <= 1 << 16 else np.uint32)

    def __getitem__(self, token: Any) -> Any:
        """`token_to_id`, in the short form of Dive into Deep Learning's `Vocab`."""
        return self.token_to_id(token)

    def __contains__(self, token: str) -> bool:
        return bool(self.ids_of(units_of(as_column([token])))[0] != UNKNOWN)

    @overload
    def id_to_token(self, id: int) -> str: ...
    @overload
    def id_to_token(self, id: Sequence[Any] | np.ndarray) -> Any: ...
    def id_to_token(self, id: Any) -> Any:
        """The token of an id, or tokens in the same nested lists and tuples as the ids.

        A reserved id gives its name. IndexError outside the vocabulary.
        """
        return map_leaves(id.tolist() if isinstance(id, np.ndarray) else id, self._tokens_of)

    @overload
    def token_to_id(self, token: str) -> int: ...
    @overload
    def token_to_id(self, token: Sequence[Any]) -> Any: ...
    def token_to_id(self, token: Any) -> Any:
        """The id of a token of the text, or ids in the same nested lists and tuples as the tokens.

        UNKNOWN where the vocabulary lacks one. The name of a reserved id is text like any other
        here; `reserved_id` gives the id.
        """
        return map_leaves(token, lambda tokens: self.ids_of(units_of(as_column(tokens))).tolist())

    def reserved_id(self, name: str) -> int:
        """The id of a reserved name. UserError where it is not reserved."""
        if name not in self.reserved:
            what = f'"{name}" is not reserved{nearest(name, self.reserved)}'
            raise UserError(what, next_step="add it to `reserved` of the tokenizer in params.yaml")
        return self.reserved.index(name)

    def _tokens_of(self, ids: list[Any]) -> list[str]:
        for one in ids:
            if not 0 <= one < len(self):
                raise IndexError(f"id {one} is outside a vocabulary of {len(self)}")
        n_reserved = len(self.reserved)
        ordinary = [one - n_reserved for one in ids if one >= n_reserved]
        texts = iter(self.tokens.take(pa.array(ordinary, pa.int64())).to_pylist())
        return [self.reserved[one] if one < n_reserved else next(texts) for one in ids]

    def ids_of(self, tokens: Units) -> np.ndarray:
        """Ids (`dtype`) of tokens of a text; UNKNOWN where the vocabulary lacks one."""
        ids = self._table.rows_of(tokens)
        ids += len(self.reserved)
        ids[ids < len(self.reserved)] = UNKNOWN
        return ids.astype(self.dtype)

    @cached_property
    def _table(self) -> TokenTable:
        return table_of(self.tokens)

    def _fingerprint(self) -> str:
        """sha256 over the scheme, the reserved names, each token's length (4 bytes) and bytes."""
        digest = hashlib.sha256(repr((self.scheme, self.reserved, len(self.tokens))).encode())
        data, offsets = flat_bytes(self.tokens)
        lengths = np.diff(offsets)
        with_lengths = np.empty(len(data) + 4 * len(lengths), np.uint8)
        places = (offsets[:-1] + 4 * np.arange(len(lengths)))[:, None] + np.arange(4)
        is_text = np.ones(len(with_lengths), dtype=bool)
        is_text[places] = False
        with_lengths[places] = lengths.astype("<u4").view(np.uint8).reshape(-1, 4)
        with_lengths[is_text] = data
        digest.update(with_lengths.tobytes())
        return digest.hexdigest()

    def table(self) -> pa.Table:
        """token: string, count: int64; a row an id, reserved ids first."""
        tokens = pa.concat_arrays([pa.array(self.reserved, pa.string()), self.tokens])
        return pa.table({"token": tokens, "count": pa.array(self.counts)})


def check_limits(minimum_frequency: int, maximum_size: int | None, names: Sequence[str]) -> None:
    """Raise ValueError for limits that keep no type. names: of the reserved ids."""
    if minimum_frequency < 1:
        raise ValueError("minimum_frequency must be 1 or more")
    if maximum_size is not None and maximum_size <= len(names):
        raise ValueError(
            f"maximum_size counts {', '.join(names[:-1])} and {names[-1]}, "
            f"so it must be {len(names) + 1} or more"
        )


def from_tokens(
    tokens: Iterable[str] | pa.Array,
    *,
    scheme: str,
    minimum_frequency: int = 1,
    maximum_size: int | None = None,
    reserved: Sequence[str] = RESERVED,
) -> tuple[Vocabulary, pa.StringArray]:
    """Count a running text's tokens, then as `from_counts`."""
    column = tokens if isinstance(tokens, pa.Array) else pa.array(list(tokens), pa.string())
    return from_counts(
        *count_types(column),
        scheme=scheme,
        minimum_frequency=minimum_frequency,
        maximum_size=maximum_size,
        reserved=reserved,
    )


def from_counts(
    types: pa.StringArray,
    counts: np.ndarray,
    *,
    scheme: str,
    minimum_frequency: int = 1,
    maximum_size: int | None = None,
    reserved: Sequence[str] = RESERVED,
) -> tuple[Vocabulary, pa.StringArray]:
    """Keep the frequent types.

    maximum_size counts every id, the reserved ones too. Returns the vocabulary and the types
    that training maps to `<unk>` (below the minimum frequency or past the maximum size).
    """
    table = pa.table({"token": types, "count": pa.array(counts, pa.int64())})
    table = table.sort_by([("count", "descending"), ("token", "ascending")])
    keep = int(np.sum(counts >= minimum_frequency))
    if maximum_size is not None:
        keep = min(keep, max(maximum_size - len(reserved), 0))
    kept, dropped = table.slice(0, keep), table.slice(keep)
    ids_counts = np.zeros(len(reserved) + keep, dtype=np.int64)
    ids_counts[len(reserved) :] = kept["count"].to_numpy()
    ids_counts[UNKNOWN] = int(np.sum(dropped["count"].to_numpy()))
    vocabulary = Vocabulary(
        kept["token"].combine_chunks(),
        ids_counts,
        scheme=scheme,
        unknown=_how_unknown_is_learnt(len(dropped), ids_counts[len(reserved) :]),
        reserved=reserved,
    )
    return vocabulary, dropped["token"].combine_chunks()


def _how_unknown_is_learnt(n_dropped: int, kept_counts: np.ndarray) -> UnknownLearning:
    if n_dropped:
        return "learnt"
    return "singletons" if np.any(kept_counts == 1) else "unlearnt"


def save_table(vocabulary: Vocabulary, path: Path) -> None:
    """Write token and count, a row an id."""
    write_table(path, vocabulary.table())


def load_table(
    path: Path,
    *,
    scheme: str,
    unknown: UnknownLearning,
    reserved: Sequence[str] = RESERVED,
) -> Vocabulary:
    """Read what `save_table` wrote."""
    table = read_table(path)
    if table.column_names != ["token", "count"] or len(table) < len(reserved):
        raise UserError(f"{path} is not a vocabulary table", next_step="dvc repro")
    table.validate(full=True)
    tokens = table["token"].combine_chunks()[len(reserved) :]
    counts = table["count"].to_numpy()
    return Vocabulary(tokens, counts, scheme=scheme, unknown=unknown, reserved=reserved)
