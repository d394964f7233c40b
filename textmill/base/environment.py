"""The environment that make and every entry point share: nothing phones home.

`textmill/telemetry.env` is the one list of these switches; the Makefile includes the same file.
"""

import os
from pathlib import Path

TELEMETRY = Path(__file__).parent.parent / "telemetry.env"


def switch_telemetry_off() -> None:
    """Set every switch of `telemetry.env` for this process and its children."""
    for line in TELEMETRY.read_text(encoding="ascii").splitlines():
        name, _, value = line.partition("=")
        os.environ[name] = value
