"""How MLflow's pages show an experiment: the leaderboard's columns, the best model first.

MLflow shows no metric until it is told to. It keeps saved views as tags of the experiment and
lists them under "Views"; this one is always there, and `make ui` prints an address that opens it.
An experiment keeps the runs of every test text that its corpus ever had, and numbers compare under
one comparison key only, so the view has the runs of today's.
"""

import json

from textmill.tracking import tags
from textmill.tracking.store import shown

HOST, PORT = "127.0.0.1", 5000
"""Where `make ui` serves, if nothing else does."""
LEADERBOARD = "leaderboard"
TAG = f"mlflow.sharedViewState.{LEADERBOARD}"
RANKED_BY = "metrics.`bits_per_byte`"
COLUMNS = (
    RANKED_BY,
    "metrics.`bits_per_byte_valid`",
    "metrics.`perplexity`",
    "metrics.`unknown_rate`",
    "metrics.`bytes_on_disk`",
    "params.`tokenizer`",
)


def saved_view(comparison_key: str) -> str:
    """The tag's value, as MLflow's own button "Save as new view" writes it."""
    state = {
        "searchFilter": f"tags.`{tags.KEY}` = '{comparison_key}'",
        "orderByKey": RANKED_BY,
        "orderByAsc": True,
        "selectedColumns": COLUMNS,
    }
    view = {"name": "Leaderboard", "createdAt": 0, "updatedAt": 0, "state": json.dumps(state)}
    return json.dumps(view)


def server(uri: str) -> str:
    """Address of the pages over a store: the server itself, or what `make ui` will serve."""
    return shown(uri) if uri.startswith(("http://", "https://")) else f"http://{HOST}:{PORT}"


def run(server: str, experiment_id: str, run_id: str) -> str:
    """Where a run is shown."""
    return f"{server}/#/experiments/{experiment_id}/runs/{run_id}"


def address(server: str, experiment_id: str) -> str:
    """Where the view of an experiment opens."""
    return f"{server}/#/experiments/{experiment_id}/runs?viewStateShareKey={LEADERBOARD}"
