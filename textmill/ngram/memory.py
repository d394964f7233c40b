"""How much memory there is: of the machine, and of the control group that a container runs in.

Whoever takes more than its group may have is killed without a word, however much the machine has.
What the group's processes hold counts, and so do files that were read, which the system lets go of
first: those are free.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

GROUPS = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


@dataclass(frozen=True, slots=True)
class Account:
    """The files of a group that say its limit and what is taken, and the row of its file cache."""

    limit: str
    taken: str
    cache: str


VERSION_1 = Account("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
VERSION_2 = Account("memory.max", "memory.current", "inactive_file")


def free() -> int:
    """Bytes that this process may still take."""
    import psutil  # noqa: PLC0415  # only where a model is estimated

    return min([int(psutil.virtual_memory().available), *_left()])


def _left() -> Iterator[int]:
    """What the process's own control groups and those around them may still take, where they say.

    A line of /proc/self/cgroup is `number:controllers:path`; without controllers it is version 2.
    """
    lines = OWN.read_text().splitlines() if OWN.exists() else []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _upwards(GROUPS, path, VERSION_2)
        elif "memory" in controllers.split(","):
            yield from _upwards(GROUPS / "memory", path, VERSION_1)


def _upwards(mount: Path, path: str, account: Account) -> Iterator[int]:
    own = PurePosixPath(path.lstrip("/"))
    for group in (own, *own.parents):
        limit = _number(mount / group / account.limit)
        if limit is not None:
            yield max(limit - _held(mount / group, account), 0)


def _held(group: Path, account: Account) -> int:
    """Bytes that the group's processes hold, without files that can be read again."""
    stat = group / "memory.stat"
    rows = stat.read_text().splitlines() if stat.exists() else []
    cached = sum(int(row.split()[1]) for row in rows if row.startswith(f"{account.cache} "))
    return max((_number(group / account.taken) or 0) - cached, 0)


def _number(file: Path) -> int | None:
    text = file.read_text().strip() if file.exists() else ""
    return int(text) if text.isdigit() else None
