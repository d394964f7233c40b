"""The whole pipeline on throw-away repositories: what runs, what does not, what survives."""

import contextlib
import csv
import hashlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from ruamel.yaml import YAML

from textmill.base.errors import UserError
from textmill.lineage.lock import read_lock
from textmill.repository import leftovers

pytestmark = pytest.mark.slow

MODELS = {"bigram_word", "kn3_subword", "lstm_subword", "mix_subword"}


def leaderboard(repository):
    return json.loads((repository.path / "reports/leaderboard.json").read_text())


def summary(repository, name):
    return json.loads((repository.path / f"scores/{name}/summary.json").read_text())


def table(path):
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def test_every_model_is_ranked_by_bits_per_byte(finished):
    board = leaderboard(finished)
    assert {model["name"] for model in board["models"]} == MODELS
    assert board["unranked"] == []
    bits = [model["bits_per_byte"] for model in board["models"]]
    assert bits == sorted(bits)
    assert 0.5 < bits[0] < bits[-1] < 8
    assert {summary(finished, name)["comparison_key"] for name in MODELS} == {
        board["comparison_key"]
    }


@pytest.mark.parametrize("split", ["valid", "test"])
def test_totals_are_those_of_the_text(finished, split):
    """N, C and W counted from the cleaned text by other code; T by splitting it again."""
    documents = table(finished.path / f"data/clean/{split}.arrow")["text"].to_pylist()
    text = "".join(documents)
    words = sum(len(line.split()) for line in text.splitlines()) + text.count("\n")
    for name in MODELS:
        numbers = summary(finished, name)[split]
        assert numbers["bytes"] == len(text.encode())
        assert numbers["characters"] == len(text)
        assert numbers["words"] == words
        if name == "bigram_word":
            assert numbers["tokens"] == words
        scores = table(finished.path / f"scores/{name}/{split}.arrow")
        nats = sum(map(sum, scores["token_nats"].to_pylist())) + sum(
            scores["nats_spelling"].to_pylist()
        )
        bits = nats / (len(text.encode()) * math.log(2))
        assert numbers["bits_per_byte"] == pytest.approx(bits, rel=1e-12)


def test_a_mixture_is_no_worse_than_its_parts_on_validation(finished):
    valid = {
        name: summary(finished, name)["valid"]
        for name in ("kn3_subword", "lstm_subword", "mix_subword")
    }
    best = min(valid["kn3_subword"]["nats"], valid["lstm_subword"]["nats"])
    assert valid["mix_subword"]["nats"] <= best * (1 + 1e-9)


def test_a_second_run_does_nothing(repository):
    assert repository.repro() == []
    assert "up to date" in repository.run("dvc", "status")
    assert repository.run("git", "status", "--porcelain") == ""


def test_a_changed_parameter_reruns_exactly_its_dependents(repository):
    """Two changes at a time, whose dependents have none in common; two more further down.

    With outputs that are links into DVC's cache, which no step may write through.
    """
    repository.run("dvc", "config", "--local", "cache.type", "symlink")
    repository.run("dvc", "checkout", "--relink", "--quiet")
    assert (repository.path / "models/kn3_subword/model.json").is_symlink()
    repository.edit("order: 3", "order: 2")
    repository.edit("minimum_frequency: 2", "minimum_frequency: 3")
    rerun = repository.repro("describe", "compare")
    assert len(rerun) == len(set(rerun))
    assert set(rerun) == {
        "ngram@kn3_subword", "evaluate_ngram@kn3_subword", "mix@mix_subword",
        "vocabulary@word", "describe", "shard@word", "ngram@bigram_word",
        "evaluate_ngram@bigram_word", "compare",
    }  # fmt: skip
    changed = json.loads(repository.run("dvc", "metrics", "diff", "--json"))
    rescored = ("kn3_subword", "bigram_word", "mix_subword")
    assert set(changed) == {f"metrics/models/{name}.json" for name in rescored}
    for file in (repository.path / ".dvc/cache/files/md5").glob("??/*"):
        digest = hashlib.md5(file.read_bytes()).hexdigest()
        assert digest == file.parent.name + file.name.removesuffix(".dir"), file


def test_a_removed_model_is_gone_from_the_leaderboard(repository):
    """Beside a changed network, whose dependents run again and nothing else."""
    repository.edit(
        "  bigram_word:\n    tokenizer: word\n    method: additive\n    order: 2\n    k: 0.1\n", ""
    )
    repository.edit("steps: 60", "steps: 40")
    network = ["train@lstm_subword", "evaluate_network@lstm_subword", "mix@mix_subword"]
    assert repository.repro("compare") == [*network, "compare"]
    assert {model["name"] for model in leaderboard(repository)["models"]} == MODELS - {
        "bigram_word"
    }
    assert not (repository.path / "metrics/models/bigram_word.json").exists()
    assert repository.repro("compare") == []


def test_metrics_and_plots_show(repository):
    shown = json.loads(repository.run("dvc", "metrics", "show", "--json"))
    files = shown[""]["data"]
    for name in MODELS:
        assert files[f"metrics/models/{name}.json"]["data"]["bits_per_byte"]["test"] > 0
    assert files["metrics/clean.json"]["data"]["bytes"]["test"] > 0
    repository.run("dvc", "plots", "show")
    page = (repository.path / "dvc_plots/index.html").read_text()
    drawn = ("valid_loss", "train_loss", "gradient_norm", "learning_rate", "bits_per_byte")
    assert [name for name in drawn if name not in page] == []


def plots_of(graph, params):
    """Every plot of dvc.yaml: file, and the names of its columns."""
    for entry in graph["stages"].values():
        body = entry.get("do", entry)
        group = entry["foreach"].strip("${}") if "foreach" in entry else None
        for key in params[group] if group else [""]:
            for plot in body.get("plots", []):
                ((file, how),) = plot.items()
                yield file.replace("${key}", key), [how["x"], how["y"]]
    for plot in graph["plots"]:
        ((_, how),) = plot.items()
        for axis in ("x", "y"):
            ((file, column),) = how[axis].items()
            yield file, [column]


def test_the_columns_of_every_plot_are_in_its_file(finished):
    graph, params = (
        YAML(typ="safe").load((finished.path / name).read_text())
        for name in ("dvc.yaml", "params.yaml")
    )
    plots = list(plots_of(graph, params))
    drawn = {Path(file).stem for file, _ in plots}
    assert {"waterfall", "zipf", "coverage", "lengths", "leaderboard", "ngrams"} <= drawn
    for file, columns in plots:
        with (finished.path / file).open(newline="") as opened:
            first, *rows = csv.reader(opened)
        assert rows, file
        for column in columns:
            assert column in first, (file, column)


def test_an_experiment_may_choose_another_corpus(repository):
    """`dvc exp run -S corpus=NAME` reaches every stage; here up to the cleaned text."""
    text = "one two three\n" * 40
    (repository.path / "other.txt").write_text(text)
    entry = f"""\
  other:
    title: another text
    licence: none
    sources: [other.txt]
    filename: other.txt
    sha256: {hashlib.sha256(text.encode()).hexdigest()}
    documents: file
    splits: {{by: share, valid: 0.1, test: 0.1, unit: lines}}
    cleaning: plain
"""
    repository.edit("profiles:\n", entry + "profiles:\n")
    repository.run("git", "add", ".")
    repository.run("git", "commit", "--quiet", "-m", "another corpus")
    repository.run("dvc", "exp", "run", "-S", "corpus=other", "clean")
    cleaned = table(repository.path / "data/clean/train.arrow")["text"].to_pylist()
    assert cleaned == ["one two three\n" * 32]


def killed_at(repository, stage, seconds):
    """Start a stage by DVC and SIGKILL its process group so long after its step began.

    Returns whether DVC was still at work. It starts no step where the one that was killed before
    had ended already, so that DVC knows what came of it.
    """
    mend(repository)
    process = start(repository, stage)
    if wait_for_step(process, stage.split("@")[0]) is None:
        return False
    time.sleep(seconds)
    was_running = process.poll() is None
    if was_running:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return was_running


def mend(repository):
    """What docs/pipeline.md says is to be typed after a kill at an unlucky moment."""
    leftovers.clear(repository.path)
    try:
        read_lock(repository.path)
    except UserError:
        repository.run("git", "checkout", "dvc.lock")


def start(repository, stage):
    return subprocess.Popen(
        ["dvc", "repro", stage], cwd=repository.path, env=repository.environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def forget(repository, stage, outputs):
    """As if the stage had never run: no outputs, no lock entry, no cached run."""
    shutil.rmtree(repository.path / ".dvc/cache/runs", ignore_errors=True)
    content = repository.lock()
    content["stages"].pop(stage, None)
    with (repository.path / "dvc.lock").open("w") as file:
        YAML().dump(content, file)
    for output in outputs:
        target = repository.path / output
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)


def seconds_of(repository, stage):
    """How long the undisturbed step took, by its own account."""
    for path in (repository.path / ".textmill/facts").iterdir():
        facts = json.loads(path.read_text())
        if facts["stage"] == stage.replace("@", " "):
            return facts["seconds"]
    pytest.fail(f"no facts of {stage}")


@pytest.mark.parametrize(
    ("stage", "outputs"),
    [
        ("train@lstm_subword", ["models/lstm_subword", "history/lstm_subword.csv"]),
        ("evaluate_ngram@bigram_word", ["scores/bigram_word", "metrics/models/bigram_word.json"]),
    ],
)
def test_a_stage_killed_three_times_ends_in_the_same_hashes(repository, stage, outputs):
    """SIGKILL at seeded moments, then a run to the end: dvc.lock is that of an undisturbed run."""
    undisturbed = repository.lock()
    longest = seconds_of(repository, stage) + 0.5
    forget(repository, stage, outputs)
    rng = random.Random(20261129)
    kills = 0
    for _ in range(12):
        if killed_at(repository, stage, rng.uniform(0, longest)):
            kills += 1
        else:
            forget(repository, stage, outputs)
        if kills == 3:
            break
    assert kills == 3
    mend(repository)
    repository.repro()
    assert repository.lock() == undisturbed
    assert repository.repro() == []


def test_what_a_killed_dvc_stumbles_over_is_cleared_away(repository):
    """The two things that it was found to leave, as it leaves them; plain `dvc repro` goes on."""
    stage, outputs = "evaluate_ngram@bigram_word", ["scores/bigram_word"]
    undisturbed = repository.lock()
    entries = [path for path in repository.path.glob(".dvc/cache/runs/*/*/*") if path.is_file()]
    (entry,) = [path for path in entries if stage.replace("@", " ") in path.read_text()]
    forget(repository, stage, outputs)
    entry.parent.mkdir(parents=True)
    (repository.path / ".dvc/tmp/rwlock").write_text("")
    told = repository.run(sys.executable, "-m", "textmill.cli", "check")
    assert "removed .dvc/tmp/rwlock" in told
    assert f"removed {entry.parent.relative_to(repository.path)}" in told
    assert repository.repro("-s", stage) == [stage]
    assert repository.lock() == undisturbed
    assert entry.is_file()


def test_a_step_dies_with_its_parent(repository):
    """SIGKILL of dvc alone leaves no orphan that writes on."""
    repository.edit("steps: 60", "steps: 60000")
    process = start(repository, "train@lstm_subword")
    try:
        step = wait_for_step(process, "train")
        assert step is not None
        time.sleep(1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for _ in range(50):
            if not is_alive(step):
                break
            time.sleep(0.1)
        assert not is_alive(step)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def wait_for_step(process, name):
    """Process id of the step that dvc (a group's leader) started; None where it ended without."""
    group = process.pid
    while process.poll() is None:
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == group:
                continue
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                command = Path(f"/proc/{entry}/cmdline").read_text()
                if f"pipeline_steps.{name}" in command and os.getpgid(int(entry)) == group:
                    return int(entry)
        time.sleep(0.05)
    return None


def is_alive(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
