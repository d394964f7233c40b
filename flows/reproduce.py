"""The pipeline as a Prefect flow: one task for each DVC stage, side by side where they can be.

`python -m flows.command` (`make flow`), or the deployment in prefect.yaml. DVC alone decides
what is up to date, so no task caches or keeps a result. A stage that fails takes those that need
it with it and nothing else. However the flow ends, nothing that it started lives on.
"""

import math
import os
import queue
import sys
import time
from pathlib import Path
from typing import Any

from prefect import State, allow_failure, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import StateType
from prefect.futures import PrefectFuture
from prefect.runtime import flow_run, task_run
from prefect.states import Cancelled, Completed, Failed

from flows import artifacts, checkout, lineage, logs, request
from flows.cores import read_cores
from flows.graph import Graph, read_graph
from flows.lockfile import SIGN_OF_LIFE, Keeper
from flows.schedule import Schedule
from flows.stages import Ending, StageFailed, Stages, StageStopped, cause_of, unchanged
from textmill.base.errors import UserError, as_user_error
from textmill.repository import layout, leftovers

RETRIES = {"download": (2.0, 10.0)}
"""Stages that may fail by chance, and the seconds before each new try."""

logs.drop_empty_tracebacks()

Future = PrefectFuture[Any]


@task(task_run_name="{stage}", cache_policy=NO_CACHE, persist_result=False)
def run_stage(stage: str, stages: Stages, is_unchanged: bool = False) -> State:
    """Run a stage of DVC; the state's name says what DVC did.

    is_unchanged: DVC said so of all stages at once, and nothing that this one needs has run since.
    """
    if is_unchanged:
        return Completed(name=Ending.SKIPPED, message=f"{stage}: nothing has changed")
    log = get_run_logger()
    progress = artifacts.Progress(stage)

    def on_line(line: str) -> None:
        log.info(line)
        progress.hear(line)

    try:
        ending = stages.run(stage, on_line)
    except StageStopped:
        return Cancelled(message=f"{stage} was ended with the flow")
    except StageFailed as error:
        if task_run.run_count <= len(RETRIES.get(stage, ())):
            raise
        return Failed(message=str(error))
    return Completed(name=ending, message=f"{stage}: {ending}")


@task(task_run_name="{stage}", cache_policy=NO_CACHE, persist_result=False)
def set_aside(stage: str, failed: str) -> State:
    """Record that a stage was not run because one that it needs failed."""
    return State(
        type=StateType.FAILED, name="NotRun", message=f"{stage} was not run: {failed} failed"
    )


@flow(name="reproduce", persist_result=False)
def reproduce(
    targets: list[str] | None = None,
    force: bool = False,
    cores: int | None = None,
    timeout_minutes: float | None = None,
) -> State:
    """Bring every stage of dvc.yaml up to date and show the leaderboard.

    Args:
        targets: Stages, or groups of stages, that are wanted, with all they need; default: all.
        force: Run every one of them, even where nothing changed.
        cores: Cores to use; default: all. A stage takes as many as the threads that it pins.
        timeout_minutes: End the flow, and all that it started, after so long; default: never.

    """
    root = Path()
    try:
        request.check(root, targets, cores, timeout_minutes)
        with checkout.hold(root / checkout.LOCK, f"flow run {flow_run.name}") as lock:
            keeper = Keeper(root)
            if keeper.mend():
                get_run_logger().warning("dvc.lock was half a file, left by a killed run: put back")
            for path in leftovers.clear(root):
                get_run_logger().warning("%s was left half-made by a killed DVC: removed", path)
            graph = read_graph(root)
            graph = graph if targets is None else graph.select(targets)
            schedule = Schedule(graph, read_cores(root), cores or os.cpu_count() or 1)
            stages = Stages(root, force=force, keep=[lock])
            known = frozenset() if force else _unchanged(root)
            return _reproduce(root, Walk(graph, schedule, stages, keeper, known), timeout_minutes)
    except (UserError, OSError) as error:
        return Failed(message=str(as_user_error(error)))
    except KeyboardInterrupt:
        return Cancelled(message="Ctrl-C ended all that it started; the same goes on from here")


def _unchanged(root: Path) -> frozenset[str]:
    found = unchanged(root)
    if found is None:
        get_run_logger().info("DVC cannot say yet what has changed: it is asked stage by stage")
    return found or frozenset()


def _reproduce(root: Path, walk: "Walk", minutes: float | None) -> State:
    with lineage.following(root):
        walk.run(None if minutes is None else time.monotonic() + 60.0 * minutes)
    verdict = walk.verdict()
    if verdict.is_completed() and (root / layout.LEADERBOARD).exists():
        artifacts.leaderboard(root)
        lineage.publish(root, get_run_logger())
    return verdict


class Walk:
    """Takes the stages of a schedule through Prefect."""

    def __init__(
        self,
        graph: Graph,
        schedule: Schedule,
        stages: Stages,
        keeper: Keeper,
        known: frozenset[str],
    ) -> None:
        self._known = known
        self._graph = graph
        self._schedule = schedule
        self._stages = stages
        self._keeper = keeper
        self._futures: dict[str, Future] = {}
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._names: dict[str, str] = {}

    def run(self, deadline: float | None) -> None:
        """Run all; whatever interrupts this ends every stage that runs."""
        try:
            self._keeper.keep()
            while True:
                for stage in self._schedule.start():
                    self._submit(stage)
                if self._schedule.is_over:
                    break
                self._take_end(deadline)
        except BaseException:
            self._stages.stop()
            raise
        self._keeper.forget()

    def verdict(self) -> State:
        """Completed, or Failed naming the stages that failed and those that did not run."""
        counts = {name: list(self._names.values()).count(name) for name in self._names.values()}
        summary = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        if not self._schedule.failed:
            return Completed(message=f"{len(self._names)} stages: {summary}")
        causes = [
            f"{name} failed: {cause_of(self._futures[name].state.message or '')}"
            for name in self._schedule.failed
        ]
        return Failed(message=f"{'; '.join(causes)} ({len(self._names)} stages: {summary})")

    def _submit(self, stage: str) -> None:
        delays = RETRIES.get(stage, ())
        runner = run_stage.with_options(retries=len(delays), retry_delay_seconds=list(delays))
        future: Future = runner.submit(
            stage,
            self._stages,
            self._is_unchanged(stage),
            wait_for=self._needed(stage),
            return_state=False,
        )
        future.add_done_callback(lambda _: self._ended.put(stage))
        self._futures[stage] = future

    def _is_unchanged(self, stage: str) -> bool:
        above = {self._names.get(name) for name in self._graph.upstream[stage]}
        return stage in self._known and above <= {Ending.SKIPPED}

    def _take_end(self, deadline: float | None) -> None:
        """Wait for the next end of a stage and take note of it."""
        stage = self._next_end(deadline)
        self._keeper.keep()
        future = self._futures[stage]
        future.wait()
        self._names[stage] = str(future.state.name)
        dropped = self._schedule.finish(stage, succeeded=future.state.is_completed())
        for name in self._graph.upstream:
            if name in dropped:
                self._names[name] = "NotRun"
                self._futures[name] = set_aside.submit(
                    name, dropped[name], wait_for=self._needed(name), return_state=False
                )

    def _next_end(self, deadline: float | None) -> str:
        while True:
            left = math.inf if deadline is None else deadline - time.monotonic()
            try:
                return self._ended.get(timeout=max(0.0, min(left, SIGN_OF_LIFE)))
            except queue.Empty:
                self._keeper.live()
            if left <= SIGN_OF_LIFE:
                raise UserError(
                    "the flow took longer than timeout_minutes allows",
                    next_step="make flow goes on",
                )

    def _needed(self, stage: str) -> list[Any]:
        """Futures of what a stage needs, so that Prefect draws the edges; failures may pass."""
        needed = [name for name in self._graph.upstream[stage] if name in self._futures]
        return [allow_failure(self._futures[name]) for name in sorted(needed)]


if __name__ == "__main__":
    from flows.command import main

    sys.exit(main())
