"""`make ui` serves the store that publishing fills, on this machine only."""

import signal
import socket
import subprocess
import sys

import psutil
import pytest

from textmill.tracking.ui import free_port, server_command


def test_the_server_is_over_the_store_and_listens_here_only(tmp_path):
    command = server_command(f"sqlite:///{tmp_path}/mlflow.db", 5001, tmp_path)
    options = dict(zip(command[4::2], command[5::2], strict=True))
    assert options["--backend-store-uri"] == f"sqlite:///{tmp_path}/mlflow.db"
    assert options["--default-artifact-root"] == f"{tmp_path}/mlruns"
    assert (options["--host"], options["--port"]) == ("127.0.0.1", "5001")


def test_a_taken_port_is_not_taken_again():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        port = free_port(taken)
    assert port != taken


def test_a_server_of_the_users_is_named_and_none_is_started(made, root):
    done = subprocess.run(
        [sys.executable, "-m", "textmill.tracking.ui"], cwd=made, text=True, capture_output=True,
        env={"PYTHONPATH": str(root), "MLFLOW_TRACKING_URI": "http://me:secret@host:1"}, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "MLflow is at http://host:1\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("of_a_script", [False, True])
def test_a_server_that_does_not_hear_ctrl_c_yet_is_ended(root, number, of_a_script):
    """It is still importing, say. In the background of a script Ctrl-C is ignored from the start."""
    ignored = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);" if of_a_script else ""
    program = (
        f"{ignored}import sys; from textmill.tracking.ui import run;"
        "run([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)'])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=root, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == "1\n"
    [server] = psutil.Process(process.pid).children()
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert (process.returncode, said) == (0, "")
    assert not server.is_running()
