"""dvc.lock as records: which stages are behind, and half a file is waited for."""

import threading

import pytest

from textmill.base.errors import UserError
from textmill.lineage import lock
from textmill.repository.stages import read_stages

GRAPH = """\
stages:
  clean:
    cmd: exec python -m clean
    params: [corpus]
    deps: [code.py]
    outs: [data/clean]
  count:
    foreach: ${models}
    do:
      cmd: exec python -m count ${key}
      params: ["models.${key}"]
      deps: [code.py, data/clean]
      outs: ["models/${key}"]
"""
PARAMS = "corpus: sotu\nmodels:\n  a: {order: 2}\n  b: {order: 3}\n"
LOCK = """\
schema: '2.0'
stages:
  clean:
    cmd: exec python -m clean
    deps: [{path: code.py, hash: md5, md5: c0, size: 3}]
    params: {params.yaml: {corpus: sotu}}
    outs: [{path: data/clean, hash: md5, md5: d1.dir, size: 30, nfiles: 3}]
  count@a:
    cmd: exec python -m count a
    deps:
    - {path: code.py, hash: md5, md5: c0, size: 3}
    - {path: data/clean, hash: md5, md5: d1.dir, size: 30, nfiles: 3}
    params: {params.yaml: {models.a: {order: 2}}}
    outs: [{path: models/a, hash: md5, md5: a1.dir, size: 5, nfiles: 1}]
  count@b:
    cmd: exec python -m count b
    deps:
    - {path: code.py, hash: md5, md5: c0, size: 3}
    - {path: data/clean, hash: md5, md5: d1.dir, size: 30, nfiles: 3}
    params: {params.yaml: {models.b: {order: 3}}}
    outs: [{path: models/b, hash: md5, md5: b1.dir, size: 6, nfiles: 1}]
"""


@pytest.fixture
def repository(tmp_path):
    for name, text in (("dvc.yaml", GRAPH), ("params.yaml", PARAMS), ("dvc.lock", LOCK)):
        (tmp_path / name).write_text(text)
    return tmp_path


def stale(root):
    return lock.stale(list(read_stages(root)), lock.read_lock(root), root)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_records_hold_what_the_file_says(repository):
    found = lock.read_lock(repository)["count@b"]
    assert found.command == "exec python -m count b"
    assert found.params == {"models.b": {"order": 3}}
    assert found.deps["data/clean"] == lock.LockedFile("data/clean", "d1.dir", 30)
    assert found.outs["models/b"].md5 == "b1.dir"


def test_nothing_is_behind_right_after_a_run(repository):
    assert stale(repository) == []


def test_a_changed_parameter_is_behind_in_its_stages_alone(repository):
    edit(repository / "params.yaml", "order: 3", "order: 4")
    assert stale(repository) == ["count@b"]


def test_an_input_written_anew_leaves_its_readers_behind(repository):
    edit(
        repository / "dvc.lock",
        "outs: [{path: data/clean, hash: md5, md5: d1",
        "outs: [{path: data/clean, hash: md5, md5: d2",
    )
    assert stale(repository) == ["count@a", "count@b"]


def test_a_new_model_and_a_new_dependency_are_behind(repository):
    edit(repository / "params.yaml", "  b:", "  c: {order: 1}\n  b:")
    edit(
        repository / "dvc.yaml",
        "params: [corpus]\n    deps: [code.py]",
        "params: [corpus]\n    deps: [code.py, more.py]",
    )
    assert stale(repository) == ["clean", "count@c"]


def test_half_a_file_is_waited_for(repository, monkeypatch):
    monkeypatch.setattr(lock, "PAUSE", 0.1)
    whole = (repository / "dvc.lock").read_text()
    (repository / "dvc.lock").write_text(whole[: len(whole) // 2])
    timer = threading.Timer(0.15, (repository / "dvc.lock").write_text, [whole])
    timer.start()
    assert set(lock.read_lock(repository)) == {"clean", "count@a", "count@b"}
    timer.join()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("outs: [{path: models/b, hash", "outs: [{path: models/b, ", "is not valid YAML: line"),
        ("size: 6", "size: abc", "size of a file of stage count@b is 'abc'"),
        ("size: 6", "size: null", "size of a file of stage count@b is None"),
        ("md5: b1.dir, ", "", "md5 of a file of stage count@b is None"),
        ("md5: b1.dir, ", "md5: 12, ", "md5 of a file of stage count@b is 12"),
        ("[{path: models/b, hash: md5, md5: b1.dir, size: 6, nfiles: 1}]", "[a]", "path of a file"),
        ("[{path: models/b, hash: md5, md5: b1.dir, size: 6, nfiles: 1}]", "x", "path of a file"),
        ("cmd: exec python -m count b", "frozen: true", "stage count@b has no cmd"),
        ("{params.yaml: {models.b: {order: 3}}}", "[models.b]", "params of stage count@b are"),
        ("{params.yaml: {models.b: {order: 3}}}", "{params.yaml: 3}", "params of stage count@b"),
        ("stages:", "stage:", "it has no stages"),
    ],
)
def test_a_damaged_file_is_named(repository, monkeypatch, old, new, message):
    monkeypatch.setattr(lock, "PAUSE", 0.0)
    edit(repository / "dvc.lock", old, new)
    with pytest.raises(UserError) as caught:
        lock.read_lock(repository)
    what, _, next_step = str(caught.value).partition("\n  -> ")
    assert what.startswith(f"{repository / 'dvc.lock'}: it is not a whole lock file (")
    assert message in what
    assert next_step == "git checkout dvc.lock, then: dvc repro"


def test_before_the_first_run_every_stage_is_behind(repository):
    (repository / "dvc.lock").unlink()
    assert stale(repository) == ["clean", "count@a", "count@b"]


def test_a_changed_command_is_behind(repository):
    edit(repository / "dvc.yaml", "python -m count ${key}", "python -m count ${key} --fast")
    assert stale(repository) == ["count@a", "count@b"]
