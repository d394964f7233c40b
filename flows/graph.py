"""The stages and their order, read from DVC's own graph: dvc.yaml is the only place they are in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dvc.exceptions import DvcException
from dvc.repo import Repo

from textmill.base.errors import UserError, nearest


@dataclass(frozen=True, slots=True)
class Graph:
    """Every stage, in an order in which all come after what they need, and what each needs."""

    upstream: Mapping[str, frozenset[str]]

    def dependents(self, stage: str) -> set[str]:
        """All stages that need this one, over any number of steps."""
        found: set[str] = set()
        for name, needed in self.upstream.items():
            if needed & (found | {stage}):
                found.add(name)
        return found

    def heights(self) -> dict[str, int]:
        """Steps from each stage to the end of its longest chain of dependents."""
        heights = dict.fromkeys(self.upstream, 0)
        for name in reversed(list(self.upstream)):
            for needed in self.upstream[name]:
                heights[needed] = max(heights[needed], heights[name] + 1)
        return heights

    def select(self, targets: Iterable[str]) -> "Graph":
        """Only the targets and all that they need. A target is a stage or a group of stages.

        UserError with the nearest known name for a target that is neither.
        """
        wanted: set[str] = set()
        for target in targets:
            wanted |= self._named(target)
        for name in reversed(list(self.upstream)):
            if name in wanted:
                wanted |= self.upstream[name]
        return Graph({name: needed for name, needed in self.upstream.items() if name in wanted})

    def _named(self, target: str) -> set[str]:
        found = {name for name in self.upstream if target in (name, name.split("@")[0])}
        if not found:
            groups = {name.split("@")[0] for name in self.upstream}
            hint = nearest(target, sorted({*self.upstream, *groups}))
            raise UserError(f"there is no stage {target}{hint}", next_step="dvc stage list")
        return found


def read_graph(root: Path = Path()) -> Graph:
    """The graph of dvc.yaml as DVC understands it."""
    try:
        with Repo(str(root)) as repo:
            found = repo.index.graph
            edges = {
                stage.addressing: frozenset(
                    needed.addressing for needed in ([] if stage.frozen else found[stage])
                )
                for stage in found
            }
    except DvcException as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        raise UserError(f"DVC cannot read the stages: {error}{cause}") from None
    return Graph(_sorted(edges))


def _sorted(edges: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Stages after what they need; among equals as DVC lists them."""
    done: dict[str, frozenset[str]] = {}
    while len(done) < len(edges):
        done |= {
            name: needed
            for name, needed in edges.items()
            if name not in done and needed <= done.keys()
        }
    return done
