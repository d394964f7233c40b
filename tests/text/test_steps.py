"""The two steps as DVC starts them, in a throw-away folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.inside import Ended, run_step
from tests.text.cleaning import LISTS
from textmill.base.files import read_json, read_table
from textmill.text.local import pin_text

TEXT = "".join(f"Line {i} of  the tale.\n\n" for i in range(20))
GRAPH: dict[str, Any] = {
    "stages": {
        "download": {"cmd": "x", "params": ["corpus", "corpora.${corpus}"], "outs": ["data/raw"]},
        "clean": {
            "cmd": "x",
            "params": ["corpus", "corpora.${corpus}", "profiles"],
            "deps": ["data/raw"],
        },
    }
}


class Project:
    """A folder with a graph and parameters in which steps are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.text = folder / "mine.txt"
        self.text.write_text(TEXT, encoding="utf-8")
        (folder / "dvc.yaml").write_text(json.dumps(GRAPH))
        self.entry = {
            "title": "mine",
            "licence": "mine",
            "splits": {"by": "share"},
            "cleaning": "plain",
            **pin_text(str(self.text)),
        }
        self.write()

    def write(self) -> None:
        content = {"corpus": "local", "corpora": {"local": self.entry}, "profiles": LISTS}
        YAML().dump(content, self.folder / "params.yaml")

    def run(self, step: str) -> Ended:
        return run_step(self.folder, step)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def hashes(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for part in ("data", "metrics", "reports")
        for path in (folder / part).rglob("*")
        if path.is_file()
    }


def test_the_steps_write_their_records_and_the_same_bytes_again(project: Project) -> None:
    written = []
    for _ in range(2):
        for step in ("download", "clean"):
            ended = project.run(step)
            assert ended.returncode == 0, ended.said
        written.append(hashes(project.folder))
    assert written[0] == written[1]
    assert sorted(written[0]) == [
        "data/clean/summary.json",
        *("data/clean/test.arrow", "data/clean/train.arrow", "data/clean/valid.arrow"),
        *("data/raw/files/mine.txt", "data/raw/source.json", "metrics/clean.json"),
        *("reports/waterfall.csv", "reports/waterfall.html"),
    ]
    test = read_table(project.folder / "data/clean/test.arrow").to_pylist()
    assert test[0]["text"] == "Line 18 of the tale.\nLine 19 of the tale.\n"
    assert read_json(project.folder / "data/clean/summary.json")["lines"] == {
        "train": 16,
        "valid": 2,
        "test": 2,
    }
    about = read_json(project.folder / "data/raw/source.json")
    assert about["corpus"] == "local"
    assert about["asked"]["digest"] == project.entry["digest"]


def test_a_text_that_changed_ends_the_stage_with_one_message_and_no_output(
    project: Project,
) -> None:
    project.text.write_text(TEXT + "More.\n", encoding="utf-8")
    ended = project.run("download")
    assert ended.returncode == 1
    assert "Traceback" not in ended.said
    assert "mine.txt no longer matches its pin" in ended.said
    assert f"-> textmill pin {project.text}" in ended.said
    assert not (project.folder / "data").exists() or not list((project.folder / "data").iterdir())


def test_an_unknown_key_is_refused_by_its_nearest_name(project: Project) -> None:
    project.entry["cleening"] = "plain"
    project.write()
    ended = project.run("download")
    assert ended.returncode == 1
    assert "params.yaml: corpora.local: " in ended.said
    assert 'unknown key "cleening"; did you mean "cleaning"?' in ended.said


def test_a_text_too_small_for_its_splits_ends_in_the_full_key_of_its_corpus(
    project: Project,
) -> None:
    project.text.write_text("alone\n", encoding="utf-8")
    project.entry |= pin_text(str(project.text))
    project.write()
    assert project.run("download").returncode == 0
    ended = project.run("clean")
    assert ended.returncode == 1
    assert "Traceback" not in ended.said
    assert "textmill: params.yaml: corpora.local.splits: the text has 1 line" in ended.said


def test_a_rule_beside_params_yaml_is_found_and_its_drops_are_on_the_page(
    project: Project,
) -> None:
    (project.folder / "mine_rules.py").write_text(
        "from textmill.text.own_rules import Drop, for_lines\n"
        "@for_lines\n"
        "def not_seven(line):\n"
        "    return Drop('line seven') if ' 7 ' in line else None\n"
    )
    project.entry["cleaning"] = ["plain", "mine_rules:not_seven"]
    project.write()
    for step in ("download", "clean"):
        ended = project.run(step)
        assert ended.returncode == 0, ended.said
    summary = read_json(project.folder / "data/clean/summary.json")
    assert sum(summary["lines"].values()) == 19
    page = (project.folder / "reports/waterfall.html").read_text()
    assert "mine.txt: line 8: Line 7 of the tale." in page


def test_a_rule_that_cannot_be_imported_ends_the_stage_with_one_message(project: Project) -> None:
    project.entry["cleaning"] = ["plain", "no_such_module:rule"]
    project.write()
    assert project.run("download").returncode == 0
    ended = project.run("clean")
    assert ended.returncode == 1
    assert "Traceback" not in ended.said
    assert "cleaning: no_such_module:rule: the module no_such_module cannot be" in ended.said


@pytest.mark.parametrize(
    ("changes", "data", "lines"),
    [
        ({}, TEXT.encode("utf-16"), 20),
        ({"encoding": "windows-1252"}, TEXT.replace("tale", "d\xe9j\xe0").encode("cp1252"), 20),
        ({"decoding_errors": "replace"}, TEXT.encode() + b"caf\xe9\n", 21),
        (
            {"documents": "paragraph", "splits": {"by": "share", "unit": "documents"}},
            TEXT.encode(),
            20,
        ),
        ({}, TEXT.replace("\n", "\r").encode(), 20),
    ],
)
def test_texts_in_other_encodings_and_cuts_go_through_the_stage(
    changes: dict[str, Any], data: bytes, lines: int, project: Project
) -> None:
    project.text.write_bytes(data)
    project.entry |= pin_text(str(project.text)) | changes
    project.write()
    for step in ("download", "clean"):
        ended = project.run(step)
        assert ended.returncode == 0, ended.said
    summary = read_json(project.folder / "data/clean/summary.json")
    assert sum(summary["lines"].values()) == lines
    assert summary["waterfall"][0]["bytes"]["in"] == len(data)
