"""KenLM beside us: lmplz's files number by number, and its module on the files that we write."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from textmill.ngram.arpa_names import name_of
from textmill.ngram.arpa_read import read_arpa
from textmill.ngram.arpa_write import write_arpa
from textmill.ngram.config import NgramConfig
from textmill.ngram.estimate import estimate
from textmill.ngram.tables import unpack
from textmill.tokenizers.vocabulary import BEGIN, END, from_tokens

GOLDEN = Path(__file__).parent / "golden"
LINES = (GOLDEN / "eight_sentences.txt").read_text().splitlines()
AS_LMPLZ = {"method": "kneser_ney", "event_space": "observed", "kenlm_compat": True}
needs_lmplz = pytest.mark.skipif(not shutil.which("lmplz"), reason="lmplz is not on the PATH")


def by_zipf():
    """Two thousand words, the frequent ones far more often than the rare ones."""
    ranks = np.random.default_rng(6).zipf(1.5, 2_000)
    words = [f"w{rank}" for rank in ranks]
    return [" ".join(words[at : at + 8]) for at in range(0, len(words), 8)]


def by_characters():
    return [" ".join(line.replace(" ", "_")) for line in LINES]


TEXTS = {"words": by_zipf(), "characters": by_characters(), "few": LINES, "blank": ["", "a b", ""]}


def lmplz(lines, folder, *options):
    text = "".join(f"{line}\n" for line in lines)
    small = ["-S", "50M", "--minimum_block", "1K", "--vocab_estimate", "1000"]
    command = ["lmplz", "--discount_fallback", *small, "-T", f"{folder}/", *options]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    (folder / "theirs.arpa").write_bytes(done.stdout)
    return folder / "theirs.arpa"


@needs_lmplz
@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    ("options", "theirs"),
    [
        ({}, []),
        ({"interpolate_unigrams": False}, ["--interpolate_unigrams", "0"]),
        ({"cutoffs": (0, 0, 1)}, ["--prune", "0", "0", "1"]),
    ],
    ids=["default", "interpolate_unigrams 0", "prune"],
)
def test_every_number_as_lmplz(train, tmp_path, text, order, options, theirs):
    if "--prune" in theirs:
        theirs = theirs[: order + 1]
    model = train(TEXTS[text], order=order, **AS_LMPLZ, **options)
    read = read_arpa(lmplz(TEXTS[text], tmp_path, "-o", str(order), *theirs), model.vocabulary)
    tables = list(unpack(model.orders))
    assert not any(len(table.words) for table in tables[read.order :])  # pruned, all of them
    both = zip(tables[: read.order], unpack(read.orders), strict=True)
    for n, (ours, other) in enumerate(both, start=1):
        np.testing.assert_array_equal(ours.words, other.words)
        for name in ("probabilities", "backoffs"):
            mine, expected = getattr(ours, name), getattr(other, name)
            predicted = (np.arange(len(mine)) != BEGIN) | (n > 1) | (name == "backoffs")
            logs = np.log10(mine[predicted]), np.log10(expected[predicted])
            np.testing.assert_allclose(*logs, rtol=0, atol=2e-6)


@pytest.fixture
def kenlm_of():
    """kenlm_of(path) -> the file as KenLM's module reads it."""
    kenlm = pytest.importorskip("kenlm", reason="the kenlm package is not installed")
    config = kenlm.Config()
    config.show_progress = False
    return lambda path: kenlm.Model(str(path), config)


OPTIONS = {
    "kn3": {"method": "kneser_ney", "order": 3},
    "plain kn2": {"method": "kneser_ney", "order": 2, "modified": False},
    "katz": {"method": "good_turing", "order": 3},
    "cut": {"method": "witten_bell", "order": 3, "cutoffs": (0, 1)},
    "witten_bell": {"method": "witten_bell", "order": 4},
    "absolute": {"method": "absolute_discounting", "order": 3},
    "jelinek_mercer": {"method": "jelinek_mercer", "order": 3},
    "pruned": {"method": "absolute_discounting", "order": 3, "prune_threshold": 1e-3},
    "pruned to": {"method": "kneser_ney", "order": 4, "prune_to": 100},
    "additive": {"method": "additive", "order": 2, "k": 0.5},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_kenlm_reads_our_file_and_scores_as_we_do(train, encode, kenlm_of, tmp_path, name):
    model = train(LINES, **OPTIONS[name])
    write_arpa(model, tmp_path / "model.arpa")
    oracle = kenlm_of(tmp_path / "model.arpa")
    words = [model.vocabulary.id_to_token(i) for i in range(3, len(model.vocabulary))]
    random = np.random.default_rng(3)
    lines = [" ".join(random.choice([*words, "never"], n)) for n in random.integers(0, 9, 40)]
    tokens, _, _ = encode([*LINES, *lines], model.vocabulary)
    ours = -model.score(tokens[None, :], model.start(1))[0][0] / np.log(10)
    theirs = [score[0] for line in [*LINES, *lines] for score in oracle.full_scores(line)]
    np.testing.assert_allclose(ours, theirs, atol=2e-6)


def test_kenlm_is_given_a_text_that_is_escaped_as_its_file_is(kenlm_of, tmp_path):
    odd = ["\t", " a", "</s>", "<UNK>", "<s>", "<unk>", "\\", "\\x20", "a"]
    vocabulary = from_tokens(odd, scheme="test")[0]
    lines = [[3, 4, 5, 6, 7, 8, 9, 10, 11], [6, 6, 8, 8, 5], [9, 3, 9, 3, 4], [11]]
    tokens = np.array([one for line in lines for one in [*line, END]])
    offsets = np.append(0, np.flatnonzero(tokens == END) + 1)
    model = estimate(tokens, offsets, vocabulary, NgramConfig("test", "kneser_ney", 3))
    write_arpa(model, tmp_path / "odd.arpa")
    oracle = kenlm_of(tmp_path / "odd.arpa")
    texts = [" ".join(name_of(one, vocabulary) for one in line) for line in lines]
    scored = [score for text in texts for score in oracle.full_scores(text)]
    assert not any(unknown for _, _, unknown in scored)
    ours = -model.score(tokens[None, :], model.start(1))[0][0] / np.log(10)
    np.testing.assert_allclose(ours, [log10_p for log10_p, *_ in scored], atol=2e-6)


def test_scores_and_totals_as_the_kenlm_package(train, encode, kenlm_of):
    oracle = kenlm_of(GOLDEN / "eight_sentences.arpa")
    model = train(LINES, order=3, **AS_LMPLZ)
    known = [model.vocabulary.id_to_token(i) for i in range(3, len(model.vocabulary))]
    random = np.random.default_rng(5)
    lines = [" ".join(random.choice([*known, "never"], random.integers(0, 9))) for _ in range(60)]
    lines += LINES
    tokens, offsets, _ = encode(lines, model.vocabulary)
    nats, _ = model.score(tokens[None, :], model.start(1))
    ours = np.add.reduceat(-nats[0] / np.log(10), offsets[:-1])
    np.testing.assert_allclose(ours, [oracle.score(line) for line in lines], rtol=1e-6)
