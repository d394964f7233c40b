"""Ports, records and the end of processes that `make serve` left."""

import os
import shutil
import socket
import subprocess
import sys
import time

import pytest

from flows import server, serving
from flows.processes import Identity, identify, myself
from flows.server import HOST, answers, free_port, listens
from flows.stop import end
from textmill.base.errors import UserError


def test_a_taken_port_is_passed_over():
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) != port
    assert free_port(port) == port
    assert not answers(f"http://{HOST}:{port}/api")


def test_whose_port_it_is_is_known():
    """Another server that answers at the address is not taken for one's own."""
    listen = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
    with socket.create_server((HOST, 0)) as own:
        ours = own.getsockname()[1]
        command = [sys.executable, "-c", listen]
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as child:
            theirs = int(child.stdout.readline())
            assert listens(child.pid, theirs)
            assert not listens(child.pid, ours)
            assert listens(os.getpid(), ours)
            assert listens(os.getpid(), theirs), "a child's port is its parent's"
            child.communicate("")


def test_a_disk_without_room_is_said_before_a_server_is_started(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    server.check_room(folder)
    assert folder.is_dir()
    usage = shutil.disk_usage(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=2_500_000))
    with pytest.raises(UserError, match=r"2\.5 MB are free there, and .* wants 10") as refused:
        server.check_room(folder)
    assert refused.value.where == str(folder)
    monkeypatch.setenv("PREFECT_HOME", str(folder))
    with pytest.raises(UserError, match="are free there"), server.server(tmp_path, folder / "log"):
        pytest.fail("it was started")


def test_of_a_server_that_ended_the_error_of_this_start_is_named(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("app.OldError: before\n")
    begun = log.stat().st_size
    assert server.last_error(log, begun) == ""
    with log.open("a") as file:
        file.write("Traceback\nsqlite3.OperationalError: disk is full\n[SQL: x]\nServer stopped!\n")
    assert server.last_error(log, begun) == " (sqlite3.OperationalError: disk is full)"


def test_a_record_is_read_back_and_lives_as_its_first_process_does(tmp_path):
    assert serving.read(tmp_path) is None
    other = Identity(os.getpid(), 1.0, "somebody else's")
    serving.write(tmp_path, "http://x/api", [myself(), other])
    found = serving.read(tmp_path)
    assert (found.api, found.processes, found.lives()) == ("http://x/api", (myself(), other), True)
    serving.write(tmp_path, "http://x/api", [other, myself()])
    assert not serving.read(tmp_path).lives()
    serving.forget(tmp_path)
    assert serving.read(tmp_path) is None


def test_only_the_very_processes_of_a_record_are_ended():
    """Two processes; one is recorded with another start time, as if its id were used again."""
    commands = [subprocess.Popen(["sleep", "60"], start_new_session=True) for _ in range(2)]
    try:
        while not all("sleep" in identify(one.pid).command for one in commands):
            time.sleep(0.02)
        ours, stranger = (identify(one.pid) for one in commands)
        earlier = Identity(stranger.pid, stranger.started - 100.0, stranger.command)
        assert end([ours, earlier], 2.0) == []
        assert commands[0].wait(5) < 0
        assert commands[1].poll() is None
    finally:
        for one in commands:
            one.kill()
            one.wait()


def test_a_process_that_listens_to_nothing_is_killed():
    deaf = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert end([identify(process.pid)], 0.4) == []
        assert process.wait(5) == -9
