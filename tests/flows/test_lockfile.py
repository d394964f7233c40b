"""A dvc.lock that a kill cut in half is put back, and nobody else's damage is touched."""

import os
import time

import pytest

from flows.lockfile import COPY, LATEST, Keeper, is_cut
from textmill.base.errors import UserError
from textmill.lineage import lock

ENTRY = """\
  {name}:
    cmd: exec python -m pipeline_steps.{name}
    params:
      params.yaml:
        corpora.local.title: "a title that goes over more than one line of the file, as: long ones\\
          \\ do"
    outs:
    - path: data/{name}
      md5: 0123456789abcdef0123456789abcdef.dir
      size: 12
      nfiles: 1
"""
WHOLE = "schema: '2.0'\nstages:\n" + ENTRY.format(name="clean")
LATER = WHOLE + ENTRY.format(name="mix")
TORN = LATER[: LATER.rindex("md5: 0123") + 2]
MERGE = WHOLE + "<<<<<<< HEAD\n" + ENTRY.format(name="a") + "=======\n>>>>>>> theirs\n"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(lock, "PAUSE", 0.0)


@pytest.fixture
def killed(tmp_path):
    """A repository in which a flow was killed; its copy of dvc.lock is there."""
    (tmp_path / "dvc.lock").write_text(WHOLE)
    Keeper(tmp_path).keep()
    return tmp_path


def assert_refused(folder, damaged):
    kept = (folder / COPY).read_text() if (folder / COPY).exists() else None
    (folder / "dvc.lock").write_text(damaged)
    with pytest.raises(UserError, match=r"git checkout dvc\.lock"):
        Keeper(folder).mend()
    assert (folder / "dvc.lock").read_text() == damaged
    assert ((folder / COPY).read_text() if (folder / COPY).exists() else None) == kept


@pytest.mark.parametrize("torn", [TORN, "", "schema: '2.", TORN[: TORN.rindex("as: long")]])
def test_half_a_file_is_replaced_by_the_last_whole_one(killed, torn):
    (killed / "dvc.lock").write_text(torn)
    Keeper(killed).keep()
    assert Keeper(killed).mend()
    assert (killed / "dvc.lock").read_text() == WHOLE


def test_a_whole_file_stays_as_it_is_and_the_copy_beside_it_goes(killed):
    (killed / "dvc.lock").write_text(LATER)
    assert not Keeper(killed).mend()
    assert (killed / "dvc.lock").read_text() == LATER
    assert not (killed / COPY).exists()


def test_after_a_killed_flow_the_markers_of_a_merge_are_not_taken_for_its_damage(killed):
    """Killed flow, `dvc repro` to the end, then a merge: the copy would lose what repro wrote."""
    (killed / "dvc.lock").write_text(LATER)
    assert_refused(killed, MERGE)


def test_damage_long_after_the_killed_run_is_not_its_own(killed):
    assert LATEST > 60.0
    long_ago = time.time() - LATEST - 5.0
    os.utime(killed / COPY, (long_ago, long_ago))
    assert_refused(killed, TORN)
    Keeper(killed).live()
    assert Keeper(killed).mend()


def test_damage_outside_a_run_is_left_to_its_owner(killed):
    Keeper(killed).forget()
    assert_refused(killed, TORN)


def test_a_first_run_has_nothing_to_keep(tmp_path):
    keeper = Keeper(tmp_path)
    keeper.keep()
    keeper.live()
    assert not keeper.mend()
    assert not (tmp_path / COPY).exists()


def test_every_beginning_of_a_lock_file_is_a_cut_and_other_damage_is_not():
    assert all(is_cut(LATER[:length].encode()) for length in range(0, len(LATER), 7))
    middle = LATER.index("  mix:")
    for damage in ("<<<<<<< HEAD\n", "  {{{\n", "no: lock\n"):
        assert not is_cut((LATER[:middle] + damage + LATER[middle:]).encode())
    assert not is_cut((LATER[:middle] + "<<<<<<< HEAD").encode())
    assert not is_cut(b"\0" * 300)
