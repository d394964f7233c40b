"""Parameters are parsed strictly; a wrong one is named with the nearest right one."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from pipeline_steps import INTERRUPTED, settings
from textmill.base.errors import UserError
from textmill.neural.config import NetworkConfig
from textmill.ngram.config import NgramConfig
from textmill.repository import facts, layout
from textmill.repository.stages import read_yaml
from textmill.text.catalogue import Corpus
from textmill.tokenizers.store import TokenizerConfig
from textmill.tokenizers.words import WordConfig

TOKENIZER = Annotated[TokenizerConfig, Field(discriminator="kind")]
NETWORK = {"tokenizer": "t", "embedding": 8, "hidden": 8, "steps": 9, "evaluate_every": 3}

CORPUS = {"title": "x", "licence": "none", "cleaning": "plain", "path": "t.txt", "digest": "d"}


def test_an_interrupt_during_the_imports_is_one_line(root, tmp_path):
    slow = 'import time\nprint("importing", flush=True)\ntime.sleep(60)\n'
    (tmp_path / "torch.py").write_text(slow)
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline_steps.train", "lstm"],
        cwd=root, env={**os.environ, "PYTHONPATH": str(tmp_path)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, INTERRUPTED)
    assert "the same command goes on" in said


def refused(config, mapping):
    with pytest.raises(UserError) as caught:
        settings.parse(config, mapping, "params.yaml: here")
    text = str(caught.value)
    assert text.startswith("params.yaml: here: ")
    text, _, next_step = text.removeprefix("params.yaml: here: ").partition("\n  -> ")
    assert next_step == "correct it in params.yaml, then: textmill check"
    return text


@pytest.mark.parametrize(
    "field", [{"text_column": "body"}, {"id_column": "url"}, {"quoting": False}]
)
def test_what_belongs_to_rows_is_refused_where_documents_are_none(root, field):
    entry = dict(read_yaml(root / layout.PARAMS)["corpora"]["local"])
    (name,) = field
    with pytest.raises(UserError, match=f"{name}: belongs to `documents: row`, not to file"):
        settings.parse(Corpus, entry | field, "params.yaml: corpora.local")
    settings.parse(Corpus, entry | field | {"documents": "row"}, "params.yaml: corpora.local")


def test_a_right_entry_becomes_a_frozen_object():
    parsed = settings.parse(TOKENIZER, {"kind": "word", "minimum_frequency": 2}, "here")
    assert parsed == WordConfig("word", minimum_frequency=2)
    with pytest.raises(AttributeError):
        parsed.minimum_frequency = 3


@pytest.mark.parametrize(
    ("config", "mapping", "message"),
    [
        (
            TOKENIZER,
            {"kind": "wrd"},
            '"kind" is \'wrd\', not one of word, char, byte, subword; did you mean "word"?',
        ),
        (TOKENIZER, {}, '"kind" is missing'),
        (
            TOKENIZER,
            {"kind": "word", "minimum_freqency": 2},
            'unknown key "minimum_freqency"; did you mean "minimum_frequency"?',
        ),
        (
            TOKENIZER,
            {"kind": "subword", "pieces": "4000"},
            "\"pieces\": Input should be a valid integer (it is '4000')",
        ),
        (
            TOKENIZER,
            {"kind": "word", "minimum_frequency": 0},
            "minimum_frequency must be 1 or more",
        ),
        (
            NgramConfig,
            {"tokenizer": "t", "method": "kneserney", "order": 2},
            '"method" is \'kneserney\', not one of uniform, maximum_likelihood, additive, good_turing, absolute_discounting, witten_bell, kneser_ney, jelinek_mercer, stupid_backoff; did you mean "kneser_ney"?',
        ),
        (
            NgramConfig,
            {"tokenizer": "t", "method": "kneser_ney"},
            "order must be given and at least 1 for kneser_ney",
        ),
        (NetworkConfig, NETWORK | {"hiden": 8}, 'unknown key "hiden"; did you mean "hidden"?'),
        (NetworkConfig, {"tokenizer": "t"}, '"embedding" is missing'),
        (
            NetworkConfig,
            NETWORK | {"architecture": "lsmt"},
            '"architecture" is \'lsmt\', not one of lstm, gru, rnn, feed_forward, attention_lstm; did you mean "lstm"?',
        ),
        (
            NetworkConfig,
            NETWORK | {"window": 3},
            "window does not belong to architecture: lstm (it is an option of feed_forward, attention_lstm)",
        ),
        (
            NetworkConfig,
            NETWORK | {"weight_drp": 0.5},
            'unknown key "weight_drp"; did you mean "weight_drop"?',
        ),
        (
            NetworkConfig,
            {name: value for name, value in NETWORK.items() if name != "steps"},
            "steps or tokens must be given, one of them",
        ),
        (NetworkConfig, NETWORK | {"dropout": 1.0}, "dropout must lie in [0, 1), not 1.0"),
        (
            Corpus,
            CORPUS | {"splits": {"by": "share", "valid": 0.1, "test": 0.1, "unit": "line"}},
            '"splits.unit" is \'line\', not one of auto, lines, documents; did you mean "lines"?',
        ),
        (
            Corpus,
            {"title": "x", "cleening": "plain"},
            'unknown key "cleening"; did you mean "cleaning"?',
        ),
        (
            TOKENIZER,
            {"kind": "byte", "minimum_frequency": 2},
            '"minimum_frequency" does not belong to kind: byte but to kind: word or char (kind: byte takes reserved)',
        ),
        (
            Corpus,
            CORPUS | {"splits": {"by": "share", "first": 1961}},
            '"splits.first" does not belong to by: share but to by: year (by: share takes valid, test, unit)',
        ),
        (
            Corpus,
            CORPUS | {"splits": {"by": "share"}, "unit": "lines"},
            '"unit" does not belong there but under "splits"',
        ),
        (
            Corpus,
            CORPUS | {"splits": {"by": "share", "cleaning": "plain"}},
            '"splits.cleaning" does not belong there but to the entry itself',
        ),
        (
            Corpus,
            CORPUS | {"splits": {"by": "share", "vlid": 0.1}},
            'unknown key "splits.vlid"; did you mean "valid"?',
        ),
        (TOKENIZER, {"kind": None}, '"kind" is empty, not one of word, char, byte, subword'),
        (
            NetworkConfig,
            NETWORK | {"tokenizer": None},
            '"tokenizer": Input should be a valid string (it is empty)',
        ),
        (
            NetworkConfig,
            NETWORK | {"device": "gpu"},
            '"device" is \'gpu\', not one of auto, cpu, cuda; did you mean "cuda"?',
        ),
        (
            NetworkConfig,
            NETWORK | {"precision": "bf16"},
            '"precision" is \'bf16\', not one of float32, bfloat16; did you mean "bfloat16"?',
        ),
    ],
)
def test_a_wrong_entry_is_named(config, mapping, message):
    assert refused(config, mapping) == message


GRAPH = """\
stages:
  adapt:
    foreach: ${adapted}
    do:
      cmd: exec python -m pipeline_steps.adapt ${key}
      params: ["adapted.${key}"]
      deps: [code, text.txt]
      outs: [out.txt]
"""


@pytest.fixture
def step(tmp_path, monkeypatch):
    """A stage of a small repository, run by `settings.run` in this process."""
    (tmp_path / "dvc.yaml").write_text(GRAPH)
    (tmp_path / "params.yaml").write_text("corpus: x\nadapted: {m: {a: 1}, n: {a: 1}}\n")
    (tmp_path / "code").mkdir()
    (tmp_path / "code/one.py").write_text("1")
    (tmp_path / "text.txt").write_text("1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["adapt.py", "m"])
    settings.inputs.cache_clear()
    yield tmp_path
    settings.inputs.cache_clear()


def change(file, text):
    def act():
        settings.scratch().mkdir(parents=True)
        (settings.scratch() / "work").write_text("")
        path = Path(file)
        path.unlink() if text is None else path.write_text(text)

    return act


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("params.yaml", "adapted: {m: {a: 2}}\n", "its parameters in params.yaml"),
        ("code/one.py", "2", "code/one.py"),
        ("code/one.py", None, "code/one.py"),
        ("text.txt", "2", "text.txt"),
        ("dvc.yaml", GRAPH.replace("adapt ${", "adapt -v ${"), "its command in dvc.yaml"),
    ],
)
def test_inputs_that_change_while_a_step_runs_fail_it(step, file, text, named):
    """DVC would write the new ones into dvc.lock, beside what was made of the old ones."""
    with pytest.raises(SystemExit) as ended:
        settings.run(change(file, text))
    assert str(ended.value) == (
        f"textmill: {named} changed while adapt ran, so what it made is of the ones before and is "
        "not recorded\n  -> the same command runs it with the new ones; with the old "
        "ones back it goes on"
    )
    assert (settings.scratch() / "work").exists()
    assert not (step / layout.FACTS).exists()


def test_seconds_until_a_checkpoint_count_too(step):
    settings.run(lambda: settings.record(seconds_before=3600.0))
    assert 3600 <= facts.read(settings.fingerprint())["seconds"] < 3700
    settings.run(lambda: settings.record(seconds_before=0.0))
    assert facts.read(settings.fingerprint())["seconds"] < 100


def test_damaged_facts_do_not_fail_a_step(step):
    settings.run(lambda: None)
    (file,) = (step / layout.FACTS).iterdir()
    file.write_text('{"seconds": 1')
    settings.run(lambda: None)
    assert facts.read(settings.fingerprint())["stage"] == "adapt m"


def test_where_facts_cannot_be_kept_work_in_progress_stays(step):
    def work():
        settings.scratch().mkdir(parents=True)

    (step / layout.FACTS).parent.mkdir(exist_ok=True)
    (step / layout.FACTS).write_text("a file where the folder should be")
    with pytest.raises(SystemExit):
        settings.run(work)
    assert settings.scratch().exists()


def test_of_several_processes_the_first_alone_keeps_facts(step, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    settings.run(lambda: None)
    assert not (step / layout.FACTS).exists()


@pytest.mark.parametrize(
    ("file", "text"),
    [("params.yaml", "adapted: {m: {a: 1}, n: {a: 2}}\n"), ("code/.one.py.swp", ""), ("x", "")],
)
def test_what_a_step_did_not_read_may_change_while_it_runs(step, file, text):
    settings.run(change(file, text))
    assert not settings.scratch().exists()
    assert len(list((step / layout.FACTS).iterdir())) == 1
