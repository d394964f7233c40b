"""Which stage may start now: what it needs is done, and its cores are free.

A pure bookkeeper, without processes and without Prefect. Among stages that may start, the one
with the longest chain of stages behind it goes first. When a stage fails, all that need it are
set aside, and everything else goes on.
"""

from collections.abc import Mapping

from flows.graph import Graph


class Schedule:
    """The state of one run. cores: of the run; wanted: of each stage (1 where it is not named)."""

    def __init__(self, graph: Graph, wanted: Mapping[str, int], cores: int) -> None:
        self._graph = graph
        self._heights = graph.heights()
        self._cores = cores
        # A stage that wants more than there are runs alone; it is not given fewer.
        self._taken = {name: min(wanted.get(name, 1), cores) for name in graph.upstream}
        self._waiting = list(graph.upstream)
        self._running: set[str] = set()
        self._done: set[str] = set()
        self.failed: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether nothing runs and nothing may start any more."""
        return not self._running and not self._waiting

    def start(self) -> list[str]:
        """Stages to start now; they count as running from here on."""
        ready = [name for name in self._waiting if self._graph.upstream[name] <= self._done]
        started = []
        for name in sorted(ready, key=lambda name: -self._heights[name]):
            if self._taken[name] <= self._free():
                started.append(name)
                self._running.add(name)
                self._waiting.remove(name)
        return started

    def finish(self, stage: str, *, succeeded: bool) -> dict[str, str]:
        """Take note of an end; the stages that will not run now, each with the stage that failed.

        A stage that is set aside is named once, for the first failure that it depends on.
        """
        self._running.remove(stage)
        if succeeded:
            self._done.add(stage)
            return {}
        self.failed.append(stage)
        dependents = self._graph.dependents(stage)
        dropped = {name: stage for name in self._waiting if name in dependents}
        self._waiting = [name for name in self._waiting if name not in dropped]
        return dropped

    def _free(self) -> int:
        return self._cores - sum(self._taken[name] for name in self._running)
