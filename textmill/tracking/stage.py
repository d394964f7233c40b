"""What stage publish starts: publish, and where MLflow does not take it warn and go on.

Training must not fail because a server is down; `textmill publish` sends it later. It runs in a
process of its own, so that no step imports MLflow, and ends when the step does.
"""

import ctypes
import logging
import os
import signal
import sys

from textmill.base.environment import switch_telemetry_off
from textmill.base.errors import UserError, as_user_error
from textmill.tracking.store import StoreError

PR_SET_PDEATHSIG = 1

_log = logging.getLogger(__name__)


def main(parent: int) -> None:
    """Publish this repository; a StoreError is a warning, what else a user can mend ends it."""
    _end_with(parent)
    switch_telemetry_off()
    from textmill.tracking.publish import publish  # noqa: PLC0415

    try:
        publish()
    except StoreError as error:
        _log.warning("textmill: not in MLflow yet: %s", error)
    except (UserError, OSError) as error:
        sys.exit(f"textmill: {as_user_error(error)}")


def _end_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before it could be watched
        sys.exit(1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    main(int(sys.argv[1]))
