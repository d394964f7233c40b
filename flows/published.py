"""The MLflow runs of the leaderboard's models, as JSON: `python -m flows.published`.

A process of its own, so that the flow need not import MLflow, which takes seconds.
"""

import json
import logging
import sys

from textmill.base.errors import UserError
from textmill.lineage.publication import publication
from textmill.repository.layout import find_root
from textmill.tracking import runs, tags, ui
from textmill.tracking.store import opened, store_uri


def main() -> None:
    """Print `[{model, run_id, link}]`, in the order of the leaderboard."""
    root = find_root()
    record = publication(root)
    uri = store_uri(root)
    address = uri if uri.startswith("http") else f"http://{ui.HOST}:{ui.PORT}"
    with opened(root) as store:
        name = runs.experiment_name(record.corpus)
        experiment = store.client.get_experiment_by_name(name)
        if experiment is None:
            raise UserError(f"MLflow has no experiment {name}", next_step="textmill publish")
        found = {
            run.data.tags[tags.IDENTITY]: run.info.run_id
            for run in runs.tagged(store, experiment.experiment_id, tags.KEY, record.comparison_key)
            if tags.IDENTITY in run.data.tags
        }
    place = f"{address}/#/experiments/{experiment.experiment_id}/runs"
    models = [
        {"model": model.name, "run_id": run_id, "link": f"{place}/{run_id}"}
        for model in record.models
        if (run_id := found.get(model.identity)) is not None
    ]
    sys.stdout.write(json.dumps(models))


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    try:
        main()
    except UserError as error:
        sys.exit(f"textmill: {error}")
