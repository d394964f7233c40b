"""`textmill score`, `generate`, `export` and `estimate`, on a repository that no stage has run in."""

import gzip
import itertools
import json
import math
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from textmill.base.errors import UserError
from textmill.base.files import write_json, write_table
from textmill.cli.main import app
from textmill.ngram.arpa_read import read_arpa
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.storage import load, save
from textmill.scoring.codec import load_codec
from textmill.scoring.likelihood import token_nats
from textmill.scoring.mixture import mix
from textmill.scoring.spelling import train_spelling
from textmill.scoring.units import measure, scores_table
from textmill.shards.reader import read_split
from textmill.shards.work import write_splits
from textmill.tokenizers import store
from textmill.tokenizers.characters import CharConfig
from textmill.tokenizers.words import WordConfig

TEXT = [
    "the mill turns the wheel", "the wheel turns the old mill", "", "the old wheel",
    "a miller opened the mill", "the river turns the wheel of the old mill", "a b a b a b",
]  # fmt: skip
TEST = ["the old mill turns a wheel", "", "the zebra turns a b", "the river"]
NGRAMS = {
    "kn3": {"tokenizer": "word", "method": "kneser_ney", "order": 3},
    "bigram": {"tokenizer": "word", "method": "additive", "order": 2, "k": 0.1},
    "likelihood": {"tokenizer": "word", "method": "maximum_likelihood", "order": 2},
    "char4": {"tokenizer": "char", "method": "kneser_ney", "order": 4},
    "stupid": {"tokenizer": "word", "method": "stupid_backoff", "order": 3},
    "running": {"tokenizer": "word", "method": "kneser_ney", "order": 3, "sentence_boundaries": False},
}  # fmt: skip
PARAMS = {
    "tokenizers": {"word": {"kind": "word", "minimum_frequency": 2}, "char": {"kind": "char"}},
    "ngrams": NGRAMS,
    "networks": {"lstm": {"tokenizer": "word"}},
    "adapted": {"cache": {"tokenizer": "word", "model": "lstm"}},
    "mixtures": {"mix": {"first": "kn3", "second": "bigram"}},
}
GROUPS = ("ngrams", "networks", "adapted", "mixtures")
GRAPH = {
    "stages": {
        f"scored_{group}": {
            "foreach": f"${{{group}}}", "do": {"cmd": "x", "outs": ["scores/${key}"]},
        }
        for group in GROUPS
    }
}  # fmt: skip
WEIGHT = 0.7


def make_tokens(root, name, config):
    """A tokenizer, its shards and the models over them."""
    tokenizer, dropped = store.train(pa.array(TEXT, pa.large_string()), config)
    folder, shards = root / "data/vocabulary" / name, root / "data/shards" / name
    folder.mkdir(parents=True)
    shards.mkdir(parents=True)
    store.save(tokenizer, config, folder)
    train_spelling(dropped, tokenizer.vocabulary, name).save(folder / "spelling")
    sources = {split: root / f"{split}.documents" for split in ("train", "test")}
    entries = write_splits(sources, lambda _: load_codec(folder), shards, shards)
    fingerprint = tokenizer.vocabulary.fingerprint
    write_json(
        shards / "manifest.json", {"format": 1, "fingerprint": fingerprint, "splits": entries}
    )
    train = read_split(shards, "train")
    for model, options in NGRAMS.items():
        one = NgramConfig(**options)
        if one.tokenizer == name:
            bounds = train.offsets if one.sentence_boundaries else train.doc_offsets
            made = estimate(train.tokens, bounds, tokenizer.vocabulary, one)
            save(made, root / "models" / model)


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("asked")
    for name, content in (("params.yaml", PARAMS), ("dvc.yaml", GRAPH)):
        with (root / name).open("w") as file:
            YAML(typ="safe").dump(content, file)
    for split, lines in (("train", TEXT), ("test", TEST)):
        text = "".join(f"{line}\n" for line in lines)
        table = pa.table({"text": pa.array([text], pa.large_string()), "n_bytes": [len(text)]})
        write_table(root / f"{split}.documents", table)
    make_tokens(root, "word", WordConfig("word", minimum_frequency=2))
    make_tokens(root, "char", CharConfig("char"))
    about = {"kind": "a mixture", "weight": WEIGHT, "parts": ["kn3", "bigram"]}
    write_json(root / "scores/mix/summary.json", about)
    (root / "test.txt").write_text("\n".join(TEST))  # without a line end at its end
    return root


@pytest.fixture
def run(repository, monkeypatch, tmp_path):
    """run("score", ...) -> what is printed; text files of the test lie in `tmp_path`."""
    monkeypatch.chdir(repository)

    def invoke(*arguments, text=None):
        done = CliRunner().invoke(app, [str(one) for one in arguments], input=text)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return invoke


def scored(run, *arguments, **given):
    return json.loads(run("score", *arguments, "--json", **given))


def of_shards(repository, name):
    tokenizer = NGRAMS[name]["tokenizer"]
    vocabulary = store.load(repository / "data/vocabulary" / tokenizer).vocabulary
    lines = read_split(repository / "data/shards" / tokenizer, "test")
    return lines, token_nats(load(repository / "models" / name, vocabulary), lines)


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
    assert "does not give back 1 of the lines" in spaces["why_not"]
    assert spaces["perplexity"] > 1


@pytest.mark.parametrize("name", ["kn3.arpa", "kn3.arpa.gz"])
def test_an_arpa_file_scores_as_its_model(run, tmp_path, name):
    path = tmp_path / name
    written = run("export", "kn3", path)
    model = read_arpa(path)
    assert f"{sum(model.ngrams) + 1:,} n-grams, {path.stat().st_size:,} bytes" in written
    ours, theirs = scored(run, "kn3", "test.txt"), scored(run, path, "test.txt")
    assert theirs["perplexity"] == pytest.approx(ours["perplexity"], rel=1e-6)
    assert theirs["why_not"] == "no model spells its unknown words"
    known = "the old mill turns"
    bill = [scored(run, one, "-", text=known)["bits_per_byte"] for one in ("kn3", path)]
    assert bill[1] == pytest.approx(bill[0], rel=1e-6)
    run("export", path, tmp_path / "again.arpa")
    np.testing.assert_array_equal(read_arpa(tmp_path / "again.arpa").ngrams, model.ngrams)


def test_a_smaller_arpa_file(run, tmp_path):
    whole, small = tmp_path / "whole.arpa", tmp_path / "small.arpa"
    run("export", "kn3", whole)
    assert "26 n-grams" in run("export", whole, small, "--prune-to", 27)
    model = read_arpa(small)
    assert np.exp(model.distribution(model.start(1))).sum() == pytest.approx(1, abs=1e-6)
    assert scored(run, small, "test.txt")["perplexity"] > 1
    run("export", "kn3", small, "--prune-threshold", 1e9)
    assert read_arpa(small).order == 1


@pytest.mark.parametrize("ending", [".counts", ".counts.gz"])
def test_counts_out_and_a_model_of_them(run, tmp_path, ending):
    path, arpa = tmp_path / f"word{ending}", tmp_path / "kn2.arpa"
    run("export", "kn3", path)
    opener = gzip.open if ending.endswith("gz") else open
    with opener(path, "rt") as file:
        listed = dict(line.rstrip("\n").split("\t") for line in file)
    kept = {word for word, count in Counter(" ".join(TEXT).split()).items() if count > 1}
    by_hand = Counter()
    for line in TEXT:
        words = ["<s>", *(w if w in kept else "<unk>" for w in line.split()), "</s>"]
        for n in (1, 2, 3):
            by_hand.update(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
    assert {ngram: int(count) for ngram, count in listed.items()} == by_hand
    said = run("estimate", path, arpa)
    assert "modified Kneser-Ney, order 3" in said
    ours, theirs = scored(run, "kn3", "test.txt"), scored(run, arpa, "test.txt")
    assert theirs["perplexity"] == pytest.approx(ours["perplexity"], rel=1e-6)
    assert "Witten-Bell, order 2" in run(
        "estimate", path, arpa, "--order", 2, "--method", "witten_bell"
    )


def test_counts_of_a_model_without_sentence_boundaries(run, tmp_path):
    path = tmp_path / "running.counts"
    run("export", "running", path)
    listed = dict(line.split("\t") for line in path.read_text().splitlines())
    assert listed["<s>"] == "1"
    assert listed["</s> the"] == "3"


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
        (("generate", "kn3", "--temperature", 0), "--temperature must be above 0, not 0"),
        (("score", "cache", "test.txt"), r"(?s)cache learns from the text .* lstm"),
        (("score", "kn3", "no.txt"), r"(?s)there is no no.txt.*- for standard input"),
        (("score", "no.arpa", "test.txt"), "there is no no.arpa"),
        (("score", "test.txt", "test.txt"), r"no line of it is \\data\\, so it is no ARPA file"),
        (("export", "lstm", "a.arpa"), r"(?s)lstm is no n-gram model.*bigram, char4, kn3"),
        (("export", "mix", "a.arpa"), "mix is no n-gram model"),
        (("export", "kn3", "a.txt"), r"(?s)'a.txt' does not say .* .arpa, .arpa.gz, .counts or"),
        (("export", "stupid", "a.arpa"), "stupid backoff, order 3 gives scores"),
        (("export", "kn3", "a.counts", "--prune-to", 5), "counts are not pruned"),
        (("export", "kn3", "a.arpa", "--prune-to", 5, "--prune-threshold", 1), "two ways"),
        (("estimate", "test.txt", "a.arpa"), "line 1: 'the old mill .* is no n-gram, a tab"),
        (("estimate", "no.counts", "a.arpa"), "there is no no.counts"),
        (("estimate", "no.counts", "a.counts"), "let it end in .arpa or .arpa.gz"),
    ],
)
def test_wrong_use_is_one_message_and_writes_nothing(run, repository, arguments, named):
    before = sorted(path.name for path in repository.iterdir())
    with pytest.raises(UserError, match=named):
        run(*arguments)
    assert sorted(path.name for path in repository.iterdir()) == before


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


def test_counts_that_do_not_fit_what_is_asked(run, tmp_path):
    run("export", "kn3", tmp_path / "w.counts")
    for options, named in (
        (("--order", 7), r"(?s)up to order 3, and none of order 7.*--order 3"),
        (("--method", "kneserney"), r'did you mean "kneser_ney"'),
        (("--method", "jelinek_mercer"), "is not estimated from counts"),
    ):
        with pytest.raises(UserError, match=named):
            run("estimate", tmp_path / "w.counts", tmp_path / "a.arpa", *options)
    assert not (tmp_path / "a.arpa").exists()


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
