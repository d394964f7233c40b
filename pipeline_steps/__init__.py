"""One module per DVC stage: read parameters and files, call the library, write files.

This runs before a step's own imports, of which torch's take seconds: a step started by an
interpreter without the project's packages says so, and a step is bound to die with DVC, its
parent, so that no orphan writes on after DVC was killed. An interrupt ends it with one line, also
during the imports. OpenMP's threads spin only briefly before they sleep
(docs/decisions/0007-threads-spin-briefly.md).
"""

import ctypes
import importlib.util
import os
import signal
import sys
from typing import NoReturn

PR_SET_PDEATHSIG = 1
INTERRUPTED = "textmill: interrupted; the same command goes on from here\n"


def end_importing(*_: object) -> NoReturn:
    """What an interrupt does until the step begins: one line; of several processes the first's."""
    if "RANK" not in os.environ:
        os.write(2, INTERRUPTED.encode())
    os._exit(130)


if importlib.util.find_spec("pyarrow") is None or importlib.util.find_spec("pydantic") is None:
    sys.exit(
        f"textmill: {sys.executable} does not have the project's packages\n"
        "  -> type `make run`, or before dvc: . .venv/bin/activate"
    )

# While `python -m pipeline_steps.NAME` imports this package, the name of the program is "-m".
if sys.argv[0] == "-m":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_importing)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

os.environ.setdefault("GOMP_SPINCOUNT", "1000")
