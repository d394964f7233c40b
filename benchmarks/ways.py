"""The ways from a cleaned text to ids on disk that `benchmarks.corpus` sets against each other.

Each takes a folder with the text in plain (`text`) and as a cleaned split (`train.arrow`) and
tells its seconds, how many tokens it made, and a digest of their ids where they are comparable.

    python -m benchmarks.ways WAY KIND FOLDER
"""

import hashlib
import json
import re
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.faults import documents_table
from textmill.base.files import read_table, write_json, write_table
from textmill.scoring.codec import load_codec
from textmill.scoring.spelling import train_spelling
from textmill.shards.lines import text_of
from textmill.shards.reader import FORMAT, lines_of_table
from textmill.shards.work import WORKERS, write_splits
from textmill.shards.writer import Codec
from textmill.tokenizers import store
from textmill.tokenizers.characters import CharConfig
from textmill.tokenizers.subwords import SubwordConfig
from textmill.tokenizers.words import WordConfig

CONFIGS = {
    "word": WordConfig("word", minimum_frequency=2),
    "char": CharConfig("char"),
    "subword": SubwordConfig("subword", pieces=1000),
}
Run = dict[str, Any]


def ours(kind: str, folder: Path, *, spelling: bool = False) -> Run:
    """`starting`: a small text first, which imports numba and loads what it compiled."""
    taken = []
    with tempfile.TemporaryDirectory() as scratch:
        small = Path(scratch)
        text = "".join(f"{number} " for number in range(2000)) + "\n"
        write_table(small / "train.arrow", documents_table([text]))
        if kind == "subword":
            shutil.copytree(folder / kind, small / kind)
        for place in (small, folder):
            shutil.rmtree(place / "shards", ignore_errors=True)
            if kind != "subword":  # that one is learnt before
                shutil.rmtree(place / kind, ignore_errors=True)
            clock = Clock()
            entry = text_to_shards(kind, place, spelling=spelling and place is folder)
            taken.append(clock.taken())
    tables = (read_table(folder / "shards" / shard["file"]) for shard in entry["shards"])
    ids = digest(lines_of_table(table).tokens for table in tables)
    return {"starting": taken[0]["seconds"], **taken[1], "tokens": entry["tokens"], "ids": ids}


class Clock:
    """Seconds since it was made, on the wall and of processors (children too that have ended)."""

    def __init__(self) -> None:
        self._wall, self._processor = time.perf_counter(), self._processor_seconds()

    def taken(self) -> dict[str, float]:
        processor = self._processor_seconds() - self._processor
        return {"seconds": time.perf_counter() - self._wall, "processor": processor}

    @staticmethod
    def _processor_seconds() -> float:
        of_all = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        return sum(sum(resource.getrusage(who)[:2]) for who in of_all)


def text_to_shards(kind: str, folder: Path, *, spelling: bool) -> dict[str, Any]:
    """All that the stages vocabulary and shard write; the manifest's entry."""
    vocabulary, shards = folder / kind, folder / "shards"
    if kind != "subword":
        vocabulary.mkdir()
        text = text_of(partial(read_table, folder / "train.arrow"))
        tokenizer, unknown = store.train(text, CONFIGS[kind])
        store.save(tokenizer, CONFIGS[kind], vocabulary)
        if spelling:
            bill = train_spelling(unknown, tokenizer.vocabulary, kind)
            bill.save(vocabulary / "spelling")
    load = load_codec if spelling else load_without_bill
    entries = write_splits({"train": folder / "train.arrow"}, load, vocabulary, shards)
    fingerprint = json.loads((vocabulary / "tokenizer.json").read_text())["fingerprint"]
    about = {"format": FORMAT, "fingerprint": fingerprint, "splits": entries}
    write_json(shards / "manifest.json", about)
    return entries["train"]


def with_spelling(kind: str, folder: Path) -> Run:
    return ours(kind, folder, spelling=True)


def load_without_bill(folder: Path) -> Codec:
    return Codec(store.load(folder), lambda texts: np.zeros(len(texts)))


def plain(kind: str, folder: Path) -> Run:
    """As the textbooks do it, D2L's `Vocab` for example; line ends are kept as `</s>`."""
    clock = Clock()
    text = (folder / "text").read_text()
    lines = [re.sub(" +", " ", line).strip() for line in text.split("\n")[:-1]]
    tokens = [line.split() if kind == "word" else list(line) for line in lines]
    counts = Counter(token for line in tokens for token in line)
    minimum = CONFIGS[kind].minimum_frequency
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    kept = ["<unk>", "<s>", "</s>", *(token for token, n in ordered if n >= minimum)]
    ids = {token: number for number, token in enumerate(kept)}
    coded = [[*(ids.get(token, 0) for token in line), 2] for line in tokens]
    dtype = np.uint16 if len(kept) <= 1 << 16 else np.uint32
    flat = np.array([token for line in coded for token in line], dtype)
    np.save(folder / "plain.npy", flat)
    (folder / "plain.json").write_text(json.dumps(kept))
    return {**clock.taken(), "tokens": len(flat), "ids": digest([flat])}


def huggingface(kind: str, folder: Path) -> Run:
    import datasets  # noqa: PLC0415  only where this way is run
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers  # noqa: PLC0415

    datasets.disable_progress_bars()
    clock = Clock()
    # It finds its special tokens in the text too, and WikiText has `<unk>` in it: other names.
    special = ["<|unknown|>", "<|begin|>", "<|end|>"]
    tokenizer = Tokenizer(models.WordLevel(unk_token=special[0]))
    split = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit() if kind == "word" else split
    lines = (folder / "text").read_text().split("\n")[:-1]
    trainer = trainers.WordLevelTrainer(
        vocab_size=10_000_000,
        min_frequency=CONFIGS[kind].minimum_frequency,
        special_tokens=special,
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer, length=len(lines))

    def encode(rows: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        return {"tokens": [[*found.ids, 2] for found in tokenizer.encode_batch(rows["text"])]}

    rows = datasets.Dataset.from_dict({"text": lines})
    mapped = rows.map(encode, batched=True, num_proc=WORKERS, remove_columns=["text"])
    mapped.save_to_disk(str(folder / "huggingface"))
    taken = clock.taken()
    return {**taken, "tokens": int(sum(map(len, mapped["tokens"]))), "ids": ""}


def sentencepiece(_: str, folder: Path) -> Run:
    import sentencepiece as spm  # noqa: PLC0415

    clock = Clock()
    processor = spm.SentencePieceProcessor(model_file=str(folder / "subword" / "subword.model"))
    lines = (folder / "text").read_text().split("\n")[:-1]
    rows = processor.encode(lines, out_type=int, num_threads=WORKERS)
    taken = clock.taken()
    return {**taken, "tokens": sum(map(len, rows)) + len(rows), "ids": ""}


WAYS = {
    "ours": ours,
    "with_spelling": with_spelling,
    "plain": plain,
    "huggingface": huggingface,
    "sentencepiece": sentencepiece,
}


def digest(columns: Iterable[np.ndarray]) -> str:
    total = hashlib.sha256()
    for column in columns:
        total.update(np.ascontiguousarray(column, dtype=np.uint32))
    return total.hexdigest()


if __name__ == "__main__":
    print(json.dumps(WAYS[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))))
