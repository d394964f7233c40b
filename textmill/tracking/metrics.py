"""Metrics of a run: only what is missing is logged, so logging twice adds no row."""

import time
from collections.abc import Iterable, Mapping

from mlflow.entities import Metric, Run

from textmill.lineage.datasets import Dataset
from textmill.lineage.publication import ModelRecord, Point
from textmill.tracking.store import Store

AT_ONCE = 500
"""MLflow takes a thousand metrics in one request."""


def log_curve(store: Store, run_id: str, points: Iterable[Point]) -> int:
    """Log the points that the run does not have; returns how many metric rows were added."""
    points = tuple(points)
    names = {name for point in points for name in point.values}
    known = {name: _known(store, run_id, name) for name in sorted(names)}
    now = now_ms()
    missing = [
        Metric(name, value, now, point.step)
        for point in points
        for name, value in point.values.items()
        if known[name].get(point.step) != value
    ]
    for start in range(0, len(missing), AT_ONCE):
        store.client.log_batch(run_id, metrics=missing[start : start + AT_ONCE])
    return len(missing)


def log_measured(
    store: Store,
    run: Run,
    record: ModelRecord,
    datasets: Mapping[str, Dataset],
    model_id: str,
) -> None:
    """Log a model's numbers on its run and, tied to the text they are of, on its logged model."""
    on_model = {metric.key: metric.value for metric in _model_metrics(store, model_id)}
    metrics = []
    for split, values in record.metrics.items():
        dataset = datasets.get(split)
        for name, value in values.items():
            if run.data.metrics.get(name) == value == on_model.get(name):
                continue
            # MLflow takes equal rows for one, so a row cut off in the middle is not doubled.
            same = run.data.metrics.get(name, value) == value
            when = int(run.info.start_time) if same else now_ms()
            metrics.append(_tied(name, value, when, model_id, dataset))
    if metrics:
        store.client.log_batch(run.info.run_id, metrics=metrics)


def log_facts(store: Store, run: Run, facts: Mapping[str, float]) -> None:
    """Log what only this machine knows, where the run does not have it."""
    missing = [
        Metric(name, value, int(run.info.start_time), 0)
        for name, value in facts.items()
        if name not in run.data.metrics
    ]
    if missing:
        store.client.log_batch(run.info.run_id, metrics=missing)


def now_ms() -> int:
    """Milliseconds since 1970, as MLflow counts time."""
    return time.time_ns() // 1_000_000


def _known(store: Store, run_id: str, name: str) -> dict[int, float]:
    """Step -> the value logged last."""
    rows = sorted(store.client.get_metric_history(run_id, name), key=lambda row: row.timestamp)
    return {row.step: row.value for row in rows}


def _model_metrics(store: Store, model_id: str) -> list[Metric]:
    return list(store.client.get_logged_model(model_id).metrics or ())


def _tied(name: str, value: float, when: int, model_id: str, dataset: Dataset | None) -> Metric:
    if dataset is None:
        return Metric(name, value, when, 0, model_id=model_id)
    return Metric(
        name,
        value,
        when,
        0,
        model_id=model_id,
        dataset_name=dataset.name,
        dataset_digest=dataset.md5,
    )
