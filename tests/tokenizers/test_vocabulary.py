"""Look-up of one token and of nested lists, as people know from Dive into Deep Learning."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from textmill.base.errors import UserError
from textmill.tokenizers import store
from textmill.tokenizers.byte_values import ByteConfig
from textmill.tokenizers.characters import CharConfig
from textmill.tokenizers.strings import as_column
from textmill.tokenizers.subwords import SubwordConfig
from textmill.tokenizers.vocabulary import from_tokens
from textmill.tokenizers.words import WordConfig

TEXT = ["the", "cat", "and", "the", "dog", "and", "the", "hippopotamus"]


@pytest.fixture(scope="module")
def vocabulary():
    return from_tokens(TEXT, scheme="word", reserved=("<unk>", "<pad>"))[0]


@pytest.mark.parametrize(
    ("tokens", "ids"),
    [
        ("the", 2),
        ("emu", 0),
        ("hippopotamus", 6),
        ("hippopotamuses", 0),
        ([], []),
        (["the", "emu", "cat"], [2, 0, 4]),
        (("the", "and"), (2, 3)),
        ([["the"], [], ("cat", ["dog"])], [[2], [], (4, [5])]),
    ],
)
def test_ids_keep_the_shape_and_types_of_the_tokens(vocabulary, tokens, ids):
    assert vocabulary.token_to_id(tokens) == ids
    assert vocabulary[tokens] == ids
    assert type(vocabulary[tokens]) is type(ids)


@pytest.mark.parametrize(
    ("ids", "tokens"),
    [
        (2, "the"),
        (np.int64(0), "<unk>"),
        ([1, 6], ["<pad>", "hippopotamus"]),
        (((2, 3), [4]), (("the", "and"), ["cat"])),
        (np.array([[2, 3], [4, 0]]), [["the", "and"], ["cat", "<unk>"]]),
    ],
)
def test_tokens_keep_the_shape_and_types_of_the_ids(vocabulary, ids, tokens):
    assert vocabulary.id_to_token(ids) == tokens
    assert type(vocabulary.id_to_token(ids)) is type(tokens)


@pytest.mark.parametrize("id", [-1, 7, [2, 7]])
def test_an_id_outside_is_an_index_error(vocabulary, id):
    with pytest.raises(IndexError, match="outside a vocabulary of 7"):
        vocabulary.id_to_token(id)


def test_a_reserved_name_is_text_unless_it_is_asked_for_as_reserved(vocabulary):
    assert vocabulary["<pad>"] == 0
    assert "<pad>" not in vocabulary
    assert "the" in vocabulary
    assert vocabulary.reserved_id("<pad>") == 1
    with pytest.raises(UserError, match='"<pda>" is not reserved; did you mean "<pad>"'):
        vocabulary.reserved_id("<pda>")


ENGLISH = [
    "whoever mentions quicksilver remembers mountebanks", "remember whatever quickens silver",
    "mountains mention whomever flibbertigibbets forever prefer", "preferred rivers differ whenever",
] * 5  # fmt: skip
CONFIGS = [
    WordConfig("word", reserved=("<pad>", "<mask>")),
    WordConfig("word", punctuation="split", reserved=("<pad>", "<mask>")),
    CharConfig("char", reserved=("<pad>", "<mask>")),
    ByteConfig("byte", reserved=("<pad>", "<mask>")),
    SubwordConfig("subword", 300, reserved=("<pad>", "<mask>")),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
def test_further_reserved_ids_follow_the_first_three(config):
    lines = as_column(["the <pad> and <mask> <pad>", *ENGLISH])
    tokenizer, _ = store.train(lines, config)
    plain, _ = store.train(lines, replace(config, reserved=()))
    assert tokenizer.vocabulary.id_to_token([0, 1, 2, 3, 4]) == [
        "<unk>", "<s>", "</s>", "<pad>", "<mask>",
    ]  # fmt: skip
    assert [tokenizer.vocabulary.reserved_id(name) for name in ("<pad>", "<mask>")] == [3, 4]
    assert min(tokenizer.encode(lines).ids) >= 5
    if config.kind == "subword":
        assert len(tokenizer.vocabulary) == len(plain.vocabulary) == 300
    assert tokenizer.vocabulary.fingerprint != plain.vocabulary.fingerprint


@pytest.mark.parametrize("reserved", [("<unk>",), ("<pad>", "<pad>"), ("",)])
@pytest.mark.parametrize("config", [WordConfig, CharConfig, ByteConfig, SubwordConfig])
def test_reserved_names_must_be_new(config, reserved):
    with pytest.raises(ValueError, match="must be new and not empty"):
        config("x", reserved=reserved)


def test_maximum_size_counts_further_reserved_names():
    with pytest.raises(ValueError, match="counts <unk>, <s>, </s> and <pad>, so it must be 5"):
        WordConfig("word", maximum_size=4, reserved=("<pad>",))
    config = WordConfig("word", maximum_size=6, reserved=("<pad>",))
    tokenizer, _ = store.train(as_column([" ".join(TEXT)]), config)
    assert tokenizer.vocabulary.tokens.to_pylist() == ["the", "and"]


def test_a_vocabulary_of_characters_has_a_maximum_size_too():
    text = ["aaaa bbb cc d"]  # a 4, b 3, space 3, c 2, d 1; ties by text
    config = CharConfig("char", maximum_size=3 + 3)
    tokenizer, dropped = store.train(as_column(text), config)
    assert tokenizer.vocabulary.tokens.to_pylist() == ["a", " ", "b"]
    assert sorted(dropped) == ["c", "d"]
    assert tokenizer.vocabulary.unknown == "learnt"
    assert tokenizer.encode(as_column(["abcd"])).ids.tolist() == [3, 5, 0, 0]
    rarer, _ = store.train(as_column(text), replace(config, minimum_frequency=4))
    assert rarer.vocabulary.tokens.to_pylist() == ["a"]
    with pytest.raises(ValueError, match="counts <unk>, <s> and </s>, so it must be 4 or more"):
        CharConfig("char", maximum_size=3)


def test_a_capped_vocabulary_of_characters_comes_back_and_an_uncapped_is_written_as_before(
    tmp_path,
):
    for config, written in (
        (
            CharConfig("char", maximum_size=5),
            {"kind": "char", "minimum_frequency": 1, "maximum_size": 5},
        ),
        (CharConfig("char"), {"kind": "char", "minimum_frequency": 1}),
    ):
        tokenizer, _ = store.train(as_column(["aab c"]), config)
        store.save(tokenizer, config, tmp_path)
        assert json.loads((tmp_path / "tokenizer.json").read_text())["config"] == written
        assert store.load(tmp_path).vocabulary.fingerprint == tokenizer.vocabulary.fingerprint


def unigram(texts, pieces, **options):
    config = SubwordConfig("subword", pieces, model="unigram", **options)
    return store.train(as_column(texts), config, "parts")[0]


@pytest.mark.parametrize("reserved", [(), ("<pad>", "<mask>")])
def test_unigram_names_the_largest_number_of_pieces_that_works(reserved):
    with pytest.raises(UserError) as caught:
        unigram(ENGLISH, 9000, reserved=reserved)
    most = int(re.search(r"cannot give 9,000 pieces, at most (\d+)", str(caught.value))[1])
    assert len(unigram(ENGLISH, most, reserved=reserved).vocabulary) == most
    with pytest.raises(UserError, match=f"at most {most}"):
        unigram(ENGLISH, most + 1, reserved=reserved)


def test_unigram_bytes_do_not_change_and_are_not_those_of_pairs():
    first, second = unigram(ENGLISH, 300), unigram(ENGLISH, 300)
    assert first.model == second.model
    pairs, _ = store.train(as_column(ENGLISH), SubwordConfig("subword", 300))
    assert first.vocabulary.fingerprint != pairs.vocabulary.fingerprint
