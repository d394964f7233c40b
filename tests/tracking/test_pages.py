"""MLflow's own pages over what was published, in a real browser: they open and show the numbers."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from textmill.lineage.publication import publication
from textmill.tracking import tags, views
from textmill.tracking.publish import publish

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(BROWSERS)} is installed"),
]
FAILURES = ("Uncaught", "Unhandled", "Failed to load resource")


@pytest.fixture
def site(repository, change_text, wait_until_served, tmp_path):
    """`make ui` over a repository: its address, the view's address; ended by Ctrl-C.

    Published are the models of two texts, which the corpus had one after the other.
    """
    publish(repository)
    change_text(kn3=1.0, lstm=1.1, unigram=1.5, mix=0.9)
    publish(repository)
    log = (tmp_path / "server.log").open("w+")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "textmill.tracking.ui"],
        cwd=repository, env={**kept, "PYTHONPATH": str(ROOT)}, text=True,
        stdout=subprocess.PIPE, stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        address = re.match(r"MLflow: (\S+)", process.stdout.readline())[1]
        view = process.stdout.readline().split()[-1]
        wait_until_served(process, address)
        yield address, view
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(20) == 0
        log.seek(0)
        said = log.read()
        assert "Uvicorn running" in said
        assert "Traceback" not in said
        assert "Warning" not in said
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)
        process.stdout.close()
        log.close()


@pytest.fixture
def text_of(tmp_path):
    """What a page shows once its scripts have run, as text; a script's error fails the test."""

    def of(address: str) -> str:
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-background-networking", "--disable-component-update", "--no-first-run",
             f"--user-data-dir={tmp_path / 'browser'}", "--window-size=1900,1200",
             "--enable-logging=stderr", "--virtual-time-budget=30000", "--dump-dom", address],
            text=True, capture_output=True, timeout=120,
        )  # fmt: skip
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        assert not [line for line in said if any(word in line for word in FAILURES)], said
        return " ".join(re.sub(r"<[^>]*>", " ", done.stdout).split())

    return of


def test_the_pages_open_and_show_bits_per_byte(site, text_of, runs, client, repository):
    address, view = site
    key = publication(repository).comparison_key
    measured = [run for run in runs.all(repository) if "bits_per_byte" in run.data.metrics]
    models = [run for run in measured if run.data.tags[tags.KEY] == key]
    assert len(measured) == 2 * len(models) == 8
    experiment = models[0].info.experiment_id
    assert view == views.address(address, experiment)

    table = text_of(view)
    assert "Sort: bits_per_byte" in table
    best_first = sorted(models, key=lambda run: run.data.metrics["bits_per_byte"])
    places = [table.index(f" {run.info.run_name} ") for run in best_first]
    assert places == sorted(places)
    for run in measured:
        assert (repr(run.data.metrics["bits_per_byte"])[:7] in table) == (run in models)

    charts = text_of(f"{view}&compareRunsMode=CHART")
    assert "bits_per_byte" in charts
    assert "No charts in this section" not in charts.split("System metrics")[0]

    first, second = (run.info.run_id for run in best_first[:2])
    pair = text_of(
        f'{address}/#/compare-runs?runs=["{first}","{second}"]&experiments=["{experiment}"]'
    )
    assert "Comparing 2 Runs" in pair
    assert "bits_per_byte" in pair

    one = text_of(f"{address}/#/experiments/{experiment}/runs/{first}")
    assert best_first[0].info.run_name in one
    assert "bits_per_byte" in one
    assert "Finished" in one

    registered = client(repository).search_registered_models()[0].name
    registry = text_of(f"{address}/#/models/{registered}")
    assert "champion" in registry
    assert "baseline" in registry
