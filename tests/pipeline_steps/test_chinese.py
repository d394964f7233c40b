"""A Chinese text by the stages, from the raw file to shards that decode to it again."""

from itertools import chain, pairwise

import pytest

from tests.inside import run_step
from tests.pipeline_steps.corpus_half import make, record
from tests.tokenizers.test_spaces import chinese
from textmill.base.files import read_table
from textmill.shards.reader import read_split
from textmill.tokenizers import store

TOKENIZERS = {
    "char": {"kind": "char"},
    "few": {"kind": "char", "maximum_size": 40},
    "subword": {"kind": "subword", "pieces": 420},
}
SENTENCES = chinese(600)
ENCODINGS = ("utf-8", "gb18030")


def documents_of(sentences):
    return [sentences[at : at + 10] for at in range(0, len(sentences), 10)]


@pytest.fixture(params=ENCODINGS)
def repository(tmp_path, request):
    """Paragraphs of ten sentences, full-width spaces before each."""
    text = "\n\n".join(
        "\n".join("\u3000\u3000" + line for line in lines) for lines in documents_of(SENTENCES)
    )
    make(
        tmp_path, text.encode(request.param), tokenizers=TOKENIZERS,
        documents="paragraph", encoding=request.param,
    )  # fmt: skip
    for step in ("download", "clean"):
        ended = run_step(tmp_path, step)
        assert ended.returncode == 0, ended.said
    return tmp_path


def test_what_went_in_comes_out_of_the_shards(repository):
    splits = ("train", "valid", "test")
    texts = {
        split: read_table(repository / f"data/clean/{split}.arrow")["text"].to_pylist()
        for split in splits
    }
    assert all(texts.values()), "60 documents are enough for each split"
    lines = {
        split: [line for text in texts[split] for line in text.splitlines()] for split in splits
    }
    assert sorted(chain.from_iterable(lines.values())) == sorted(SENTENCES)
    assert record(repository / "data/clean/summary.json")["overlap"]["unit"] == "characters"
    for key in TOKENIZERS:
        for step in ("vocabulary", "shard"):
            ended = run_step(repository, step, key)
            assert ended.returncode == 0, ended.said
        tokenizer = store.load(repository / "data/vocabulary" / key)
        for split in splits:
            shards = read_split(repository / "data/shards" / key, split)
            ends = shards.offsets.tolist()
            rows = [shards.tokens[a : b - 1].tolist() for a, b in pairwise(ends)]
            assert len(rows) == len(lines[split])
            if key != "few":
                assert [tokenizer.decode(row) for row in rows] == lines[split]
        manifest = record(repository / f"data/shards/{key}/manifest.json")["splits"]["test"]
        assert manifest["bytes"] == sum(len(text.encode()) for text in texts["test"])
        assert manifest["lossy_lines"] == 0
        if key == "few":
            assert len(tokenizer.vocabulary) == 40
            assert manifest["unknown"] == sum(
                sign not in tokenizer.vocabulary for line in lines["test"] for sign in line
            )
            assert manifest["unknown"] > 0
