"""A step is handed what its stage declares in dvc.yaml, and its fingerprint covers just that."""

import pytest

from textmill.base.errors import UserError
from textmill.repository import facts, layout
from textmill.repository.fingerprints import input_fingerprint
from textmill.repository.stages import declared_params, lookup, read_stage, read_stages

GRAPH = """\
stages:
  clean:
    cmd: exec python -m pipeline_steps.clean
    params: [corpus, "corpora.${corpus}"]
    deps: [raw.txt]
    outs: [clean.txt]
  ngram:
    foreach: ${ngrams}
    do:
      cmd: exec python -m pipeline_steps.ngram ${key}
      params: ["ngrams.${key}"]
      deps: ["shards/${item.tokenizer}"]
      outs: ["models/${key}"]
      plots:
        - history/${key}.csv: {x: step}
"""
PARAMS = """\
corpus: small
corpora:
  small: {cleaning: plain}
  large: {cleaning: plain}
ngrams:
  kn: {tokenizer: word, order: 3}
  add: {tokenizer: char, order: 1}
"""


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "dvc.yaml").write_text(GRAPH)
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "raw.txt").write_text("raw")
    for name in ("word", "char"):
        (tmp_path / "shards" / name).mkdir(parents=True)
        (tmp_path / "shards" / name / "train").write_text(name)
    return tmp_path


def test_placeholders_are_filled_for_every_entry(repository):
    stages = {stage.name: stage for stage in read_stages(repository)}
    assert list(stages) == ["clean", "ngram@kn", "ngram@add"]
    kn = stages["ngram@kn"]
    assert kn.command == "exec python -m pipeline_steps.ngram kn"
    assert kn.deps == ("shards/word",)
    assert kn.outs == ("models/kn", "history/kn.csv")
    assert stages["clean"].params == ("corpus", "corpora.small")


def test_only_declared_parameters_are_handed_out(repository):
    assert declared_params(read_stage("clean", root=repository), repository) == {
        "corpus": "small",
        "corpora": {"small": {"cleaning": "plain"}},
    }
    assert declared_params(read_stage("ngram", "kn", root=repository), repository) == {
        "ngrams": {"kn": {"tokenizer": "word", "order": 3}}
    }


def test_an_unknown_entry_is_refused_with_the_nearest(repository):
    with pytest.raises(UserError, match='no stage ngram@knn; did you mean "ngram@kn"'):
        read_stage("ngram", "knn", root=repository)
    with pytest.raises(UserError, match=r'no "orders" in ngrams\.kn; did you mean "order"'):
        lookup({"ngrams": {"kn": {"order": 3}}}, "ngrams.kn.orders")


def test_the_fingerprint_changes_with_what_the_stage_reads_and_nothing_else(repository):
    def fingerprint():
        return input_fingerprint(read_stage("ngram", "kn", root=repository), repository)

    first = fingerprint()
    params = repository / "params.yaml"
    params.write_text(PARAMS.replace("order: 1", "order: 2"))
    (repository / "shards/char/train").write_text("other")
    assert fingerprint() == first
    params.write_text(PARAMS.replace("order: 3", "order: 4"))
    changed = fingerprint()
    assert changed != first
    params.write_text(PARAMS)
    assert fingerprint() == first
    (repository / "shards/word/train").write_text("other")
    assert fingerprint() not in (first, changed)


def test_yaml_errors_name_the_place(repository):
    (repository / "params.yaml").write_text("corpus: [small\n")
    with pytest.raises(UserError, match=r"params\.yaml: it is not valid YAML: line 2, column"):
        list(read_stages(repository))


def test_facts_add_up(tmp_path):
    assert facts.read("abc", tmp_path) == {}
    facts.record("abc", {"seconds": 1.5}, tmp_path)
    facts.record("abc", {"device": "cpu"}, tmp_path)
    assert facts.read("abc", tmp_path) == {"seconds": 1.5, "device": "cpu"}
    (file,) = (tmp_path / layout.FACTS).iterdir()
    file.write_text('{"seconds": 1')
    facts.record("abc", {"seconds": 2.5}, tmp_path)
    assert facts.read("abc", tmp_path) == {"seconds": 2.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it must hold a mapping"),
        ("stages:\n", "it has no stages"),
        ("stage: {}\n", "it has no stages"),
        ("stages: [clean]\n", "it has no stages"),
        ("stages:\n  clean:\n", "stage clean has no cmd"),
        ("stages:\n  clean:\n    cmd:\n", "stage clean has no cmd"),
        ("stages:\n  clean: [x]\n", "stage clean has no cmd"),
        ("stages:\n  ngram:\n    foreach: ${ngrams}\n", "stage ngram has no cmd"),
        ("stages:\n  ngram:\n    foreach: ${ngrams}\n    do:\n", "stage ngram has no cmd"),
        ("stages:\n  clean:\n    cmd: x\n    deps: 5\n", "deps of stage clean is no list of names"),
        ("stages:\n  clean:\n    cmd: x\n    outs: [[a]]\n", "outs of stage clean is no list"),
        ("stages:\n  clean:\n    cmd: x\n    plots: [{}]\n", "plots of stage clean is no list"),
        ("stages:\n  clean: {cmd: x\n", "is not valid YAML"),
    ],
)
def test_a_graph_that_is_only_half_there_is_one_message(repository, content, message):
    (repository / "dvc.yaml").write_text(content)
    with pytest.raises(UserError) as caught:
        list(read_stages(repository))
    assert message in str(caught.value)
    assert "dvc.yaml" in str(caught.value).partition("\n  -> ")[2]
