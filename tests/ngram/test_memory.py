"""What is free in a container: its limit, less what its processes hold."""

import psutil
import pytest

from textmill.ngram import memory

STAT = "anon 10\nfile 900\ninactive_file 400\nactive_file 500\n"
STAT_1 = "cache 900\ninactive_file 1\ntotal_cache 950\ntotal_inactive_file 600\n"


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        ("0::/\n", {"memory.max": "5000\n"}, 5000),
        ("0::/\n", {"memory.max": "5000\n", "memory.current": "1500\n"}, 3500),
        (
            "0::/\n",
            {"memory.max": "5000\n", "memory.current": "1500\n", "memory.stat": STAT},
            5000 - (1500 - 400),
        ),
        ("0::/\n", {"memory.max": "5000\n", "memory.current": "5600\n"}, 0),
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "7000\n"}, 7000),
        (
            # The group around has less left, which its own groups share.
            "0::/a/b\n",
            {
                "a/b/memory.max": "5000\n",
                "a/b/memory.current": "1000\n",
                "a/memory.max": "7000\n",
                "a/memory.current": "6500\n",
            },
            500,
        ),
        ("4:cpu:/\n9:memory:/c\n", {"memory/c/memory.limit_in_bytes": "9000\n"}, 9000),
        (
            "4:cpu:/\n9:memory:/c\n",
            {
                "memory/c/memory.limit_in_bytes": "9000\n",
                "memory/c/memory.usage_in_bytes": "2000\n",
                "memory/c/memory.stat": STAT_1,
            },
            9000 - (2000 - 600),
        ),
        ("0::/\n", {}, None),
        ("", {}, None),
    ],
)
def test_a_container_may_have_less_than_the_machine(tmp_path, monkeypatch, groups, files, expected):
    (tmp_path / "own").write_text(groups)
    for name, content in files.items():
        (tmp_path / "mount" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mount" / name).write_text(content)
    monkeypatch.setattr(memory, "OWN", tmp_path / "own")
    monkeypatch.setattr(memory, "GROUPS", tmp_path / "mount")
    found = memory.free()
    machine = psutil.virtual_memory()
    if expected is None:
        assert machine.available / 2 < found < machine.total
    else:
        assert found == expected
