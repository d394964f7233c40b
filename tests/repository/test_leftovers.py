"""What a killed DVC leaves half-made goes, and nothing else does."""

import fcntl

import pytest

from textmill.repository.leftovers import IN_USE, IN_USE_GUARD, RUNS, RUNS_GUARD, clear

EMPTY, WHOLE = RUNS / "46/46c5", RUNS / "46/46ab"


@pytest.fixture
def killed(tmp_path):
    """A checkout in which DVC was killed at two moments; one cached run is whole."""
    (tmp_path / EMPTY).mkdir(parents=True)
    (tmp_path / WHOLE).mkdir()
    (tmp_path / WHOLE / "08d1").write_text("cmd: true\n")
    (tmp_path / IN_USE).parent.mkdir()
    (tmp_path / IN_USE).write_text("")
    return tmp_path


@pytest.mark.parametrize("half", ["", '{"write": {"scores/a": {"pid": 1', '{"write": {}, "read": '])
def test_half_made_things_go_and_whole_ones_stay(killed, half):
    (killed / IN_USE).write_text(half)
    assert clear(killed) == [IN_USE, EMPTY]
    assert not (killed / IN_USE).exists()
    assert [folder.name for folder in (killed / RUNS / "46").iterdir()] == [WHOLE.name]
    assert (killed / WHOLE / "08d1").read_text() == "cmd: true\n"
    assert clear(killed) == []


def test_a_whole_list_of_files_in_use_stays(killed):
    listed = '{"write": {"scores/a": {"pid": 1, "cmd": "dvc repro"}}, "read": {}}'
    (killed / IN_USE).write_text(listed)
    assert clear(killed) == [EMPTY]
    assert (killed / IN_USE).read_text() == listed


@pytest.mark.parametrize(("guard", "left"), [(RUNS_GUARD, EMPTY), (IN_USE_GUARD, IN_USE)])
def test_what_a_dvc_at_work_is_about_to_fill_stays(killed, guard, left):
    with (killed / guard).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert left not in clear(killed)
        assert (killed / left).exists()
    assert clear(killed) == [left]


def test_a_fresh_clone_has_none_and_gets_none(tmp_path):
    assert clear(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
