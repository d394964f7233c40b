"""How long a DVC process waits for DVC's lock, and who holds it.

DVC by itself gives up after three seconds, which a sibling stage that hashes a large output
outlasts; with `--wait-for-lock` it waits for ever. A stage is started with the latter, and this
watch bounds it. A process that gets the lock writes its id into the lock file, and it gives the
lock back only while its command runs. So one waits when the file names another and it has no child.
"""

import threading
import time
from pathlib import Path

from flows.processes import Supervised, children, identify

LOCK = Path(".dvc/tmp/lock")
PATIENCE = 120.0
POLL = 0.5


class LockWatch:
    """Ends `run`, a supervised DVC process, once it has waited too long for DVC's lock.

    `problem` then says who holds the lock; else it stays empty.
    """

    def __init__(self, run: Supervised, root: Path, patience: float) -> None:
        self.problem = ""
        self._run = run
        self._lock = root / LOCK
        self._patience = patience
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "LockWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        since = time.monotonic()
        while not self._over.wait(POLL):
            if not self._waits():
                since = time.monotonic()
            elif time.monotonic() - since > self._patience:
                self.problem = f"DVC's lock was not free within {self._patience:g} s: {self._who()}"
                self._run.stop()
                return

    def _waits(self) -> bool:
        pid = self._run.leader()
        return pid is not None and self._holder() != pid and not children(pid)

    def _holder(self) -> int | None:
        try:
            return int(self._lock.read_text())
        except (OSError, ValueError):
            return None

    def _who(self) -> str:
        pid = self._holder()
        found = identify(pid) if pid is not None else None
        if found is None:
            return f"who holds {LOCK} is not known (process {pid} has ended)"
        return f"process {found.pid} holds it ({found.command})"
