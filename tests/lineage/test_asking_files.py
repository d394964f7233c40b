"""`textmill export` and `estimate`: ARPA files and counts of a model, and models of them."""

import gzip
from collections import Counter

import numpy as np
import pytest

from tests.lineage.asked import TEXT, scored
from textmill.base.errors import UserError
from textmill.ngram.arpa_read import read_arpa


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


def test_counts_of_any_order(run, tmp_path):
    """No line holds more than ten words: with its ends, that is the longest n-gram."""
    path = tmp_path / "whole.counts"
    run("export", "whole", path)
    ngrams = [line.split("\t")[0].split(" ") for line in path.read_text().splitlines()]
    assert max(map(len, ngrams)) == 2 + max(len(line.split()) for line in TEXT)


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
