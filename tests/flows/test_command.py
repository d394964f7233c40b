"""What cannot be run is said at once, in one message, before Prefect is started or imported."""

import http.server
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from flows import checkout, command, request
from pipeline_steps.check import check, check_chosen
from textmill.base.errors import UserError

FILES = ("params.yaml", "dvc.yaml")


@pytest.fixture
def checkout_copy(root, tmp_path):
    """The two files that say what there is to run."""
    for name in FILES:
        shutil.copy(root / name, tmp_path / name)
    return tmp_path


def type_in(folder, root, *arguments, module="flows.command", **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    return subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=folder, timeout=60,
        env=kept | {"PYTHONPATH": str(root)} | environment,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((None, 0, None), r"cores must be a number greater than 0 \(it is 0\)"),
        ((None, -1, None), "cores must be"),
        ((None, None, 0.0), "timeout_minutes must be"),
        ((None, None, float("nan")), r"timeout_minutes .* \(it is nan\)"),
        ((None, None, float("inf")), r"timeout_minutes .* \(it is inf\)"),
        ((["evaluate_ngrm"], None, None), 'did you mean "evaluate_ngram"'),
    ],
)
def test_wrong_arguments_are_refused(root, asked, said):
    with pytest.raises(UserError, match=said):
        request.check(root, *asked)


def test_right_arguments_are_not(root):
    request.check(root, None, None, None)
    request.check(root, ["evaluate_ngram", "compare"], 1, 0.5)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("corpus:", "corpus: [", "not valid YAML"), ("tokenizers:", "tokenisers:", "did you mean")],
)
def test_mistakes_in_the_parameters_are_found_first(checkout_copy, old, new, said):
    params = checkout_copy / "params.yaml"
    text = params.read_text()
    assert f"\n{old}" in f"\n{text}"
    params.write_text(f"\n{text}".replace(f"\n{old}", f"\n{new}", 1))
    with pytest.raises(UserError, match=said):
        request.check(checkout_copy, None, None, None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("\ncorpus: sotu", "\ncorpus: stou", 'there is no corpus "stou"; did you mean "sotu"?'),
        ("\ncorpus: sotu", "\ncorpus: local", "local: no text is pinned yet\n  -> textmill pin"),
        (
            "    cleaning: sotu\n",
            '    cleaning: [sotu, "my_rulez:f"]\n',
            "my_rulez cannot be import",
        ),
    ],
)
def test_what_the_chosen_corpus_lacks_is_said_as_textmill_check_says_it(
    checkout_copy, old, new, said
):
    params = checkout_copy / "params.yaml"
    text = params.read_text()
    assert text.count(old) == 1
    params.write_text(text.replace(old, new))
    with pytest.raises(UserError) as refused:
        request.check(checkout_copy, None, None, None)
    with pytest.raises(UserError) as checked:
        check(checkout_copy)
        check_chosen(checkout_copy)
    assert said in str(refused.value)
    assert str(refused.value) == str(checked.value)


def test_a_wrong_argument_costs_no_server_and_no_import(checkout_copy, root):
    done = type_in(checkout_copy, root, "evaluate_ngrm")
    assert done.returncode == 2
    assert done.stdout.startswith("textmill: there is no stage evaluate_ngrm")
    assert not (checkout_copy / ".textmill").exists()
    loaded = "import sys, flows.command; print({'prefect', 'torch', 'mlflow'} & set(sys.modules))"
    code = [sys.executable, "-c", loaded]
    assert subprocess.run(code, cwd=root, text=True, capture_output=True).stdout == "set()\n"


class Other(http.server.BaseHTTPRequestHandler):
    """A server of something else."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"OK")

    def log_message(self, *_):
        pass


@pytest.fixture
def other_server():
    with http.server.HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://me:secret@127.0.0.1:{server.server_address[1]}/api"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/api", "garbage", None])
def test_a_server_that_does_not_answer_is_one_message(checkout_copy, root, other_server, url):
    before = time.monotonic()
    done = type_in(checkout_copy, root, "clean", PREFECT_API_URL=url or other_server)
    assert time.monotonic() - before < 40.0
    assert done.returncode == 2
    shown = (url or other_server).replace("me:secret@", "")
    assert done.stdout.startswith(f"textmill: PREFECT_API_URL={shown}: no Prefect server answers")
    assert "unset PREFECT_API_URL" in done.stdout
    assert "Traceback" not in done.stdout
    assert "secret" not in done.stdout


def test_where_nothing_can_be_written_it_is_one_message(checkout_copy, root):
    (checkout_copy / ".textmill").write_text("")
    done = type_in(checkout_copy, root, "clean")
    assert done.returncode == 2
    assert done.stdout.startswith("textmill: .textmill")
    assert len(done.stdout.splitlines()) == 2
    done = type_in(checkout_copy, root, module="flows.stop")
    assert (done.returncode, done.stdout) == (
        0, "textmill: nothing of make serve runs in this checkout\n"
    )  # fmt: skip


def test_a_read_only_checkout_is_one_message(checkout_copy, monkeypatch, capsys):
    def refuse(path):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.chdir(checkout_copy)
    monkeypatch.setattr(sys, "argv", ["flows.command"])
    monkeypatch.setattr(checkout, "check_free", refuse)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert command.main() == 2
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert capsys.readouterr().err.startswith("textmill: .textmill/flow.lock: Read-only")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_exit_code_names_the_signal(monkeypatch, capsys, number):
    monkeypatch.setattr(sys, "argv", ["flows.command"])
    monkeypatch.setattr(request, "check", lambda *_: signal.raise_signal(number))
    handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert command.main() == 128 + number
        assert capsys.readouterr().err == (
            "textmill: interrupted; the same command goes on from here\n"
        )
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)


@pytest.fixture
def make_folder(root, tmp_path):
    """A folder for `make` itself, with a `python` that writes down what it is given."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(root / name, tmp_path / name)
    (tmp_path / "textmill").mkdir()
    shutil.copy(root / "textmill/telemetry.env", tmp_path / "textmill/telemetry.env")
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    for name, script in (
        ("python", 'printf "%s\\n" "$@" > words'),
        ("textmill", 'echo textmill "$@"'),
        ("dvc", "echo running; exec sleep 60"),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    (tmp_path / ".venv/run.stamp").touch()
    return tmp_path


@pytest.mark.parametrize("target", ["run", "long"])
def test_make_says_that_it_goes_on_where_it_was_interrupted(make_folder, target):
    """Also in a moment in which DVC runs no step. A terminal interrupts the whole group."""
    with subprocess.Popen(
        ["make", target], cwd=make_folder, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        before = list(iter(process.stdout.readline, "running\n"))
        os.killpg(process.pid, signal.SIGINT)
        after = process.stdout.read()
    assert process.returncode != 0
    assert f"textmill: interrupted; make {target} goes on from there\n" in after
    assert "textmill leaderboard" not in after
    assert any(line.startswith("dvc ") for line in before)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["TARGETS=clean; touch FILE", "CORES=1; touch FILE"], ["clean;", "touch", "FILE", "--cores=1; touch FILE"]),
        (["TARGETS=$(touch FILE) * `touch FILE`"], ["$(touch", "FILE)", "*", "`touch", "FILE`"]),
        (["FORCE=1"], ["--force"]),
        ([], []),
    ],
)  # fmt: skip
def test_make_flow_hands_words_on_and_runs_none_of_them(make_folder, given, words):
    done = subprocess.run(
        ["make", "flow", *given], cwd=make_folder, check=True, capture_output=True, text=True
    )
    assert ("\ntextmill leaderboard\n" in done.stdout) is not any("TARGETS" in one for one in given)
    assert (make_folder / "words").read_text().splitlines() == ["-m", "flows.command", *words]
    assert not (make_folder / "FILE").exists()
