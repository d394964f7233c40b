"""Nothing is changed under the hands of a run."""

import json
import os
import subprocess

import pytest

from flows.checkout import hold
from textmill.base.errors import UserError
from textmill.repository import layout
from textmill.repository.busy import check_idle
from textmill.repository.leftovers import IN_USE

DEAD = 1 << 22
"""No process has so high a number."""


def write(root, content):
    path = root / IN_USE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_run_is_named_by_its_process(tmp_path, mode):
    user = {"pid": os.getpid(), "cmd": "dvc repro"}
    write(tmp_path, {mode: {"/data/raw": [user] if mode == "read" else user}})
    with pytest.raises(UserError, match=f"a run is going here: process {os.getpid()}, dvc repro"):
        check_idle(tmp_path)


def test_a_later_process_of_the_same_number_is_another(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as later:
        write(tmp_path, {"write": {"/data/raw": {"pid": later.pid, "cmd": "dvc repro"}}})
        with pytest.raises(UserError, match=f"process {later.pid}"):
            check_idle(tmp_path)
        os.utime(tmp_path / IN_USE, (0, 0))
        check_idle(tmp_path)
        write(tmp_path, {"write": {"/data/raw": {"pid": later.pid, "cmd": "dvc repro"}}})
        later.kill()
        os.waitid(os.P_PID, later.pid, os.WEXITED | os.WNOWAIT)  # a zombie, until it is waited for
        check_idle(tmp_path)


def test_a_flow_is_at_work_between_its_stages_too(tmp_path):
    path = tmp_path / layout.FLOW_LOCK
    said = r"a run is going here: a flow, which holds \.textmill/flow\.lock"
    with hold(path, "run"), pytest.raises(UserError, match=said):
        check_idle(tmp_path)
    assert path.exists()
    check_idle(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"read": {}, "write": {}},
        {"read": {"/a": []}, "write": {"/a": {"pid": DEAD, "cmd": "dvc repro"}}},
        "half a li",
    ],
)
def test_where_nobody_is_at_work_nothing_is_said(tmp_path, content):
    check_idle(tmp_path)
    write(tmp_path, content)
    check_idle(tmp_path)
