"""Round trips, ids, reserved tokens, and The Time Machine's published figures."""

import random
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textmill.base.errors import UserError
from textmill.tokenizers import store
from textmill.tokenizers.characters import CharConfig, train_characters
from textmill.tokenizers.chunks import escape, unescape
from textmill.tokenizers.splitting import split_words
from textmill.tokenizers.subwords import SubwordConfig, train_subwords
from textmill.tokenizers.tokenizer import encode_line, with_line_ends
from textmill.tokenizers.vocabulary import RESERVED, from_tokens
from textmill.tokenizers.words import WordConfig, train_words

SAMPLE = [
    "the cat sat on the mat",
    "the dog saw the cat and the cat saw the dog",
    "",
    "a cat and a dog sat <unk> on <s> a mat </s>",
    "zebra",
] * 12 + ["the rarest word of all is quokka"]
LINES = pa.array(SAMPLE, pa.large_string())
line_text = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\n"), max_size=40
)


@pytest.fixture(scope="module")
def word():
    return train_words(LINES, WordConfig("word", minimum_frequency=2))[0]


@pytest.fixture(scope="module")
def char():
    return train_characters(LINES, CharConfig("char"))[0]


@pytest.fixture(scope="module")
def subword():
    return train_subwords(LINES, SubwordConfig("subword", pieces=330))


def test_ids_fall_in_frequency_ties_by_text(word):
    vocabulary = word.vocabulary
    counts = vocabulary.counts[len(RESERVED) :]
    assert np.all(np.diff(counts) <= 0)
    tokens = vocabulary.tokens.to_pylist()
    assert tokens[0] == "the"
    for a, b in zip(range(len(tokens) - 1), range(1, len(tokens)), strict=True):
        assert counts[a] > counts[b] or tokens[a] < tokens[b]


def test_word_counts_are_those_of_the_text(word):
    words = [w for line in SAMPLE for w in line.split(" ") if w]
    once = {w for w in words if words.count(w) == 1}
    assert once == {"rarest", "word", "of", "all", "is", "quokka"}
    assert word.vocabulary.counts[0] == len(once)
    assert word.vocabulary.counts.sum() == len(words)
    assert word.vocabulary.unknown == "learnt"


def test_literal_reserved_names_are_ordinary_words(word):
    ids = encode_line(word, "<unk> <s> </s>")
    assert min(ids) >= len(RESERVED)
    assert word.decode(ids) == "<unk> <s> </s>"


def test_unknown_words_are_named_in_order(word):
    encoded = word.encode(pa.array(["the quokka sat", "emu the rarest"], pa.large_string()))
    assert encoded.unknown_texts.to_pylist() == ["quokka", "emu", "rarest"]
    assert encoded.ids.tolist().count(0) == 3
    assert encoded.offsets.tolist() == [0, 3, 6]


@given(st.lists(line_text, max_size=5))
def test_words_lose_only_extra_spaces_and_count_them(lines):
    column = pa.array(lines, pa.large_string())
    found = split_words(column)
    words, offsets = found.units.column(), found.offsets
    for i, line in enumerate(lines):
        expected = [part for part in line.split(" ") if part]
        assert words[offsets[i] : offsets[i + 1]].to_pylist() == expected
    tokenizer, _ = train_words(column, WordConfig("word"))
    lossy = sum(" ".join(p for p in line.split(" ") if p) != line for line in lines)
    assert tokenizer.encode(column).lossy_lines == lossy


@given(st.lists(line_text, max_size=5))
def test_words_of_training_come_back(lines):
    canonical = [" ".join(line.split(" ")).strip(" ") for line in lines]
    canonical = [re.sub(" +", " ", line) for line in canonical]
    tokenizer, dropped = train_words(pa.array(canonical, pa.large_string()), WordConfig("word"))
    assert dropped.to_pylist() == []
    for line in canonical:
        assert tokenizer.decode(encode_line(tokenizer, line)) == line


@given(line_text)
def test_characters_of_training_come_back(line):
    tokenizer, _ = train_characters(pa.array([line], pa.large_string()), CharConfig("char"))
    ids = encode_line(tokenizer, line)
    assert len(ids) == len(line)
    assert tokenizer.decode(ids) == line


@settings(max_examples=300, deadline=None)
@given(line_text)
def test_subwords_give_back_any_text(subword, line):
    encoded = subword.encode(pa.array([line], pa.large_string()))
    assert subword.decode(encoded.ids) == line
    assert encoded.lossy_lines == 0
    assert not set(encoded.ids.tolist()) & {0, 1, 2}


@pytest.mark.parametrize(
    "line",
    [
        "  two  spaces ",
        "\u2581",
        "a\u2581b",
        "\ue000",
        "\ue0001",
        "\ue0000\u2581",
        "<unk>",
        "<s></s>",
        "<0x41>",
        "\ufb01ne",
        "e\u0301",
        "\u00a0x",
        "\U0001f600",
        "\t",
        "x" * 5000,
        "\u0000",
    ],
)
def test_subwords_give_back_the_traps(subword, line):
    ids = encode_line(subword, line)
    assert subword.decode(ids) == line
    assert not set(ids) & {0, 1, 2}


@given(st.text(alphabet="01a\u2581\ue000"))
def test_escape_is_undone(text):
    assert unescape(escape(text)) == text
    assert not {"\u2581", "\u2585"} & set(escape(text))


def test_a_line_with_the_sign_for_the_unknown_is_learnt_from():
    """Sentencepiece itself leaves such lines out of training in silence."""
    lines = ["the miller \u2585 grinds the corn"] * 30 + ["a b c d e f g h i j k l m"] * 30
    tokenizer = train_subwords(pa.array(lines), SubwordConfig("subword", 300))
    pieces = tokenizer.vocabulary.tokens.to_pylist()
    assert set("rnot") <= set(pieces), "letters of the first line alone"
    assert tokenizer.decode(tokenizer.encode(pa.array(lines[:1])).ids.tolist()) == lines[0]


def test_subword_model_bytes_do_not_change():
    first, second = (train_subwords(LINES, SubwordConfig("subword", pieces=330)) for _ in range(2))
    assert first.model == second.model
    assert first.vocabulary.fingerprint == second.vocabulary.fingerprint


def test_long_lines_are_trained_on():
    long_line = " ".join(["flibbertigibbet", "mountebank", "quicksilver"] * 700)
    tokenizer = train_subwords(
        pa.array([long_line], pa.large_string()), SubwordConfig("subword", 300)
    )
    assert len(encode_line(tokenizer, long_line)) < len(long_line) / 2


def made_up(units: list[str], per_line: int, lines: int, between: str) -> list[str]:
    """Lines of units drawn with falling frequency, as letters and words are in real text."""
    rng = random.Random(3)
    weights = [1 / (i + 1) for i in range(len(units))]
    return [between.join(rng.choices(units, weights, k=per_line)) for _ in range(lines)]


SYLLABLES = [a + b for a in "bdfklmnprst" for b in "aeiou"]
SMALL_TEXTS = {
    "English, 35 kB": made_up([a + b for a in SYLLABLES for b in SYLLABLES], 10, 710, " "),
    "Chinese, 500 characters": made_up([chr(0x4E00 + i) for i in range(500)], 20, 60, ""),
    "three lines": ["the cat sat on the mat", "the dog sat", "a cat and a dog"],
}


def refused(texts: list[str], pieces: int) -> str:
    with pytest.raises(UserError) as caught:
        store.train(pa.array(texts, pa.large_string()), SubwordConfig("subword", pieces), "parts")
    message = str(caught.value)
    assert "INTERNAL" not in message
    assert ".cc" not in message
    assert "params.yaml: tokenizers.parts: " in message
    return message


def trains(texts: list[str], pieces: int) -> bool:
    config = SubwordConfig("subword", pieces)
    return len(train_subwords(pa.array(texts, pa.large_string()), config).vocabulary) == pieces


@pytest.mark.parametrize("name", SMALL_TEXTS)
def test_too_many_pieces_names_the_largest_number_that_works(name):
    texts = SMALL_TEXTS[name]
    message = refused(texts, 9000)
    largest = int(
        re.search(r"cannot give 9,000 pieces, at most ([\d,]+)", message)[1].replace(",", "")
    )
    assert f"-> set tokenizers.parts.pieces to {largest} or less in params.yaml" in message
    assert trains(texts, largest)
    assert f"at most {largest:,}" in refused(texts, largest + 1)


def test_too_few_pieces_for_every_character_names_the_smallest_number_that_works():
    texts = SMALL_TEXTS["Chinese, 500 characters"]
    # 256 bytes, 3 reserved ids and every character
    fewest = 259 + len(set("".join(texts)))
    message = refused(texts, 300)
    assert (
        f"300 pieces cannot hold every character of the training text, {fewest} or more" in message
    )
    assert message.endswith(f"-> set tokenizers.parts.pieces to {fewest} or more in params.yaml")
    assert trains(texts, fewest)
    assert refused(texts, fewest - 1)


def test_a_text_that_gives_fewer_pieces_than_the_least_is_told_to_do_without():
    message = refused(["ab"], 300)
    assert "cannot give 300 pieces, at most 262, and 300 is the least" in message
    assert "remove tokenizers.parts and the models over it from params.yaml" in message


def test_empty_training_text_is_refused():
    assert "the training text is empty" in refused([""], 300)


def test_maximum_size_counts_the_reserved_ids():
    tokenizer, dropped = train_words(LINES, WordConfig("word", maximum_size=6))
    assert len(tokenizer.vocabulary) == 6
    assert tokenizer.vocabulary.tokens.to_pylist() == ["the", "cat", "a"]
    assert "dog" in dropped.to_pylist()


def test_fingerprint_tells_tokenizations_apart(word, char, subword):
    other = train_words(LINES, WordConfig("word", minimum_frequency=3))[0]
    prints = {t.vocabulary.fingerprint for t in (word, char, subword, other)}
    assert len(prints) == 3  # no word is seen exactly twice: frequency 2 and 3 keep the same
    assert word.vocabulary.fingerprint == other.vocabulary.fingerprint


@pytest.mark.parametrize(
    "config",
    [WordConfig("word", minimum_frequency=2), CharConfig("char"), SubwordConfig("subword", 330)],
)
def test_saved_and_loaded_is_the_same(config, tmp_path):
    tokenizer, _ = store.train(LINES, config)
    store.save(tokenizer, config, tmp_path)
    loaded = store.load(tmp_path)
    assert loaded.vocabulary.fingerprint == tokenizer.vocabulary.fingerprint
    assert loaded.vocabulary.unknown == tokenizer.vocabulary.unknown
    assert loaded.encode(LINES).ids.tolist() == tokenizer.encode(LINES).ids.tolist()
    assert np.array_equal(loaded.vocabulary.counts, tokenizer.vocabulary.counts)


def test_a_swapped_vocabulary_is_refused(tmp_path):
    for name, frequency in (("a", 1), ("b", 2)):
        config = WordConfig("word", frequency)
        (tmp_path / name).mkdir()
        store.save(train_words(LINES, config)[0], config, tmp_path / name)
    (tmp_path / "a/vocabulary.arrow").write_bytes((tmp_path / "b/vocabulary.arrow").read_bytes())
    with pytest.raises(UserError, match="another vocabulary"):
        store.load(tmp_path / "a")


def test_with_line_ends_puts_one_after_every_line():
    ids, offsets = with_line_ends(np.array([5, 6, 7], np.uint16), np.array([0, 2, 2, 3]))
    assert ids.tolist() == [5, 6, 2, 2, 7, 2]
    assert offsets.tolist() == [0, 3, 4, 6]


def test_time_machine_figures(test_data):
    raw = (test_data / "timemachine.txt").read_text(encoding="utf-8").splitlines()
    lines = [re.sub("[^A-Za-z]+", " ", line).strip().lower() for line in raw]
    assert len(lines) == 3221
    words = split_words(pa.array(lines, pa.large_string())).units.column()
    vocabulary, _ = from_tokens(words, scheme="word", reserved=("<unk>",))
    assert len(words) == 32775
    assert len(vocabulary) == 4580
    top = dict(
        zip(vocabulary.tokens[:10].to_pylist(), vocabulary.counts[1:11].tolist(), strict=True)
    )
    assert top == {
        "the": 2261, "i": 1267, "and": 1245, "of": 1155, "a": 816,
        "to": 695, "was": 552, "in": 541, "that": 443, "my": 440,
    }  # fmt: skip
    characters, _ = from_tokens("".join(lines), scheme="char", reserved=("<unk>",))
    assert len(characters) == 28
    assert characters.counts.sum() == 170580


def test_an_empty_subword_model_is_refused(tmp_path, capfd):
    """sentencepiece would say so itself, once for every piece."""
    config = SubwordConfig("subword", 330)
    store.save(train_subwords(LINES, config), config, tmp_path)
    (tmp_path / "subword.model").write_bytes(b"")
    with pytest.raises(UserError, match="damaged"):
        store.load(tmp_path)
    assert capfd.readouterr().err == ""


def test_any_flipped_byte_of_a_vocabulary_is_refused_or_harmless(tmp_path):
    config = CharConfig("char")
    tokenizer, _ = store.train(pa.array(LINES, pa.large_string()), config)
    store.save(tokenizer, config, tmp_path)
    path = tmp_path / "vocabulary.arrow"
    whole = path.read_bytes()
    refused = 0
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x42]) + whole[at + 1 :])
        try:
            found = store.load(tmp_path).vocabulary
        except UserError:
            refused += 1
        else:
            assert found.tokens.to_pylist() == tokenizer.vocabulary.tokens.to_pylist()
    assert refused > len(whole) // 10


@pytest.mark.parametrize("name", ["subword.model", "vocabulary.arrow", "tokenizer.json"])
@pytest.mark.parametrize("damage", ["missing", "cut", "flipped"])
def test_a_damaged_tokenizer_is_refused(name, damage, tmp_path):
    config = SubwordConfig("subword", 330)
    store.save(train_subwords(LINES, config), config, tmp_path)
    path = tmp_path / name
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    else:
        middle = len(data) // 2
        path.write_bytes(
            data[:middle]
            + bytes(b ^ 0xFF for b in data[middle : middle + 40])
            + data[middle + 40 :]
        )
    with pytest.raises(UserError):
        store.load(tmp_path)
