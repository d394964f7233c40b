"""Properties of schedules over random graphs: order, cores, and what a failure takes with it."""

from hypothesis import given
from hypothesis import strategies as st

from flows.graph import Graph
from flows.schedule import Schedule


@st.composite
def graphs(draw):
    """Graphs of up to nine stages; a stage needs only earlier ones."""
    size = draw(st.integers(1, 9))
    return Graph(
        {
            str(number): frozenset(
                str(other) for other in draw(st.sets(st.integers(0, number - 1)))
            ) if number else frozenset()
            for number in range(size)
        }
    )  # fmt: skip


@given(graphs(), st.integers(1, 4), st.data())
def test_order_and_cores_hold_and_all_is_run(graph, cores, data):
    """Whatever ends first: no stage before what it needs, no more cores than there are."""
    wanted = {name: data.draw(st.integers(1, 6)) for name in graph.upstream}
    schedule = Schedule(graph, wanted, cores)
    running, done, dropped, failed = set(), set(), {}, set()
    while True:
        started = schedule.start()
        running |= set(started)
        for name in started:
            assert graph.upstream[name] <= done
        assert len(running) == 1 or sum(wanted[name] for name in running) <= cores
        if schedule.is_over:
            break
        assert running, "a schedule that is not over has something to run"
        ended = data.draw(st.sampled_from(sorted(running)))
        running.remove(ended)
        succeeded = data.draw(st.booleans())
        (done if succeeded else failed).add(ended)
        new = schedule.finish(ended, succeeded=succeeded)
        assert not new.keys() & dropped.keys()
        dropped |= new
    assert done | failed | set(dropped) == set(graph.upstream)
    assert set(dropped) == {n for f in failed for n in graph.dependents(f)}
    for name, cause in dropped.items():
        assert cause in failed
        assert name in graph.dependents(cause)
    assert set(schedule.failed) == failed


def test_independent_stages_start_together_and_a_large_one_waits():
    graph = Graph({"a": frozenset(), "b": frozenset(), "big": frozenset()})
    schedule = Schedule(graph, {"big": 2}, 2)
    assert schedule.start() == ["a", "b"]
    assert schedule.finish("a", succeeded=True) == {}
    assert schedule.start() == []
    schedule.finish("b", succeeded=True)
    assert schedule.start() == ["big"]


def test_a_stage_that_wants_more_than_there_are_runs_alone():
    graph = Graph({"a": frozenset(), "huge": frozenset(), "z": frozenset({"huge"})})
    schedule = Schedule(graph, {"huge": 64}, 2)
    assert schedule.start() == ["huge"]
    assert schedule.start() == []
    schedule.finish("huge", succeeded=True)
    assert schedule.start() == ["a", "z"]


def test_the_longest_chain_goes_first():
    graph = Graph({"short": frozenset(), "long": frozenset(), "next": frozenset({"long"})})
    assert Schedule(graph, {}, 1).start() == ["long"]
