"""One module per DVC stage: read parameters and files, call the library, write files.

A step started by an interpreter without the project's packages says so before anything else.
"""

import importlib.util
import sys

if importlib.util.find_spec("pyarrow") is None or importlib.util.find_spec("pydantic") is None:
    sys.exit(
        f"textmill: {sys.executable} does not have the project's packages\n"
        "  -> type `make run`, or before dvc: . .venv/bin/activate"
    )
