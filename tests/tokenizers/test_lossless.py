"""Bytes, pieces and subwords give back any text; one string is a column of one."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.scoring.spelling import SCALAR_VALUES, train_spelling
from textmill.tokenizers import store
from textmill.tokenizers.byte_values import ByteConfig
from textmill.tokenizers.characters import CharConfig
from textmill.tokenizers.pieces import split_pieces
from textmill.tokenizers.strings import as_column
from textmill.tokenizers.subwords import SubwordConfig
from textmill.tokenizers.tokenizer import encode_line
from textmill.tokenizers.words import WordConfig

SAMPLE = [
    "the cat, the dog and the (old) mat.", "a  cat's hat!", "", "zebra: 3.14",
    "whoever mentions quicksilver remembers mountebanks", "remember whatever quickens silver",
    "mountains mention whomever flibbertigibbets forever prefer", "preferred rivers differ whenever",
] * 30  # fmt: skip
LINES = as_column(SAMPLE)
CONFIGS = {
    "byte": ByteConfig("byte"),
    "byte, reserved": ByteConfig("byte", reserved=("<pad>", "<mask>")),
    "piece": WordConfig("word", minimum_frequency=2, punctuation="split"),
    "bpe": SubwordConfig("subword", 300),
    "bpe, reserved": SubwordConfig("subword", 300, reserved=("<pad>", "<mask>")),
    "unigram": SubwordConfig("subword", 300, model="unigram"),
}
TRAPS = [
    "  two  spaces ", " ", "\u2581", "a\u2581b", "\u2585", "\ue000", "\ue0001", "<unk>", "<s></s>",
    "<pad>", "<0x41>", "\ufb01ne", "e\u0301", "\u00a0x", "\t", "x" * 5000, "\0", "a\0b", "\ufeff",
    "\u202e\u05d0\u05d1\u05d2 \u0627\u0644\u0639", "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f44d\U0001f3fd", "\u0928\u092e\u0938\u094d\u0924\u0947", "\u2028\u0085", "\U0010ffff",
]  # fmt: skip
any_line = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\n"))


@pytest.fixture(scope="module", params=CONFIGS)
def tokenizer(request):
    return store.train(LINES, CONFIGS[request.param])[0]


def give_back(tokenizer, line):
    """decode(encode(line)), with the texts of unknown units in their places."""
    encoded = tokenizer.encode(as_column([line]))
    assert encoded.lossy_lines == 0
    n_reserved = len(tokenizer.vocabulary.reserved)
    unknown = iter(encoded.unknown_texts.to_pylist())
    if tokenizer.vocabulary.unknown == "none":
        assert min(encoded.ids, default=n_reserved) >= n_reserved
        return tokenizer.decode(encoded.ids.tolist())
    assert not set(encoded.ids.tolist()) & set(range(1, n_reserved))
    tokens = tokenizer.vocabulary.id_to_token(encoded.ids.tolist())
    return "".join(next(unknown) if token == "<unk>" else token for token in tokens)[1:]


@settings(max_examples=150, deadline=None)
@given(line=any_line)
def test_any_text_comes_back(tokenizer, line):
    assert give_back(tokenizer, line) == line


@pytest.mark.parametrize("line", TRAPS)
def test_the_traps_come_back(tokenizer, line):
    assert give_back(tokenizer, line) == line


@settings(max_examples=50, deadline=None)
@given(lines=st.lists(any_line, max_size=6))
def test_a_column_is_its_lines_one_after_the_other(tokenizer, lines):
    encoded = tokenizer.encode(as_column(lines))
    bounds = encoded.offsets.tolist()
    rows = [encoded.ids[a:b].tolist() for a, b in pairwise(bounds)]
    assert rows == [encode_line(tokenizer, line) for line in lines]


@pytest.mark.parametrize("name", [*CONFIGS, "word", "char"])
def test_half_a_surrogate_pair_is_refused(name):
    others = {"word": WordConfig("word"), "char": CharConfig("char")}
    one, _ = store.train(LINES, CONFIGS.get(name) or others[name])
    with pytest.raises(UserError, match="surrogate"):
        encode_line(one, "x\udc80")


@pytest.mark.parametrize("name", CONFIGS)
def test_saved_and_loaded_is_the_same(name, tmp_path):
    one, _ = store.train(LINES, CONFIGS[name])
    store.save(one, CONFIGS[name], tmp_path)
    loaded = store.load(tmp_path)
    assert type(loaded) is type(one)
    assert loaded.vocabulary.reserved == one.vocabulary.reserved
    assert loaded.vocabulary.fingerprint == one.vocabulary.fingerprint
    line = "the quick, brown \u2581fox"
    assert encode_line(loaded, line) == encode_line(one, line)
    assert np.array_equal(loaded.vocabulary.counts, one.vocabulary.counts)


@given(any_line)
def test_a_byte_is_an_id(line):
    one, _ = store.train(LINES, ByteConfig("byte"))
    names = one.vocabulary.id_to_token(encode_line(one, line))
    assert [int(name, 16) for name in (name[1:-1] for name in names)] == list(line.encode())


def test_bytes_have_all_256_ids_by_falling_frequency():
    one, unknown_types = store.train(as_column(["bbbaa", "a\u00e9a"]), ByteConfig("byte"))
    assert len(one.vocabulary) == 3 + 256
    assert one.vocabulary.tokens[:6].to_pylist() == [
        "<0x61>", "<0x62>", "<0xA9>", "<0xC3>", "<0x00>", "<0x01>",
    ]  # fmt: skip
    assert one.vocabulary.counts[:7].tolist() == [0, 0, 0, 4, 3, 1, 1]
    assert (unknown_types, one.vocabulary.unknown) == ([], "none")
    assert one.decode([1, 3, 6, 2]) == "a\ufffd"


def test_marks_stand_alone_and_a_space_belongs_to_what_follows():
    line = 'He said, "don\'t  go..." \u2014 \u00bfpor qu\u00e9? x^2 '
    pieces, offsets = split_pieces(as_column([line, "", " ", "a_b"]))
    assert pieces.column().to_pylist() == [
        " He", " said", ",", ' "', "don", "'", "t", " ", " go", ".", ".", ".", '"', " \u2014",
        " \u00bf", "por", " qu\u00e9", "?", " x", "^", "2", " ", " ", " ", " a", "_", "b",
    ]  # fmt: skip
    assert offsets.tolist() == [0, 22, 22, 24, 27]


def test_combining_marks_stay_with_their_letter():
    assert split_pieces(as_column(["cafe\u0301s"]))[0].column().to_pylist() == [" cafe\u0301s"]


def test_a_word_at_the_line_start_is_the_word_inside_it():
    one, _ = store.train(LINES, CONFIGS["piece"])
    assert encode_line(one, "cat the")[0] == encode_line(one, "the cat")[1]


def test_unknown_pieces_are_billed_as_strings_with_their_space():
    """q is over strings of any characters but the line feed: the space is one of them."""
    lines = as_column(["aa aa, b, aa b ,"])
    one, dropped = store.train(lines, WordConfig("word", 2, punctuation="split"))
    assert (one.unit, sorted(dropped)) == ("piece", [" ,"])
    assert one.vocabulary.tokens.to_pylist() == [" aa", " b", ","]
    spelling = train_spelling(dropped, one.vocabulary, one.unit)
    q0 = np.exp(-spelling.q0_nats(as_column([" ,"])))
    outside = 1 - np.exp(-spelling.q0_nats(one.vocabulary.tokens)).sum()
    assert spelling.nats(as_column([" ,"]))[0] == pytest.approx(-math.log(q0[0] / outside))
    # An unseen character is one of all scalar values but the line feed, space and comma.
    unseen, seen = spelling.q0_nats(as_column([" x", " ,"]))
    assert unseen - seen > math.log(SCALAR_VALUES - 1 - 2) - 5
    assert spelling._nats_to_choose_unseen == math.log(SCALAR_VALUES - 1 - 2)
