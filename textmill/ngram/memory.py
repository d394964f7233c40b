"""How much memory there is: of the machine, and of the control group that a container runs in.

Whoever takes more than its group may have is killed without a word, however much the machine has.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

GROUPS = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def free() -> int:
    """Bytes that this process may still take."""
    import psutil  # noqa: PLC0415  # only where a model is estimated

    return min([int(psutil.virtual_memory().available), *_limits()])


def _limits() -> Iterator[int]:
    """What the process's own control groups and those around them may have, where that is said.

    A line of /proc/self/cgroup is `number:controllers:path`; without controllers it is version 2.
    """
    lines = OWN.read_text().splitlines() if OWN.exists() else []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _upwards(GROUPS, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _upwards(GROUPS / "memory", path, "memory.limit_in_bytes")


def _upwards(mount: Path, path: str, name: str) -> Iterator[int]:
    own = PurePosixPath(path.lstrip("/"))
    for group in (own, *own.parents):
        file = mount / group / name
        if file.exists() and (limit := file.read_text().strip()).isdigit():
            yield int(limit)
