import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.cleaning import PROFILES
from textmill.text import overlap as room
from textmill.text.catalogue import Corpus, FileSplits
from textmill.text.cleaned import clean_corpus
from textmill.text.ngrams import line_hashes, ngram_hashes
from textmill.text.overlap import overlap

TEXTS = st.lists(st.text(st.sampled_from("ab \n中"), max_size=30), min_size=1, max_size=4)


def grams(text: str, n: int, *, characters: bool = False) -> list[tuple[str, ...]]:
    """The n-grams by plain Python; of a shorter text that of all it has."""
    units = list("".join(text.split())) if characters else text.split()
    return [tuple(units[i : i + n]) for i in range(max(len(units) - n + 1, min(len(units), 1)))]


@given(TEXTS, st.integers(1, 4), st.booleans())
def test_equal_hashes_are_equal_ngrams(texts: list[str], n: int, characters: bool) -> None:
    by_hand = [gram for text in texts for gram in grams(text, n, characters=characters)]
    hashes = ngram_hashes(texts, n, "characters" if characters else "words").tolist()
    assert len(hashes) == len(by_hand)
    assert len(dict(zip(hashes, by_hand, strict=True))) == len(set(by_hand)) == len(set(hashes))
    # a hash depends on nothing but its n-gram
    for text, gram in zip(hashes, by_hand, strict=True):
        assert ngram_hashes(
            ["".join(gram) if characters else " ".join(gram)],
            n,
            "characters" if characters else "words",
        ).tolist() == [text]


@given(TEXTS, st.integers(1, 3))
def test_equal_hashes_are_equal_lines(texts: list[str], least: int) -> None:
    texts = ["".join(" ".join(x.split()) + "\n" for x in text.split("\n")) for text in texts]
    lines = [x for text in texts for x in text.split("\n") if len(x.split()) >= least]
    hashes = line_hashes(texts, least).tolist()
    assert len(hashes) == len(lines)
    assert len(set(hashes)) == len(set(zip(hashes, lines, strict=True))) == len(set(lines))


def text_of(words: int, seed: int, a_line: int = 12) -> str:
    found = [f"w{n}" for n in random.Random(seed).choices(range(10**6), k=words)]
    return "".join(" ".join(found[i : i + a_line]) + "\n" for i in range(0, words, a_line))


def test_the_shares_are_those_that_sets_of_tuples_give() -> None:
    train, test = text_of(5_000, 1), text_of(1_200, 2)
    test += "".join(train.split("\n")[40].replace(" ", "\n", 3) + "\n")
    test += "\n".join(train.split("\n")[100:130]) + "\n"
    seen, asked = set(grams(train, 13)), grams(test, 13)
    found = overlap([train], {"test": [test]})
    assert found["unit"] == "words"
    assert found["ngrams"]["test"] == pytest.approx(
        sum(gram in seen for gram in asked) / len(asked), abs=1e-6
    )
    lines = [x for x in test.split("\n") if len(x.split()) >= 10]
    known = set(train.split("\n"))
    assert found["lines"]["test"] == pytest.approx(
        sum(x in known for x in lines) / len(lines), abs=1e-6
    )
    assert 0.2 < found["ngrams"]["test"] < found["lines"]["test"] < 0.5


def test_long_texts_are_read_in_pieces_and_nothing_is_lost_at_the_cuts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train = [text_of(3_000, 1), text_of(3_000, 2), "short\n"]
    test = [text_of(300, 3), train[1][5_000:12_000], "short\n"]
    whole = overlap(train, {"test": test, "valid": train})
    assert whole["ngrams"]["valid"] == whole["lines"]["valid"] == 1.0
    for size, tail in ((900, 2), (300, 200), (1, 1)):
        monkeypatch.setattr(room, "_BATCH", size)
        monkeypatch.setattr(room, "_TAIL", tail)
        assert len(list(room._pieces(train))) > 20
        assert overlap(train, {"test": test, "valid": train}) == whole


def test_lines_in_another_order_share_no_ngram_but_are_seen() -> None:
    lines = text_of(2_000, 1, a_line=10).split("\n")[:-1]
    shuffled = random.Random(0).sample(lines, len(lines))
    found = overlap(["\n".join(lines) + "\n"], {"test": ["\n".join(shuffled) + "\n"]})
    assert found["lines"]["test"] == 1.0
    assert found["ngrams"]["test"] < 0.02


def test_a_short_document_counts_as_one_ngram() -> None:
    found = overlap(["I won .\n", "he ran away\n"], {"test": ["I won .\n", "he ran\n"]})
    assert found["ngrams"]["test"] == 0.5
    assert found["lines"]["test"] is None, "no line of ten words"


def test_a_text_without_spaces_is_compared_by_characters() -> None:
    train = "千山鳥飛絕萬徑人蹤滅孤舟蓑笠翁獨釣寒江雪\n"
    found = overlap([train], {"test": [train[:13] + "\n" + "白日依山盡黃河入海流欲窮千里目\n"]})
    assert found["unit"] == "characters"
    # 28 characters hold 16 runs of 13, of which the first is in train; no line is
    assert found["ngrams"]["test"] == pytest.approx(1 / 16, abs=1e-6)
    assert found["lines"]["test"] == 0.0


@pytest.mark.parametrize(("limit", "is_contaminated"), [(0.01, True), (0.6, False)])
def test_a_corpus_over_its_threshold_says_so(
    limit: float, is_contaminated: bool, corpus_of: Callable[..., Corpus], tmp_path: Path
) -> None:
    files: dict[str, Any] = {"a": text_of(900, 1), "b": text_of(300, 2), "c": text_of(300, 3)}
    files["c"] += files["a"][: len(files["c"])]
    splits = FileSplits(by="files", train=("a",), valid=("b",), test=("c",))
    corpus = corpus_of(splits=splits, max_overlap=limit)
    data = {name: text.encode() for name, text in files.items()}
    found = clean_corpus(data, corpus, "x", PROFILES, tmp_path)["overlap"]
    assert found["is_contaminated"] is is_contaminated
    assert found["max"] == limit
    assert 0.4 < found["ngrams"]["test"] < 0.6
    assert found["ngrams"]["valid"] == found["lines"]["valid"] == 0.0
