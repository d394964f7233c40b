"""What the server must hold before a worker serves it: the work pool, and no run that is dead."""

import contextlib
import time
from datetime import UTC, datetime
from pathlib import Path

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import ObjectAlreadyExists
from prefect.states import Cancelled, Crashed

from flows.checkout import LOCK, read_holder
from flows.processes import Supervised
from textmill.base.errors import UserError

POOL = "textmill"
ALIVE = [StateType.RUNNING, StateType.PENDING, StateType.CANCELLING]


def make_pool(api: str) -> None:
    """Make the work pool where it is not there yet."""
    with SyncPrefectClient(api) as client, contextlib.suppress(ObjectAlreadyExists):
        client.create_work_pool(WorkPoolCreate(name=POOL, type="process"))


def bury(api: str, root: Path) -> None:
    """Mark runs as crashed whose process ended without a word; only the checkout's holder lives."""
    holder = read_holder(root / LOCK)
    at_work = holder.name if holder is not None and holder.process.lives() else None
    with SyncPrefectClient(api) as client:
        for run in client.read_flow_runs(flow_run_filter=_alive()):
            if f"flow run {run.name}" != at_work:
                state: State = Crashed(message="its process ended without a word")
                client.set_flow_run_state(run.id, state, force=True)


def drop_missed(api: str) -> None:
    """Cancel runs that fell due while nothing was served; the next one does all they would have."""
    due = {"expected_start_time": {"before_": datetime.now(UTC)}}
    scheduled = {"state": {"type": {"any_": [StateType.SCHEDULED]}}}
    with SyncPrefectClient(api) as client:
        chosen = FlowRunFilter.model_validate(due | scheduled)
        while missed := client.read_flow_runs(flow_run_filter=chosen):
            for run in missed:
                state: State = Cancelled(message="missed: nothing was served when it fell due")
                client.set_flow_run_state(run.id, state, force=True)


def await_worker(api: str, worker: Supervised, since: datetime, patience: float) -> None:
    """Wait until a worker that started after `since` has told the server that it is there."""
    deadline = time.monotonic() + patience
    with SyncPrefectClient(api) as client:
        while not _there(client, since):
            if not worker.running() or time.monotonic() > deadline:
                raise UserError("the worker did not start", next_step="read its log")
            time.sleep(0.2)


def _there(client: SyncPrefectClient, since: datetime) -> bool:
    workers = client.read_workers_for_work_pool(POOL)
    seen = [worker.last_heartbeat_time for worker in workers]
    return any(time is not None and time >= since for time in seen)


def _alive() -> FlowRunFilter:
    return FlowRunFilter.model_validate({"state": {"type": {"any_": ALIVE}}})
