"""The graph is DVC's own, and selections of it are closed under what they need."""

import subprocess

import pytest

from flows.graph import Graph, read_graph
from textmill.base.errors import UserError
from textmill.repository.stages import read_stages

# DVC's own use of a library that is changing.
pytestmark = pytest.mark.filterwarnings("ignore:_NoneStep.value:DeprecationWarning")

DIAMOND = Graph(
    {
        "a": frozenset(),
        "b@1": frozenset({"a"}),
        "b@2": frozenset({"a"}),
        "c": frozenset({"b@1", "b@2"}),
        "d": frozenset({"b@2"}),
    }
)


def test_every_stage_comes_after_what_it_needs_and_edges_are_those_of_the_files(root):
    """Edges told from dvc.yaml by other code: who writes below or above what another reads."""
    graph = read_graph(root)
    stages = list(read_stages(root))
    assert set(graph.upstream) == {stage.name for stage in stages}

    def overlap(one, other):
        return one == other or one.startswith(other + "/") or other.startswith(one + "/")

    for stage in stages:
        expected = {
            other.name
            for other in stages
            if any(overlap(dep, out) for dep in stage.deps for out in other.outs)
        }
        assert graph.upstream[stage.name] == expected
    seen = set()
    for name, needed in graph.upstream.items():
        assert needed <= seen
        seen.add(name)


def test_dependents_and_heights():
    assert DIAMOND.dependents("a") == {"b@1", "b@2", "c", "d"}
    assert DIAMOND.dependents("b@2") == {"c", "d"}
    assert DIAMOND.dependents("d") == set()
    assert DIAMOND.heights() == {"a": 2, "b@1": 1, "b@2": 1, "c": 0, "d": 0}


@pytest.mark.parametrize(
    ("targets", "kept"),
    [
        (["c"], {"a", "b@1", "b@2", "c"}),
        (["d"], {"a", "b@2", "d"}),
        (["b"], {"a", "b@1", "b@2"}),
        (["b@1", "a"], {"a", "b@1"}),
        ([], set()),
    ],
)
def test_targets_come_with_all_they_need(targets, kept):
    assert set(DIAMOND.select(targets).upstream) == kept


def test_an_unknown_target_is_refused_with_the_nearest_name(root):
    with pytest.raises(UserError, match=r'no stage evaluate_ngrm; did you mean "evaluate_ngram"'):
        read_graph(root).select(["evaluate_ngrm"])


def test_a_damaged_dvc_yaml_is_one_message(tmp_path):
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "dvc.yaml").write_text("stages:\n  a: [")
    with pytest.raises(UserError, match="DVC cannot read the stages"):
        read_graph(tmp_path)
