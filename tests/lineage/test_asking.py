"""`textmill score` and `generate`: the numbers of the stages, and what each model says of itself."""

import bz2
import gzip
import itertools
import json
import lzma
import math
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from tests.lineage.asked import TEST, TEXT, WEIGHT, of_shards, scored
from textmill.base.errors import UserError
from textmill.scoring.comparison import ROUNDED
from textmill.scoring.mixture import mix
from textmill.scoring.units import measure, scores_table
from textmill.text.given import read_lines


@pytest.mark.parametrize("name", ["kn3", "bigram", "running", "char4"])
def test_the_totals_are_those_of_the_stages(run, repository, name):
    lines, nats = of_shards(repository, name)
    expected = measure(scores_table(lines, nats))
    found = scored(run, name, "test.txt")
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-12), key
    assert (found["lines"], found["words"]) == (4, 17)
    assert (found["tokens"], found["unknown"]) == ((58, 1) if name == "char4" else (17, 2))
    assert found["bits_per_byte"] > 0
    assert found["why_not"] is None


def test_perplexities_with_and_without_unknown_words_and_line_ends(run, repository):
    """Unknown tokens leave both the sum and the count, or neither."""
    lines, nats = of_shards(repository, "kn3")
    tokens = lines.tokens
    known = nats[tokens != 0].sum()
    found = scored(run, "kn3", "test.txt")
    assert found["perplexity"] == pytest.approx(math.exp(nats.sum() / 17))
    assert found["perplexity_without_unknown"] == pytest.approx(math.exp(known / 15))
    assert found["perplexity_without_line_ends"] == pytest.approx(math.exp(known / 11))
    table = run("score", "kn3", "test.txt")
    for number in (found["perplexity"], found["perplexity_without_unknown"]):
        assert f"{number:,.4g}" in table
    assert "2  11.8% of the tokens" in table
    assert re.search(r"words +13 ", table)


def test_every_token_with_its_log10_probability(run, repository):
    _, nats = of_shards(repository, "kn3")
    rows = [line.split("\t") for line in run("score", "kn3", "test.txt", "--tokens").splitlines()]
    assert rows[0] == ["line", "token", "log10_p", "unknown"]
    expected = [word for line in TEST for word in (*line.split(), "</s>")]
    assert [row[1] for row in rows[1:]] == expected
    assert [row[0] for row in rows[1:]] == [
        str(number) for number, line in enumerate(TEST, 1) for _ in (*line.split(), "</s>")
    ]
    assert [row[1] for row in rows[1:] if row[3] == "1"] == ["zebra", "river"]
    values = np.array([float(row[2]) for row in rows[1:]])
    np.testing.assert_allclose(values, -nats / math.log(10), atol=1e-7)
    assert np.all(values <= 0)
    as_json = json.loads(run("score", "kn3", "test.txt", "--tokens", "--json"))
    np.testing.assert_allclose([row["log10_p"] for row in as_json], -nats / math.log(10))


def test_characters_are_named_as_in_arpa_files_and_written_as_text(run):
    rows = json.loads(run("score", "char4", "-", "--tokens", "--json", text="a b\\\n"))
    assert [row["token"] for row in rows] == ["a", "\\x20", "b", "\\x5c", "</s>"]
    assert [row["unknown"] for row in rows] == [False, False, False, True, False]
    assert run("generate", "char4", "-p", "the mi", "--temperature", 0.1).startswith("the mill")


def test_a_mixture_is_scored_with_its_fitted_weight(run, repository):
    lines, first = of_shards(repository, "kn3")
    _, second = of_shards(repository, "bigram")
    expected = measure(scores_table(lines, mix(first, second, WEIGHT)))
    found = scored(run, "mix", "test.txt")
    assert found["nats"] == pytest.approx(expected["nats"], rel=1e-12)
    assert found["bits_per_byte"] == pytest.approx(expected["bits_per_byte"], rel=1e-12)


def test_a_mixture_with_a_rounded_part_has_a_perplexity_and_no_bits_per_byte(run, repository):
    """As its stage withholds them: what does not sum to one is the bill for no text."""
    _, first = of_shards(repository, "bigram")
    _, second = of_shards(repository, "rough")
    for name, nats in (("rough", second), ("rough_mix", mix(first, second, WEIGHT))):
        found = scored(run, name, "test.txt")
        assert found["bits_per_byte"] is None
        assert found["why_not"] == ROUNDED
        assert found["perplexity"] == pytest.approx(math.exp(nats.mean()), rel=1e-12)


def test_a_text_from_anywhere(run, tmp_path):
    whole = scored(run, "kn3", "test.txt")
    text = "\n".join(TEST) + "\n"
    assert scored(run, "kn3", "-", text=text) == whole
    (tmp_path / "windows.txt").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert scored(run, "kn3", tmp_path / "windows.txt") == whole
    (tmp_path / "test.txt.gz").write_bytes(gzip.compress(text.encode()))
    assert scored(run, "kn3", tmp_path / "test.txt.gz") == whole
    # A blank line is a sentence without words.
    assert scored(run, "kn3", "-", text="\n")["tokens"] == 1


def test_reserved_names_in_a_text_are_words_that_nobody_knows(run):
    rows = json.loads(run("score", "kn3", "-", "--tokens", "--json", text="<s> the </s> <unk>"))
    assert [row["token"] for row in rows] == ["<s>", "the", "</s>", "<unk>", "</s>"]
    assert [row["unknown"] for row in rows] == [True, False, True, True, False]


def test_what_has_no_bits_per_byte_says_why(run):
    likelihood = scored(run, "likelihood", "test.txt")
    assert likelihood["perplexity"] is None
    assert likelihood["impossible"] > 0
    assert likelihood["perplexity_without_unknown"] > 1
    assert "probability zero" in run("score", "likelihood", "test.txt")
    assert "-inf" in run("score", "likelihood", "test.txt", "--tokens")
    stupid = scored(run, "stupid", "test.txt")
    perplexities = [value for name, value in stupid.items() if "perplexity" in name]
    assert perplexities == [None] * 4
    assert stupid["why_not"] == "it gives scores, not probabilities"
    spaces = scored(run, "kn3", "-", text="the  mill\n")
    assert spaces["bits_per_byte"] is None
    assert "does not give back 1 of the lines, as char, byte" in spaces["why_not"]
    assert spaces["perplexity"] > 1


def test_it_writes_from_the_beginning_or_after_a_prompt(run):
    lines = [run("generate", "likelihood", "--seed", seed).rstrip("\n") for seed in range(8)]
    assert lines[0] == run("generate", "likelihood", "--seed", 0).rstrip("\n")
    assert len(set(lines)) > 1
    kept = {word for word, count in Counter(" ".join(TEXT).split()).items() if count > 1}
    seen = set()
    for line in TEXT:
        words = ["<s>", *(w if w in kept else "<unk>" for w in line.split()), "</s>"]
        seen |= set(itertools.pairwise(words))
    for line in lines:
        words = ["<s>", *line.split(), "</s>"]
        assert set(itertools.pairwise(words)) <= seen
    assert run("generate", "likelihood", "-p", "the river").startswith("the <unk> ")
    several = run("generate", "mix", "--prompt", "a b\nthe", "--lines", "--tokens", 40)
    assert several.startswith("a b\nthe ")
    assert len(several.splitlines()) > 3
    assert run("generate", "kn3", "--tokens", 1, "--temperature", 0.01) == "the\n"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("score", "kn", "test.txt"), r'there is no model "kn"; did you mean "kn3"'),
        (("generate", "stupid"), "stupid cannot be drawn from: it gives scores"),
        (("generate", "kn3", "the mill"), r"(?s)\"the mill\" stands .*kn3 --prompt 'the mill'"),
        (("generate", "kn3", "--temperature", -1), "--temperature must be 0 or more, not -1"),
        (("score", "cache", "test.txt"), r"(?s)cache learns from the text .* lstm"),
        (("score", "kn3", "no.txt"), r'(?s)there is no file "no.txt".*- for standard input'),
        (("score", "no.arpa", "test.txt"), "there is no no.arpa"),
        (("score", "test.txt", "test.txt"), r"no line of it is \\data\\, so it is no ARPA file"),
        (("export", "lstm", "a.arpa"), r"(?s)lstm is no n-gram model.*bigram, char4, kn3"),
        (("export", "mix", "a.arpa"), "mix is no n-gram model"),
        (("export", "kn3", "a.txt"), r"(?s)'a.txt' does not say .* .arpa, .arpa.gz, .counts or"),
        (("export", "stupid", "a.arpa"), "stupid backoff, order 3 gives scores"),
        (("export", "kn3", "a.counts", "--prune-to", 5), "counts are not pruned"),
        (("export", "kn3", "a.arpa", "--prune-to", 5, "--prune-threshold", 1), "two ways"),
        (
            ("estimate", "test.txt", "a.arpa"),
            '(?s)line 1: "the old mill .* is no n-gram, a tab.*textmill export MODEL',
        ),
        (("estimate", "no.counts", "a.arpa"), "there is no no.counts"),
        (("estimate", "no.counts", "a.counts"), "let it end in .arpa or .arpa.gz"),
    ],
)
def test_wrong_use_is_one_message_and_writes_nothing(run, repository, arguments, named):
    before = sorted(path.name for path in repository.iterdir())
    with pytest.raises(UserError, match=named):
        run(*arguments)
    assert sorted(path.name for path in repository.iterdir()) == before


def test_counts_without_line_ends_are_refused(run, repository, tmp_path):
    path = tmp_path / "no-ends.counts"
    path.write_text("the\t2\nmill\t1\nthe mill\t1\n")
    with pytest.raises(
        UserError, match=r"(?s)no line ends in it: </s> does not occur.*with <s> and"
    ):
        run("estimate", path, tmp_path / "a.arpa")
    assert not (tmp_path / "a.arpa").exists()


def test_export_and_estimate_count_the_same_n_grams(run, tmp_path):
    counts, made = tmp_path / "x.counts", tmp_path / "x.arpa"
    run("export", "kn3", counts)
    said = run("estimate", counts, made)
    exported = run("export", made, tmp_path / "y.arpa")
    listed = sum(int(line.split("=")[1]) for line in made.read_text().split("\n")[1:4])
    assert f"{listed:,} n-grams" in said
    assert f"{listed:,} n-grams" in exported


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_heeded(tmp_path, encoding):
    path = tmp_path / "x.txt"
    path.write_bytes("caf\u00e9\r\nau lait".encode(encoding))
    assert read_lines(str(path)) == ["caf\u00e9", "au lait"]


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zst"])
def test_a_packed_text_is_read_like_a_plain_one(tmp_path, ending):
    data, path = b"one two\nthree\n" * 3, tmp_path / f"x.txt.{ending}"
    packed = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "zst": lambda given: pa.Codec("zstd").compress(given, asbytes=True),
    }[ending](data)
    path.write_bytes(packed)
    assert read_lines(str(path)) == ["one two", "three"] * 3
    path.write_bytes(packed[:-6])
    with pytest.raises(UserError, match="cut off or damaged"):
        read_lines(str(path))


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"", "x.txt: the text is empty"),
        (b"the \xff mill\n", "not UTF-8 at byte 4"),
        (b"the\0mill\n", "a NUL at character 4"),
        (b"\n\\data\\\nngram 1=3\n", "a language model in ARPA's format, not a text"),
    ],
)
def test_what_is_no_text_is_not_scored(run, tmp_path, data, named):
    path = tmp_path / "x.txt"
    path.write_bytes(data)
    with pytest.raises(UserError, match=named):
        run("score", "kn3", path)
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"the mill " * 99)[:-9])
    with pytest.raises(UserError, match="cut off or damaged"):
        run("score", "kn3", path)


def test_a_mixture_of_other_models_than_declared_is_not_asked(run, repository):
    summary = repository / "scores/mix/summary.json"
    content = summary.read_text()
    summary.write_text(content.replace('"bigram"', '"likelihood"'))
    with pytest.raises(UserError, match="made of other models"):
        run("score", "mix", "test.txt")
    summary.write_text(content)


@pytest.mark.parametrize("command", ["score", "generate", "export", "estimate"])
def test_help_has_an_example(run, command):
    assert f"textmill {command} " in run(command, "--help")
