import random
import re
import sys

import pytest

from tests.text.cleaning import clean
from textmill.base.errors import UserError
from textmill.text.documents import Document
from textmill.text.duplicates import DuplicateLines, NearDuplicates
from textmill.text.language import Language


def cleaned(cleaning: object, *texts: str):
    came = [Document(f"{i}.txt", f"{i}.txt", text) for i, text in enumerate(texts)]
    kept, books = clean(came, ["plain", cleaning])
    return [d.id for d in kept], books[-2]


def test_a_document_that_came_before_is_dropped_and_the_first_stays() -> None:
    texts = ["a  b\n", "c\n", "a b\n", "C\n", "a b\n"]
    for _ in range(2):  # each run begins with nothing seen
        kept, books = cleaned("duplicate_documents", *texts)
        assert kept == ["0.txt", "1.txt", "3.txt"]
        assert books["reasons"]["an earlier document again"]["examples"] == ["2.txt", "4.txt"]


def test_long_lines_that_came_before_are_dropped_within_and_across_documents() -> None:
    long = "one two three four five"
    rule = DuplicateLines(min_words=5).start()
    first = rule(f"{long}\nyes .\nyes .\n{long}\n\n")
    assert first.text == f"{long}\nyes .\nyes .\n\n"
    assert first.losses[0].examples == (f"line 4: {long}",)
    assert rule(f"{long} six\n{long}\n").text == f"{long} six\n"
    assert rule(f"{long}\n").text == ""
    assert rule("").text == ""


def words(count: int, seed: int) -> list[str]:
    return [f"w{n}" for n in random.Random(seed).choices(range(10**6), k=count)]


def jaccard(first: list[str], second: list[str]) -> float:
    a, b = ({tuple(x[i : i + 5]) for i in range(len(x) - 4)} for x in (first, second))
    return len(a & b) / len(a | b)


def test_near_duplicates_fall_and_others_stay() -> None:
    original = words(2_000, 1)
    near = [*original[:1_990], "other", "end"]
    far = [*original[:900], *words(1_100, 2)]
    assert jaccard(original, near) > 0.98
    assert jaccard(original, far) < 0.35
    texts = [" ".join(x) + "\n" for x in (original, far, near, words(2_000, 3))]
    kept, books = cleaned({"near_duplicates": {"threshold": 0.8}}, *texts)
    assert kept == ["0.txt", "1.txt", "3.txt"]
    (reason,) = books["reasons"]
    assert reason == "nearly an earlier document"
    assert re.fullmatch(r'2\.txt: like "w\d+ .*"', books["reasons"][reason]["examples"][0])


CLAUSES = [first + last for first in "春夏秋冬山水风云花月" for last in "来去长短明暗高低远近"]


def chinese(sentences: int, seed: int) -> list[str]:
    """Lines without a space."""
    rng = random.Random(seed)
    return ["".join(rng.sample(CLAUSES, 6)) + "。\n" for _ in range(sentences)]


def test_near_duplicates_of_a_script_without_spaces_are_found_by_characters() -> None:
    """One sign of every line is another one: no line is the same, nearly all characters are."""
    original, other = chinese(60, 1), chinese(60, 2)
    near = [line[:5] + "之" + line[6:] for line in original]
    assert not set(original) & set(near)
    texts = ["".join(lines) for lines in (original, other, near)]
    parameters = {"threshold": 0.4, "ngram": 3}
    kept, _ = cleaned({"near_duplicates": parameters}, *texts)
    assert kept == ["0.txt", "1.txt", "2.txt"]
    kept, books = cleaned({"near_duplicates": parameters | {"unit": "characters"}}, *texts)
    assert kept == ["0.txt", "1.txt"]
    assert books["rule"] == "near duplicates (threshold 0.4, ngram 3, unit characters)"


def test_the_signature_tells_the_jaccard_similarity() -> None:
    # 40 pairs of known similarity around the threshold: the index finds those well above it and
    # none well below, the same ones each time.
    found: list[list[bool]] = []
    for _ in range(2):
        hits = []
        for seed, part in enumerate(range(100, 2_000, 50)):
            rule = NearDuplicates(threshold=0.5).start()
            first = words(2_000, seed)
            second = [*first[:part], *words(2_000 - part, 1_000 + seed)]
            rule(" ".join(first))
            hit = bool(rule(" ".join(second)).drop)
            similarity = jaccard(first, second)
            assert hit or similarity < 0.75
            assert not hit or similarity > 0.25
            hits.append(hit)
        found.append(hits)
    assert found[0] == found[1]
    assert 5 < sum(found[0]) < 30


def test_short_and_empty_documents_have_signatures_of_all_their_words_or_none() -> None:
    rule = NearDuplicates().start()
    assert [rule(text).drop for text in ("", "a b\n", "", "a c\n", "a\nb\n")] == [
        *("", "", "", ""),
        "nearly an earlier document",
    ]


def test_without_its_library_the_language_rule_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    with pytest.raises(UserError, match=r"not installed\n  -> pip install py3langid$"):
        Language(keep=("en",)).start()


def test_documents_in_other_languages_are_dropped_by_their_language() -> None:
    pytest.importorskip("py3langid")
    english = "This is a plain English sentence about the weather and the sea.\n"
    french = "Ceci est une phrase en français qui parle du temps et de la mer.\n"
    german = "Das ist ein deutscher Satz über das Wetter und über das Meer.\n"
    kept, books = cleaned({"language": {"keep": ["en", "de"]}}, french, english, german)
    assert kept == ["1.txt", "2.txt"]
    assert list(books["reasons"]) == ["language fr"]
    with pytest.raises(UserError, match='knows no language "xx"'):
        Language(keep=("en", "xx")).start()
